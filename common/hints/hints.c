#include "common/hints/hints.h"

#include <assert.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/events/events.h"

#define PUBLISH_TIMEOUT_US (30 * CLOCK_SECOND_US)

struct bus_queue_spec hints_queue(void)
{
    return (struct bus_queue_spec){.name = HINTS_QUEUE};
}

enum err_code hints_have_room(const struct bus_options *options, int64_t max_backlog, bool *out_room, struct error *err)
{
    struct bus_queue_depth depth;
    TRY(bus_queue_inspect(options, HINTS_QUEUE, &depth, err));
    *out_room = depth.messages < (uint64_t)max_backlog;
    return OK;
}

enum err_code hints_publish(struct bus_publisher *publisher, const struct uuid *table_id,
                            const struct catalog_reap_item *items, size_t count, struct error *err)
{
    assert(count >= 1 && count <= EVENT_REAP_MAX);
    AUTO(buf_done) struct buf body = {0};
    struct event_reap_item named[EVENT_REAP_MAX];
    for (size_t i = 0; i < count; i++) {
        named[i] = (struct event_reap_item){items[i].partition_id, items[i].deactivated_at_us};
    }
    const struct event_reap event = {.table_id = *table_id, .count = count, .items = named};
    TRY(event_reap_encode(&event, &body, err));
    struct uuid id = uuid_v7();
    char id_text[UUID_TEXT_BYTES];
    const struct bus_message message = {
        .routing_key = HINTS_QUEUE,
        .body = body.data,
        .body_bytes = body.length_bytes,
        .content_type = "application/json",
        .type = EVENT_REAP_TYPE,
        .message_id = uuid_format(&id, id_text),
    };
    return bus_publish(publisher, &message, PUBLISH_TIMEOUT_US, err);
}
