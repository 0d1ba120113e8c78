#include "common/catalog/rewrite.h"

#include "common/catalog/internal.h"

/* Locks the attempt's row, then its locks. A statement and transaction of its own: where its answer is lost, the lease
 * may have been renewed, and renewing once more is harmless. */
static const char SQL_RENEW[] = "select granary.attempt_renew($1, $2, $3, $4, $5)";

enum err_code catalog_rewrite_renew(struct catalog *catalog, const struct catalog_rewrite_lease *lease,
                                    int64_t rows_done, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    return catalog_query(catalog, SQL_RENEW,
                         CATALOG_VALUES(catalog_uuid(&lease->attempt_id), catalog_i64(lease->token),
                                        catalog_text(lease->worker), catalog_i64(rows_done),
                                        catalog_interval(lease->lease_us)),
                         &rows, err);
}
