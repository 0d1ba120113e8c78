/* {"attempt":UUID,"table":UUID,"token":N,"epoch":N,"lease_us":N,"result_queue":S,"schema":S,
 *  "output":{"id":UUID,"path":S},
 *  "inputs":[{"id":UUID,"path":S,"bytes":N,"rows":N,"sha256":HEX},...]}
 * Where not all lies in the storage of each process: "storage":N in the output and in inputs, and
 *  "storages":[{"id":N,"url":S},...]
 * schema is a text within the text: it reaches the rewriter byte for byte. */
#include "common/events/internal.h"
#include "common/lifecycle/records.h"

static const struct events_bounds path_bounds = {1, EVENTS_PATH_MAX_BYTES};

static enum err_code put_storage(struct json *json, int32_t storage_id, struct error *err)
{
    return storage_id == STORAGE_OWN ? OK : json_set_i64(json, "storage", storage_id, err);
}

static enum err_code put_output(struct json *json, const struct event_rewrite *event, struct error *err)
{
    AUTO(json_free_auto) struct json *output = json_new_object();
    if (output == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(events_set_uuid(output, "id", &event->output_id, err));
    TRY(put_storage(output, event->output_storage_id, err));
    TRY(json_set_string(output, "path", event->output_path, err));
    return json_set(json, "output", TAKE(output), err);
}

static enum err_code put_input(struct json *array, const struct event_rewrite_input *input, struct error *err)
{
    AUTO(json_free_auto) struct json *item = json_new_object();
    if (item == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(events_set_uuid(item, "id", &input->partition_id, err));
    TRY(put_storage(item, input->storage_id, err));
    TRY(json_set_string(item, "path", input->path, err));
    TRY(events_set_u64(item, "bytes", input->data_bytes, err));
    TRY(events_set_u64(item, "rows", input->row_count, err));
    TRY(events_set_hex(item, "sha256", input->sha256, sizeof input->sha256, err));
    return json_append(array, TAKE(item), err);
}

static enum err_code put_inputs(struct json *json, const struct event_rewrite *event, struct error *err)
{
    AUTO(json_free_auto) struct json *array = json_new_array();
    if (array == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 0; i < event->input_count; i++) {
        TRY(put_input(array, &event->inputs[i], err));
    }
    return json_set(json, "inputs", TAKE(array), err);
}

static enum err_code put_storages(struct json *json, const struct event_rewrite *event, struct error *err)
{
    AUTO(json_free_auto) struct json *array = json_new_array();
    if (array == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 0; i < event->storage_count; i++) {
        AUTO(json_free_auto) struct json *item = json_new_object();
        if (item == NULL) {
            return err_no_memory(err, 0);
        }
        TRY(json_set_i64(item, "id", event->storages[i].storage_id, err));
        TRY(json_set_string(item, "url", event->storages[i].url, err));
        TRY(json_append(array, TAKE(item), err));
    }
    return json_length(array) == 0 ? OK : json_set(json, "storages", TAKE(array), err);
}

enum err_code event_rewrite_encode(const struct event_rewrite *event, struct buf *out, struct error *err)
{
    TRY(events_check_count(event->input_count, 1, EVENT_REWRITE_MAX_INPUTS, "inputs", err));
    AUTO(json_free_auto) struct json *json = json_new_object();
    if (json == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(events_set_uuid(json, "attempt", &event->attempt_id, err));
    TRY(events_set_uuid(json, "table", &event->table_id, err));
    TRY(json_set_i64(json, "token", event->token, err));
    TRY(json_set_i64(json, "epoch", event->epoch, err));
    TRY(json_set_i64(json, "lease_us", event->lease_us, err));
    TRY(json_set_string(json, "result_queue", event->result_queue, err));
    TRY(json_set_string(json, "schema", event->schema_json, err));
    TRY(put_output(json, event, err));
    TRY(put_inputs(json, event, err));
    TRY(put_storages(json, event, err));
    return events_dump(json, out, err);
}

static enum err_code take_storage(const struct json *json, const struct json_place *at, int32_t *out, struct error *err)
{
    int64_t storage_id = STORAGE_OWN;
    TRY(json_opt_i64(json, at, "storage", 1, INT32_MAX, &storage_id, err));
    *out = (int32_t)storage_id;
    return OK;
}

static enum err_code take_output(const struct json *json, struct arena *arena, struct event_rewrite *event,
                                 struct error *err)
{
    struct json *output = NULL;
    const struct json_place at = {.member = "output"};
    TRY(json_get_object(json, NULL, "output", &output, err));
    TRY(events_get_uuid(output, &at, "id", &event->output_id, err));
    TRY(take_storage(output, &at, &event->output_storage_id, err));
    return events_get_text(output, &at, "path", path_bounds, arena, &event->output_path, err);
}

static enum err_code take_input(const struct json *item, const struct json_place *at, struct arena *arena,
                                struct event_rewrite_input *input, struct error *err)
{
    TRY(events_get_uuid(item, at, "id", &input->partition_id, err));
    TRY(take_storage(item, at, &input->storage_id, err));
    TRY(events_get_text(item, at, "path", path_bounds, arena, &input->path, err));
    TRY(events_get_u64(item, at, "bytes", &input->data_bytes, err));
    TRY(events_get_u64(item, at, "rows", &input->row_count, err));
    return events_get_hex(item, at, "sha256", input->sha256, sizeof input->sha256, err);
}

static enum err_code take_inputs(const struct json *json, struct arena *arena, struct event_rewrite *event,
                                 struct error *err)
{
    struct json *array = NULL;
    void *inputs = NULL;
    TRY(events_get_array(json, "inputs", 1, EVENT_REWRITE_MAX_INPUTS, &array, err));
    event->input_count = json_length(array);
    TRY(events_alloc(arena, event->input_count, sizeof *event->inputs, &inputs, err));
    event->inputs = inputs;
    const struct json_place list = {.member = "inputs"};
    for (size_t i = 0; i < event->input_count; i++) {
        const struct json_place at = {.parent = &list, .index = i};
        TRY(take_input(json_at(array, i), &at, arena, &event->inputs[i], err));
    }
    return OK;
}

static enum err_code take_storages(const struct json *json, struct arena *arena, struct event_rewrite *event,
                                   struct error *err)
{
    const struct json_place list = {.member = "storages"};
    struct json *array = NULL;
    void *storages = NULL;
    TRY(json_opt_array(json, NULL, "storages", &array, err));
    TRY(events_check_count(json_length(array), 0, EVENT_REWRITE_MAX_STORAGES, "storages", err));
    event->storage_count = json_length(array);
    TRY(events_alloc(arena, event->storage_count, sizeof *event->storages, &storages, err));
    event->storages = storages;
    for (size_t i = 0; i < event->storage_count; i++) {
        const struct json_place at = {.parent = &list, .index = i};
        int64_t storage_id = 0;
        TRY(json_get_i64(json_at(array, i), &at, "id", 1, INT32_MAX, &storage_id, err));
        event->storages[i].storage_id = (int32_t)storage_id;
        TRY(events_get_text(json_at(array, i), &at, "url", path_bounds, arena, &event->storages[i].url, err));
    }
    return OK;
}

enum err_code event_rewrite_decode(const void *data, size_t length, struct arena *arena, struct event_rewrite *out,
                                   struct error *err)
{
    static const struct events_bounds queue_bounds = {1, EVENTS_NAME_MAX_BYTES};
    static const struct events_bounds schema_bounds = {1, EVENTS_TEXT_MAX_BYTES};
    AUTO(json_free_auto) struct json *json = NULL;
    struct event_rewrite event = {0};
    TRY(events_parse(data, length, &json, err));
    TRY(events_get_uuid(json, NULL, "attempt", &event.attempt_id, err));
    TRY(events_get_uuid(json, NULL, "table", &event.table_id, err));
    TRY(json_get_i64(json, NULL, "token", 1, INT64_MAX, &event.token, err));
    TRY(json_get_i64(json, NULL, "epoch", 0, INT64_MAX, &event.epoch, err));
    TRY(json_get_i64(json, NULL, "lease_us", 1, INT64_MAX, &event.lease_us, err));
    TRY(events_get_text(json, NULL, "result_queue", queue_bounds, arena, &event.result_queue, err));
    TRY(events_get_text(json, NULL, "schema", schema_bounds, arena, &event.schema_json, err));
    TRY(take_output(json, arena, &event, err));
    TRY(take_inputs(json, arena, &event, err));
    TRY(take_storages(json, arena, &event, err));
    *out = event;
    return OK;
}
