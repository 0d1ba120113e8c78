#include "common/bus/delivery.h"

#include <assert.h>

static uint32_t clamp_u32(int64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

struct delivery *bus_delivery_new(const amqp_basic_properties_t *properties, size_t body_bytes, uint64_t tag)
{
    amqp_bytes_t type = bus_property(properties, AMQP_BASIC_TYPE_FLAG, properties->type);
    amqp_bytes_t id = bus_property(properties, AMQP_BASIC_MESSAGE_ID_FLAG, properties->message_id);
    amqp_bytes_t content = bus_property(properties, AMQP_BASIC_CONTENT_TYPE_FLAG, properties->content_type);
    size_t texts_bytes = type.len + id.len + content.len + 3;
    struct delivery *delivery = calloc(1, sizeof *delivery + body_bytes + texts_bytes);
    if (delivery == NULL) {
        return NULL;
    }
    struct bus_meta meta = bus_meta_read(properties);
    delivery->public = (struct bus_delivery){
        .body = delivery->storage,
        .body_bytes = body_bytes,
        .published_at_us = meta.published_us,
        .delivery_count = clamp_u32(meta.delivery_count),
        .attempt = clamp_u32(meta.attempt),
        .tag = tag,
    };
    char *cursor = delivery->storage + body_bytes;
    delivery->public.type = bus_text_take(&cursor, type);
    delivery->public.message_id = bus_text_take(&cursor, id);
    delivery->content_type = bus_text_take(&cursor, content);
    return delivery;
}

uint8_t *bus_delivery_body(struct delivery *delivery)
{
    return (uint8_t *)delivery->storage;
}

void bus_delivery_free(struct delivery *delivery)
{
    if (delivery != NULL) {
        free(delivery->reason);
        free(delivery->other_body);
        free(delivery);
    }
}

void bus_delivery_queue_push(struct delivery_queue *queue, struct delivery *delivery)
{
    delivery->queue_next = NULL;
    if (queue->last == NULL) {
        queue->first = delivery;
    } else {
        queue->last->queue_next = delivery;
    }
    queue->last = delivery;
}

struct delivery *bus_delivery_queue_pop(struct delivery_queue *queue)
{
    struct delivery *delivery = queue->first;
    if (delivery != NULL) {
        queue->first = TAKE(delivery->queue_next);
        if (queue->first == NULL) {
            queue->last = NULL;
        }
    }
    return delivery;
}

void bus_delivery_list_append(struct delivery_list *list, struct delivery *delivery)
{
    assert(!delivery->unsettled);
    delivery->unsettled = true;
    delivery->previous = list->last;
    delivery->next = NULL;
    if (list->last == NULL) {
        list->first = delivery;
    } else {
        list->last->next = delivery;
    }
    list->last = delivery;
}

void bus_delivery_list_remove(struct delivery_list *list, struct delivery *delivery)
{
    if (!delivery->unsettled) {
        return;
    }
    if (delivery->previous == NULL) {
        list->first = delivery->next;
    } else {
        delivery->previous->next = delivery->next;
    }
    if (delivery->next == NULL) {
        list->last = delivery->previous;
    } else {
        delivery->next->previous = delivery->previous;
    }
    delivery->previous = delivery->next = NULL;
    delivery->unsettled = false;
}

uint64_t bus_delivery_list_pop_acknowledged(struct delivery_list *list)
{
    uint64_t tag = 0;
    while (list->first != NULL && list->first->acknowledged) {
        tag = list->first->public.tag;
        bus_delivery_list_remove(list, list->first);
    }
    return tag;
}
