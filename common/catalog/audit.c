#include "common/catalog/audit.h"

#include "common/catalog/internal.h"

static const char SQL_RECORD[] = "insert into granary.audit_log (actor, action, table_id, partition_id, details)"
                                 " values ($1, $2, $3, $4, coalesce($5, '{}'::jsonb))";

enum err_code catalog_audit_record(struct catalog_transaction *transaction, const struct catalog_audit *audit,
                                   struct error *err)
{
    return catalog_execute_expect(transaction, SQL_RECORD,
                                  CATALOG_VALUES(catalog_text(audit->actor), catalog_text(audit->action),
                                                 catalog_uuid(audit->table_id), catalog_uuid(audit->partition_id),
                                                 catalog_json(audit->details_json)),
                                  1, err);
}
