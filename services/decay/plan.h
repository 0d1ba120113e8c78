/* What is to be done with one table: pure. */
#ifndef GRANARY_DECAY_PLAN_H
#define GRANARY_DECAY_PLAN_H

#include "common/catalog/decay.h"

struct decay_scope {
    bool due;          /* false: the table keeps everything */
    int64_t cutoff_us; /* data older than this go; INT64_MAX: all of it */
    enum deactivation_reason reason;
};
/* Which part of the table is past retention at now_us (the database's clock). A dropped table decays whole. */
struct decay_scope decay_plan_scope(const struct table_record *table, int64_t now_us);

enum decay_verdict { DECAY_NOTHING, DECAY_GO, DECAY_REFUSED };
/* The breaker's word; a dropped table was dropped by an operator and passes. out_share may be NULL. */
enum decay_verdict decay_plan_verdict(const struct table_record *table, const struct decay_scope *scope,
                                      const struct catalog_decay_measure *measure, double *out_share);

#endif
