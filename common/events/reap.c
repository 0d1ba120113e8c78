/* {"table":UUID,"claim":{"lock":UUID,"token":N},"partitions":[{"id":UUID,"deactivated_at_us":N},...]}
 * claim is absent in a fresh event. */
#include "common/events/internal.h"

static enum err_code put_claim(struct json *json, const struct event_reap *event, struct error *err)
{
    AUTO(json_free_auto) struct json *claim = json_new_object();
    if (claim == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(events_set_uuid(claim, "lock", &event->claim_lock_id, err));
    TRY(json_set_i64(claim, "token", event->claim_token, err));
    return json_set(json, "claim", TAKE(claim), err);
}

static enum err_code put_items(struct json *json, const struct event_reap *event, struct error *err)
{
    AUTO(json_free_auto) struct json *array = json_new_array();
    if (array == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 0; i < event->count; i++) {
        AUTO(json_free_auto) struct json *item = json_new_object();
        if (item == NULL) {
            return err_no_memory(err, 0);
        }
        TRY(events_set_uuid(item, "id", &event->items[i].partition_id, err));
        TRY(json_set_i64(item, "deactivated_at_us", event->items[i].deactivated_at_us, err));
        TRY(json_append(array, TAKE(item), err));
    }
    return json_set(json, "partitions", TAKE(array), err);
}

enum err_code event_reap_encode(const struct event_reap *event, struct buf *out, struct error *err)
{
    TRY(events_check_count(event->count, 1, EVENT_REAP_MAX, "partitions", err));
    if (uuid_is_nil(&event->claim_lock_id) != (event->claim_token == 0)) {
        return err_set(err, ERR_INVALID, "expected a claim's lock and token both, or neither");
    }
    AUTO(json_free_auto) struct json *json = json_new_object();
    if (json == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(events_set_uuid(json, "table", &event->table_id, err));
    if (event->claim_token != 0) {
        TRY(put_claim(json, event, err));
    }
    TRY(put_items(json, event, err));
    return events_dump(json, out, err);
}

static enum err_code take_claim(const struct json *json, struct event_reap *event, struct error *err)
{
    struct json *claim = NULL;
    TRY(json_opt_object(json, NULL, "claim", &claim, err));
    if (claim == NULL) {
        return OK;
    }
    const struct json_place at = {.member = "claim"};
    TRY(events_get_uuid(claim, &at, "lock", &event->claim_lock_id, err));
    TRY(json_get_i64(claim, &at, "token", 1, INT64_MAX, &event->claim_token, err));
    return uuid_is_nil(&event->claim_lock_id)
               ? err_set(err, ERR_INVALID, "expected the id of a lock at \"claim.lock\" but found the nil UUID")
               : OK;
}

static enum err_code take_items(const struct json *json, struct arena *arena, struct event_reap *event,
                                struct error *err)
{
    struct json *array = NULL;
    void *items = NULL;
    TRY(events_get_array(json, "partitions", 1, EVENT_REAP_MAX, &array, err));
    event->count = json_length(array);
    TRY(events_alloc(arena, event->count, sizeof *event->items, &items, err));
    event->items = items;
    const struct json_place list = {.member = "partitions"};
    for (size_t i = 0; i < event->count; i++) {
        const struct json_place at = {.parent = &list, .index = i};
        const struct json *item = json_at(array, i);
        TRY(events_get_uuid(item, &at, "id", &event->items[i].partition_id, err));
        TRY(json_get_i64(item, &at, "deactivated_at_us", INT64_MIN, INT64_MAX, &event->items[i].deactivated_at_us,
                         err));
    }
    return OK;
}

enum err_code event_reap_decode(const void *data, size_t length, struct arena *arena, struct event_reap *out,
                                struct error *err)
{
    AUTO(json_free_auto) struct json *json = NULL;
    struct event_reap event = {0};
    TRY(events_parse(data, length, &json, err));
    TRY(events_get_uuid(json, NULL, "table", &event.table_id, err));
    TRY(take_claim(json, &event, err));
    TRY(take_items(json, arena, &event, err));
    *out = event;
    return OK;
}
