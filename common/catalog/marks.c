#include "common/catalog/marks.h"

#include <stdio.h>

#include "common/catalog/audit.h"
#include "common/catalog/internal.h"
#include "common/json/json.h"

static const char SQL_LOAD[] = "select number, nonce from granary.storage_marks where storage_id = $1";
static const char SQL_ADVANCE[] = "select number, nonce from granary.mark_advance($1, $2)";
static const char SQL_ADOPT[] = "select number, nonce from granary.mark_adopt($1, $2)";

static enum err_code ask(struct catalog *catalog, const char *sql, const struct catalog_value *values,
                         size_t value_count, int32_t storage_id, struct catalog_mark *out, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    char what[40];
    (void)snprintf(what, sizeof what, "mark of storage %d", storage_id);
    TRY(catalog_query_one(catalog, sql, values, value_count, what, &rows, err));
    *out = (struct catalog_mark){catalog_get_i64(rows, 0, 0), catalog_get_uuid(rows, 0, 1)};
    return OK;
}

enum err_code catalog_mark_load(struct catalog *catalog, int32_t storage_id, struct catalog_mark *out,
                                struct error *err)
{
    return ask(catalog, SQL_LOAD, CATALOG_VALUES(catalog_i32(storage_id)), storage_id, out, err);
}

enum err_code catalog_mark_advance(struct catalog *catalog, int32_t storage_id, int64_t every_us,
                                   struct catalog_mark *out, struct error *err)
{
    return ask(catalog, SQL_ADVANCE, CATALOG_VALUES(catalog_i32(storage_id), catalog_interval(every_us)), storage_id,
               out, err);
}

enum err_code catalog_mark_adopt(struct catalog_transaction *transaction, int32_t storage_id, int64_t number,
                                 const char *reason, const char *actor, struct catalog_mark *out, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();
    AUTO(free_auto) char *details = NULL;
    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(ask(catalog_in(transaction), SQL_ADOPT, CATALOG_VALUES(catalog_i32(storage_id), catalog_i64(number)),
            storage_id, out, err));
    TRY(json_set_i64(object, "storage_id", storage_id, err));
    TRY(json_set_i64(object, "store_number", number, err));
    TRY(json_set_i64(object, "number", out->number, err));
    TRY(json_set_string(object, "reason", reason, err));
    TRY(json_dump_text(object, JSON_STYLE_COMPACT, &details, err));
    return catalog_audit_record(
        transaction, &(struct catalog_audit){.actor = actor, .action = "storage.recover", .details_json = details},
        err);
}
