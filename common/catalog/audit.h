/* The audit log: who did what, beside what was done. */
#ifndef GRANARY_CATALOG_AUDIT_H
#define GRANARY_CATALOG_AUDIT_H

#include "common/catalog/catalog.h"

struct catalog_audit {
    const char *actor;               /* who asked: a token's name, a job */
    const char *action;              /* "table.create", "table.set", "deleting.pause", ... */
    const struct uuid *table_id;     /* NULL: none */
    const struct uuid *partition_id; /* NULL: none */
    const char *details_json;        /* an object; NULL: {} */
};
/* Writes the row in the transaction of the deed, so that neither is there without the other. */
MUST_CHECK enum err_code catalog_audit_record(struct catalog_transaction *transaction,
                                              const struct catalog_audit *audit, struct error *err);

#endif
