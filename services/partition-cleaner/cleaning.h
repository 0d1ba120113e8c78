/* The cleaning of one storage: compare, save what was found, judge, delete. */
#ifndef GRANARY_PARTITION_CLEANER_CLEANING_H
#define GRANARY_PARTITION_CLEANER_CLEANING_H

#include "common/catalog/cleaner.h"
#include "common/fsck/fsck.h"
#include "common/gate/gate.h"
#include "common/service/service.h"
#include "services/partition-cleaner/config.h"

struct cleaner {
    const struct partition_cleaner_config *config;
    struct service *service;
    struct catalog *catalog;
    struct storages *storages;
    struct gate *gate;
    struct metric *compared, *deleted, *deleted_bytes, *failed, *ended_uploads;
    struct metric *orphans, *orphan_bytes, *missing, *missing_live, *wrong_size, *refused, *open_uploads;
    bool told_foreign; /* what is none of ours is told once */
    int64_t told_missing;
};

/* Of one run over all storages. */
struct cleaner_progress {
    int64_t storages, resumed, objects, rows;
    int64_t orphans, orphan_bytes, missing, missing_live, wrong_size, foreign;
    int64_t deleted, deleted_bytes, kept, failed;
    int64_t open_uploads, ended_uploads; /* begun before the grace and never finished; of these ended */
    int64_t refused;                     /* storages in which a rule stopped the deleting */
    struct error verdict;                /* the first of these rules, or what it would have been */
};

/* may_delete: false while deleting is paused, or is not asked for. ERR_STOPPED: the process drains; the run goes on with
 * the next start. Any other error leaves the run to be gone on with, too, and nothing more is deleted. */
MUST_CHECK enum err_code cleaning_run(struct cleaner *cleaner, int32_t storage_id, bool may_delete,
                                      struct cleaner_progress *progress, struct error *err);

#endif
