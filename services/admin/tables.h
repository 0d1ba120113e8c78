/* A table as the API shows it: what several handlers answer with. */
#ifndef GRANARY_ADMIN_TABLES_H
#define GRANARY_ADMIN_TABLES_H

#include "common/rows/schema.h"
#include "services/admin/admin.h"

/* Adds tables, with schema and counts, to an array. */
MUST_CHECK enum err_code tables_render(struct call *call, const struct table_record *tables, size_t count,
                                       struct json *array, struct error *err);
/* One table, read anew, as the answer. */
MUST_CHECK enum err_code tables_reply(struct call *call, unsigned status, const struct uuid *table_id,
                                      struct error *err);
/* One version of a table's schema (0: the latest). Owned by the caller. */
MUST_CHECK enum err_code tables_load_schema(struct call *call, const struct table_record *table, int32_t version,
                                            struct schema **out, struct error *err);

#endif
