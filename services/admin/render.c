#include "services/admin/render.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

enum { NAME_BYTES = 200 };

/* --- small things -------------------------------------------------------------------------------------------------- */

enum err_code render_uuid(struct json *object, const char *member, const struct uuid *id, struct error *err)
{
    char text[UUID_TEXT_BYTES];
    return json_set_string(object, member, uuid_is_nil(id) ? NULL : uuid_format(id, text), err);
}

enum err_code render_time(struct json *object, const char *member, int64_t time_us, struct error *err)
{
    char text[CLOCK_TEXT_BYTES];
    return json_set_string(object, member, clock_format(time_us, text), err);
}

enum err_code render_time_or_null(struct json *object, const char *member, int64_t time_us, int64_t null_us,
                                  struct error *err)
{
    return time_us == null_us ? json_set_string(object, member, NULL, err) : render_time(object, member, time_us, err);
}

enum err_code render_name(struct json *object, const char *member, const char *project, const char *name,
                          struct error *err)
{
    char text[NAME_BYTES];
    (void)snprintf(text, sizeof text, "%s.%s", project, name);
    return json_set_string(object, member, text, err);
}

enum err_code render_json(struct json *object, const char *member, const char *text, struct error *err)
{
    struct json *value = NULL;
    if (text == NULL) {
        return json_set(object, member, json_new_null(), err);
    }
    const struct json_limits limits = {.max_bytes = 16 << 20, .max_depth = 64};
    TRY(json_parse(text, strlen(text), &limits, &value, err));
    return json_set(object, member, value, err);
}

enum err_code render_uuids(struct json *object, const char *member, const struct uuid *ids, size_t count,
                           struct error *err)
{
    struct json *array;
    char text[UUID_TEXT_BYTES];
    TRY(render_array(object, member, &array, err));
    for (size_t i = 0; i < count; i++) {
        TRY(json_append(array, json_new_string(uuid_format(&ids[i], text), UUID_TEXT_BYTES - 1), err));
    }
    return OK;
}

enum err_code render_any_text(struct json *object, const char *member, const char *text, size_t length,
                              struct error *err)
{
    return json_set(object, member, json_new_string(text, text_utf8_valid_prefix(text, length)), err);
}

static enum err_code made(struct json *value, enum err_code code, struct json **out)
{
    if (code == OK) {
        *out = value; /* its parent owns it */
    }
    return code;
}

enum err_code render_object(struct json *object, const char *member, struct json **out, struct error *err)
{
    struct json *value = json_new_object();
    return made(value, json_set(object, member, value, err), out);
}

enum err_code render_array(struct json *object, const char *member, struct json **out, struct error *err)
{
    struct json *value = json_new_array();
    return made(value, json_set(object, member, value, err), out);
}

enum err_code render_item(struct json *array, struct json **out, struct error *err)
{
    struct json *value = json_new_object();
    return made(value, json_append(array, value, err), out);
}

/* --- tables -------------------------------------------------------------------------------------------------------- */

enum err_code render_retention(struct json *object, const struct table_record *table, struct error *err)
{
    struct json *retention;
    char text[CLOCK_TEXT_BYTES];
    TRY(render_object(object, "retention", &retention, err));
    TRY(json_set_string(retention, "effective", clock_format_duration(table->retention_us, text), err));
    TRY(json_set_bool(retention, "cooling", table->retention_cooling, err));
    return render_time_or_null(retention, "effective_at", table->retention_effective_at_us, 0, err);
}

static enum err_code render_effective(struct json *object, const struct table_settings *settings, struct error *err)
{
    struct json *effective;
    TRY(render_object(object, "effective", &effective, err));
    for (size_t i = 0; i < table_settings_count(); i++) {
        char value[64];
        table_settings_format(settings, i, value);
        TRY(json_set_string(effective, table_settings_name(i), value, err));
    }
    return OK;
}

enum err_code render_table(struct json *object, const struct table_record *table, struct error *err)
{
    TRY(render_uuid(object, "table_id", &table->table_id, err));
    TRY(json_set_string(object, "project", table->project, err));
    TRY(json_set_string(object, "name", table->name, err));
    TRY(json_set_string(object, "kind", table->is_rejects ? "rejects" : "user", err));
    TRY(json_set_i64(object, "schema_version", table->schema_version, err));
    TRY(render_json(object, "settings", table->settings_json, err));
    TRY(render_effective(object, &table->settings, err));
    TRY(render_retention(object, table, err));
    TRY(render_time(object, "created_at", table->created_at_us, err));
    return render_time_or_null(object, "dropped_at", table->dropped ? table->dropped_at_us : 0, 0, err);
}

enum err_code render_count(struct json *object, const struct catalog_table_count *count, struct error *err)
{
    struct json *partitions;
    TRY(render_object(object, "partitions", &partitions, err));
    TRY(json_set_i64(partitions, "active", count->partitions, err));
    TRY(json_set_i64(partitions, "rows", count->rows, err));
    return json_set_i64(partitions, "bytes", count->bytes, err);
}

enum err_code render_preview(struct json *object, const struct catalog_preview *preview, struct error *err)
{
    struct json *value;
    int64_t none_us = preview->partitions > 0 ? INT64_MIN : 0; /* the times are 0 then */
    TRY(render_object(object, "preview", &value, err));
    TRY(json_set_i64(value, "partitions", preview->partitions, err));
    TRY(json_set_i64(value, "rows", preview->rows, err));
    TRY(json_set_i64(value, "bytes", preview->bytes, err));
    TRY(render_time_or_null(value, "oldest", preview->oldest_us, none_us, err));
    return render_time_or_null(value, "newest", preview->newest_us, none_us, err);
}

/* --- partitions ---------------------------------------------------------------------------------------------------- */

static enum err_code render_lock(struct json *object, const struct lock_record *lock, struct error *err)
{
    struct json *value;
    if (uuid_is_nil(&lock->lock_id)) {
        return json_set_string(object, "lock", NULL, err);
    }
    TRY(render_object(object, "lock", &value, err));
    TRY(json_set_string(value, "kind", lock_kind_name(lock->kind), err));
    TRY(json_set_string(value, "owner", lock->owner, err));
    TRY(json_set_string(value, "reason", lock->reason, err));
    TRY(render_time(value, "acquired_at", lock->acquired_at_us, err));
    TRY(render_time_or_null(value, "expires_at", lock->expires_at_us, CLOCK_NEVER, err));
    return json_set_i64(value, "token", lock->token, err);
}

static const char *or_null(const char *text)
{
    return *text == '\0' ? NULL : text;
}

static enum err_code render_history(struct json *object, const struct partition_record *partition, struct error *err)
{
    TRY(json_set_string(object, "origin", partition_origin_name(partition->origin), err));
    TRY(json_set_i64(object, "merge_level", partition->merge_level, err));
    TRY(render_time(object, "created_at", partition->created_at_us, err));
    TRY(render_time(object, "modified_at", partition->modified_at_us, err));
    TRY(render_time_or_null(object, "deactivated_at", partition->deactivated_at_us, 0, err));
    TRY(json_set_string(object, "deactivated_by", partition->deactivated_by, err));
    return json_set_i64(object, "version", partition->version, err);
}

enum err_code render_partition(struct json *object, const struct catalog_admin_partition *of, struct error *err)
{
    const struct partition_record *partition = &of->partition;
    const struct lifecycle_key key = {partition->active, partition->lock_kind, partition->reason};
    TRY(render_uuid(object, "partition_id", &partition->partition_id, err));
    TRY(render_name(object, "table", of->project, of->table_name, err));
    TRY(json_set_string(object, "state", lifecycle_state_name(lifecycle_state_of(&key)), err));
    TRY(json_set_bool(object, "active", partition->active, err));
    TRY(render_lock(object, &of->lock, err));
    TRY(json_set_string(object, "reason", or_null(deactivation_reason_name(partition->reason)), err));
    TRY(render_time(object, "min_timestamp", partition->min_timestamp_us, err));
    TRY(render_time(object, "max_timestamp", partition->max_timestamp_us, err));
    TRY(json_set_i64(object, "rows", partition->row_count, err));
    TRY(json_set_i64(object, "bytes", partition->data_bytes, err));
    TRY(json_set_i64(object, "storage_id", partition->storage_id, err));
    TRY(json_set_string(object, "path", partition->path, err));
    return render_history(object, partition, err);
}

/* --- the rest ------------------------------------------------------------------------------------------------------ */

enum err_code render_hold(struct json *object, const struct catalog_hold *hold, struct error *err)
{
    TRY(render_uuid(object, "hold_id", &hold->hold_id, err));
    TRY(render_name(object, "table", hold->project, hold->table_name, err));
    TRY(render_uuid(object, "partition_id", &hold->partition_id, err));
    TRY(render_time_or_null(object, "min", hold->has_range ? hold->min_timestamp_us : INT64_MIN, INT64_MIN, err));
    TRY(render_time_or_null(object, "max", hold->has_range ? hold->max_timestamp_us : INT64_MIN, INT64_MIN, err));
    TRY(json_set_string(object, "reason", hold->reason, err));
    TRY(render_time(object, "placed_at", hold->placed_at_us, err));
    TRY(json_set_string(object, "placed_by", hold->placed_by, err));
    TRY(render_time_or_null(object, "released_at", hold->released_at_us, 0, err));
    return json_set_string(object, "released_by", hold->released_by, err);
}

enum err_code render_receipt(struct json *object, const struct catalog_receipt *receipt, struct error *err)
{
    char sha256[2 * sizeof receipt->sha256 + 1];
    text_hex_encode(receipt->sha256, sizeof receipt->sha256, sha256);
    TRY(json_set_i64(object, "receipt_id", receipt->receipt_id, err));
    TRY(render_uuid(object, "partition_id", &receipt->partition_id, err));
    TRY(render_name(object, "table", receipt->project, receipt->table_name, err));
    TRY(json_set_string(object, "path", receipt->path, err));
    TRY(json_set_i64(object, "rows", receipt->row_count, err));
    TRY(json_set_i64(object, "bytes", receipt->data_bytes, err));
    TRY(render_time(object, "min_timestamp", receipt->min_timestamp_us, err));
    TRY(render_time(object, "max_timestamp", receipt->max_timestamp_us, err));
    TRY(json_set_string(object, "sha256", receipt->has_sha256 ? sha256 : NULL, err));
    TRY(json_set_string(object, "reason", deactivation_reason_name(receipt->reason), err));
    TRY(render_time(object, "deactivated_at", receipt->deactivated_at_us, err));
    TRY(json_set_string(object, "deactivated_by", receipt->deactivated_by, err));
    TRY(render_time(object, "deleted_at", receipt->deleted_at_us, err));
    TRY(json_set_string(object, "deleted_by", receipt->deleted_by, err));
    TRY(json_set_i64(object, "claim_token", receipt->claim_token, err));
    return render_json(object, "answers", receipt->answers_json, err);
}

enum err_code render_audit(struct json *object, const struct catalog_audit_entry *entry, struct error *err)
{
    TRY(json_set_i64(object, "audit_id", entry->audit_id, err));
    TRY(render_time(object, "at", entry->at_us, err));
    TRY(json_set_string(object, "actor", entry->actor, err));
    TRY(json_set_string(object, "action", entry->action, err));
    TRY(render_uuid(object, "table_id", &entry->table_id, err));
    if (entry->table_name == NULL) {
        TRY(json_set_string(object, "table", NULL, err));
    } else {
        TRY(render_name(object, "table", entry->project, entry->table_name, err));
    }
    TRY(render_uuid(object, "partition_id", &entry->partition_id, err));
    return render_json(object, "details", entry->details_json, err);
}

/* From being made to being applied: the same for all kinds. */
enum err_code render_plan_life(struct json *object, const struct catalog_plan *plan, struct error *err)
{
    TRY(render_time(object, "created_at", plan->created_at_us, err));
    TRY(json_set_string(object, "created_by", plan->created_by, err));
    TRY(render_time(object, "expires_at", plan->expires_at_us, err));
    TRY(render_time_or_null(object, "applied_at", plan->applied_at_us, 0, err));
    TRY(json_set_string(object, "applied_by", plan->applied_by, err));
    return render_json(object, "outcome", plan->outcome_json, err);
}

enum err_code render_plan(struct json *object, const struct catalog_plan *plan,
                          const struct catalog_admin_partition *items, size_t item_count, struct error *err)
{
    struct json *breaker;
    struct json *array;
    TRY(render_uuid(object, "plan_id", &plan->plan_id, err));
    TRY(json_set_string(object, "kind", plan->kind, err));
    TRY(render_name(object, "table", plan->project, plan->table_name, err));
    TRY(render_time(object, "cutoff", plan->cutoff_us, err));
    TRY(json_set_i64(object, "partitions", plan->partitions, err));
    TRY(json_set_i64(object, "rows", plan->rows, err));
    TRY(json_set_i64(object, "bytes", plan->bytes, err));
    TRY(json_set_double(object, "share", plan->share, err));
    TRY(render_object(object, "breaker", &breaker, err));
    TRY(json_set_bool(breaker, "allowed", plan->breaker_allows, err));
    TRY(json_set_double(breaker, "max_share", plan->max_share, err));
    TRY(json_set_i64(object, "held", plan->held, err));
    TRY(json_set_i64(object, "locked", plan->locked, err));
    TRY(render_array(object, "items", &array, err));
    for (size_t i = 0; i < item_count; i++) {
        struct json *item;
        TRY(render_item(array, &item, err));
        TRY(render_partition(item, &items[i], err));
    }
    return render_plan_life(object, plan, err);
}

enum err_code render_cleaner(struct json *object, const struct catalog_cleaner_status *cleaner, struct error *err)
{
    struct json *value;
    TRY(render_object(object, "cleaner", &value, err));
    TRY(render_time_or_null(value, "finished_at", cleaner->finished_at_us, CLOCK_NEVER, err));
    TRY(json_set_i64(value, "orphans", cleaner->orphans, err));
    TRY(json_set_i64(value, "orphan_bytes", cleaner->orphan_bytes, err));
    TRY(json_set_i64(value, "missing", cleaner->missing, err));
    TRY(json_set_i64(value, "missing_live", cleaner->missing_live, err));
    return json_set_string(value, "verdict", cleaner->verdict, err);
}

enum err_code render_pause(struct json *object, const struct catalog_deployment *deployment, struct error *err)
{
    struct json *pause;
    if (!deployment->deleting_paused) {
        return json_set_string(object, "deleting_paused", NULL, err);
    }
    TRY(render_object(object, "deleting_paused", &pause, err));
    TRY(render_time(pause, "at", deployment->paused_at_us, err));
    TRY(json_set_string(pause, "by", deployment->paused_by, err));
    return json_set_string(pause, "reason", deployment->paused_reason, err);
}
