/* What an operator does to partitions by hand. The caller has taken the table's fence, then locked the rows. */
#include "common/catalog/admin_partitions.h"
#include "common/catalog/internal.h"

/* By key; the guard judges the transition. */
static const char SQL_MOVE[] =
    "update granary.partitions set active = $3, lock_id = $4, lock_kind = $5::granary.lock_kind,"
    " deactivation_reason = $6::granary.reason, deactivated_by = $7 where partition_id = $1 and version = $2";
static const char SQL_ACTIVATE[] =
    "update granary.partitions set active = true, deactivation_reason = null, deactivated_by = null"
    " where partition_id = any($1) and not active and lock_id is null";
static const char SQL_LOCK_ADD[] =
    "insert into granary.locks (lock_id, kind, owner, reason) values ($1, 'manual', $2, $3)";
static const char SQL_LOCK_REMOVE[] = "delete from granary.locks where lock_id = $1 and kind = 'manual'"
                                      " and not exists (select from granary.partitions p where p.lock_id = $1)";

/* "" stands for none; an enum's null is NULL. */
static struct catalog_value name_or_null(const char *name)
{
    return catalog_text(*name == '\0' ? NULL : name);
}

enum err_code catalog_admin_partition_move(struct catalog_transaction *transaction,
                                           const struct catalog_admin_move *move, struct error *err)
{
    return catalog_execute_expect(
        transaction, SQL_MOVE,
        CATALOG_VALUES(catalog_uuid(&move->partition_id), catalog_i64(move->version), catalog_bool(move->active),
                       catalog_uuid(&move->lock_id), name_or_null(lock_kind_name(move->lock_kind)),
                       name_or_null(deactivation_reason_name(move->reason)), catalog_text(move->deactivated_by)),
        1, err);
}

enum err_code catalog_admin_partition_activate(struct catalog_transaction *transaction, const struct uuid *ids,
                                               size_t count, struct error *err)
{
    return catalog_execute_expect(transaction, SQL_ACTIVATE,
                                  CATALOG_VALUES(catalog_array(CATALOG_UUID, ids, sizeof *ids, count)), count, err);
}

enum err_code catalog_admin_lock_add(struct catalog_transaction *transaction, const struct uuid *lock_id,
                                     const char *owner, const char *reason, struct error *err)
{
    return catalog_execute_expect(transaction, SQL_LOCK_ADD,
                                  CATALOG_VALUES(catalog_uuid(lock_id), catalog_text(owner), catalog_text(reason)), 1,
                                  err);
}

enum err_code catalog_admin_lock_remove(struct catalog_transaction *transaction, const struct uuid *lock_id,
                                        struct error *err)
{
    return catalog_execute_expect(transaction, SQL_LOCK_REMOVE, CATALOG_VALUES(catalog_uuid(lock_id)), 1, err);
}
