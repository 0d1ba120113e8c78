/* The partition cleaner's book: its runs, the orphans that it has seen, the objects that rows miss, and the receipts of
 * what it deleted. */
#ifndef GRANARY_CATALOG_CLEANER_H
#define GRANARY_CATALOG_CLEANER_H

#include "common/catalog/catalog.h"

/* --- runs ---------------------------------------------------------------------------------------------------------- */

struct catalog_cleaner_run {
    int64_t run_id;
    int64_t started_at_us;
    bool resumed;            /* an earlier process began it */
    const char *position;    /* both sides were compared up to here, it included; "" at the start */
    const char *counts_json; /* of what was compared so far */
};
/* One cleaner a storage, as long as the session lives. *out_taken false: another one is at work. */
MUST_CHECK enum err_code catalog_cleaner_lock(struct catalog *catalog, int32_t storage_id, bool *out_taken,
                                              struct error *err);
MUST_CHECK enum err_code catalog_cleaner_unlock(struct catalog *catalog, int32_t storage_id, struct error *err);
/* Goes on with the storage's last run when it did not finish and began no longer than `resume_within_us` ago; begins a new
 * one otherwise. `instance` takes it over: whoever had it can save nothing more. */
MUST_CHECK enum err_code catalog_cleaner_run_open(struct catalog *catalog, int32_t storage_id, const char *instance,
                                                  int64_t resume_within_us, struct arena *arena,
                                                  struct catalog_cleaner_run *out, struct error *err);

struct catalog_cleaner_past { /* what the last run saw that nothing stood against */
    bool found;
    const char *counts_json;
    int64_t receipts_since; /* partitions reaped since it began */
};
MUST_CHECK enum err_code catalog_cleaner_run_past(struct catalog *catalog, int32_t storage_id, struct arena *arena,
                                                  struct catalog_cleaner_past *out, struct error *err);

struct catalog_orphan {
    int32_t storage_id;
    const char *path; /* valid UTF-8 */
    int64_t data_bytes;
    int64_t modified_at_us; /* by the store's clock */
    const char *owner;
    struct uuid table_id, partition_id; /* nil: none */
};
struct catalog_missing {
    const char *path;
    struct uuid partition_id;
};
struct catalog_cleaner_save {
    int64_t run_id;
    int32_t storage_id;
    const char *instance;
    const char *position, *counts_json;
    const struct catalog_orphan *orphans;
    size_t orphan_count;
    const struct catalog_missing *missing;
    size_t missing_count;
};
/* One transaction: the findings since the last save, and how far the run has come. ERR_CONFLICT: another process has taken
 * the run over. */
MUST_CHECK enum err_code catalog_cleaner_save(struct catalog *catalog, const struct catalog_cleaner_save *save,
                                              struct error *err);
/* The comparison is whole: what earlier runs saw and this one did not is forgotten. verdict NULL: deleting may follow. */
MUST_CHECK enum err_code catalog_cleaner_run_finish(struct catalog *catalog, const struct catalog_cleaner_save *run,
                                                    const char *verdict, struct error *err);

/* --- deleting ------------------------------------------------------------------------------------------------------ */

struct catalog_table_window {
    struct uuid table_id;
    int64_t window_us;
};
struct catalog_condemned_page {
    int32_t storage_id;
    int64_t run_id;             /* the run that has just seen them */
    int64_t quarantine_us;      /* since they were first seen, by the database's clock */
    int64_t modified_before_us; /* by the store's clock */
    const char *keep_owner;     /* not those */
    /* Of tables whose orphans a backup may name: they stay so long, since they were first seen. */
    const struct catalog_table_window *windows;
    size_t window_count;
    const char *after; /* path; "" from the start */
    size_t limit;
};
/* Orphans that may go, by path. Fewer than limit: the end. */
MUST_CHECK enum err_code catalog_cleaner_condemned(struct catalog *catalog, const struct catalog_condemned_page *page,
                                                   struct arena *arena, struct catalog_orphan **out, size_t *out_count,
                                                   struct error *err);
/* Receipts without an answer, committed before the store is asked. plan_id NULL: none. */
MUST_CHECK enum err_code catalog_orphans_announce(struct catalog *catalog, const struct uuid *deletion_id,
                                                  const struct catalog_orphan *orphans, size_t count,
                                                  const struct uuid *plan_id, const char *actor, struct error *err);
struct catalog_orphan_answer {
    int32_t storage_id;
    const char *path;
    const char *answer; /* "deleted", "absent", or "failed: ..." */
    bool gone;
    const char *error; /* where it is not gone */
};
/* Writes the answers into the receipts; who is gone is no orphan any more. */
MUST_CHECK enum err_code catalog_orphans_answer(struct catalog *catalog, const struct uuid *deletion_id,
                                                const struct catalog_orphan_answer *answers, size_t count,
                                                struct error *err);

/* --- what others ask ----------------------------------------------------------------------------------------------- */

/* Since when the partition's object is known to be missing; CLOCK_NEVER: it is not. */
MUST_CHECK enum err_code catalog_cleaner_missing_since(struct catalog *catalog, const struct uuid *partition_id,
                                                       int64_t *out_us, struct error *err);
struct catalog_cleaner_status {
    int64_t missing, missing_live; /* objects; those of active partitions */
    int64_t orphans, orphan_bytes;
    int64_t finished_at_us; /* of the last whole comparison; CLOCK_NEVER: none yet */
    const char *verdict;    /* why it deleted nothing; NULL: nothing stood against it */
};
MUST_CHECK enum err_code catalog_cleaner_status(struct catalog *catalog, struct arena *arena,
                                                struct catalog_cleaner_status *out, struct error *err);

#endif
