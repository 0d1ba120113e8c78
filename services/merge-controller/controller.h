/* What the parts of the merge controller share. All of it belongs to the leader's thread. */
#ifndef GRANARY_MERGE_CONTROLLER_CONTROLLER_H
#define GRANARY_MERGE_CONTROLLER_CONTROLLER_H

#include "common/bus/bus.h"
#include "common/catalog/leader.h"
#include "common/service/service.h"
#include "services/merge-controller/config.h"

#define MERGE_RESULT_QUEUE "merge.result"

struct merge_metrics {
    struct metric *leading;
    struct metric *reserved, *conflicts, *unpublished;
    struct metric *committed, *failed, *expired, *refused, *malformed;
    struct metric *inputs, *rows, *bytes, *set_aside;
    struct metric *round_seconds, *last_round;
};
void merge_metrics_init(struct merge_metrics *metrics, struct metrics *registry);

struct controller {
    struct service *service;
    const struct merge_config *config;
    const char *owner;
    struct bus_options bus;
    struct bus_publisher *publisher;
    struct catalog *catalog;              /* for the work; may go through a pooler */
    struct catalog *leader_catalog;       /* holds the leader's lock */
    struct catalog_leadership leadership; /* epoch 0: does not lead */
    struct merge_metrics *metrics;
    bool changed; /* something was committed or abandoned since the last look at the tables */
};

/* Commits; where the answer is lost, asks until it is known. ERR_UNAVAILABLE: it did not land. ERR_UNKNOWN: still not
 * known. */
MUST_CHECK enum err_code controller_commit(struct controller *controller, struct catalog_transaction *transaction_take,
                                           struct error *err);
/* ERR_CONFLICT: this process does not lead any more. */
MUST_CHECK enum err_code controller_check_lead(struct controller *controller, struct error *err);

#endif
