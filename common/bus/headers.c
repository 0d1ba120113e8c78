#include <string.h>

#include "common/bus/internal.h"

static bool is(amqp_bytes_t text, const char *name)
{
    return text.len == strlen(name) && memcmp(text.bytes, name, text.len) == 0;
}

static void put_i64(amqp_table_t *table, const char *key, int64_t value)
{
    if (value != 0) {
        table->entries[table->num_entries++] = (amqp_table_entry_t){
            .key = amqp_cstring_bytes(key), .value = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = value}};
    }
}

static void put_text(amqp_table_t *table, const char *key, amqp_bytes_t value)
{
    if (value.len != 0) {
        table->entries[table->num_entries++] = (amqp_table_entry_t){
            .key = amqp_cstring_bytes(key), .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = value}};
    }
}

amqp_table_t bus_meta_write(const struct bus_meta *meta, amqp_table_entry_t entries[BUS_META_ENTRIES])
{
    amqp_table_t table = {.num_entries = 0, .entries = entries};
    put_i64(&table, "x-granary-published-us", meta->published_us);
    put_i64(&table, "x-granary-attempt", meta->attempt);
    put_i64(&table, "x-granary-sequence", meta->sequence);
    put_i64(&table, "x-granary-dead-us", meta->dead_us);
    put_text(&table, "x-granary-reason", meta->reason);
    put_text(&table, "x-granary-queue", meta->queue);
    return table;
}

/* Whole numbers of any width, never negative: peers and broker choose the width. */
static int64_t whole(const amqp_field_value_t *field)
{
    int64_t value = 0;
    switch ((amqp_field_value_kind_t)field->kind) {
    case AMQP_FIELD_KIND_I8: value = field->value.i8 < 0 ? 0 : (unsigned char)field->value.i8; break;
    case AMQP_FIELD_KIND_U8: value = field->value.u8; break;
    case AMQP_FIELD_KIND_I16: value = field->value.i16; break;
    case AMQP_FIELD_KIND_U16: value = field->value.u16; break;
    case AMQP_FIELD_KIND_I32: value = field->value.i32; break;
    case AMQP_FIELD_KIND_U32: value = field->value.u32; break;
    case AMQP_FIELD_KIND_I64: value = field->value.i64; break;
    case AMQP_FIELD_KIND_U64: value = field->value.u64 > INT64_MAX ? 0 : (int64_t)field->value.u64; break;
    case AMQP_FIELD_KIND_BOOLEAN:
    case AMQP_FIELD_KIND_F32:
    case AMQP_FIELD_KIND_F64:
    case AMQP_FIELD_KIND_DECIMAL:
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_ARRAY:
    case AMQP_FIELD_KIND_TIMESTAMP:
    case AMQP_FIELD_KIND_TABLE:
    case AMQP_FIELD_KIND_VOID:
    case AMQP_FIELD_KIND_BYTES: break;
    }
    return value < 0 ? 0 : value;
}

static amqp_bytes_t text_of(const amqp_field_value_t *field)
{
    return field->kind == AMQP_FIELD_KIND_UTF8 ? field->value.bytes : amqp_empty_bytes;
}

/* x-death is an array of tables, the newest first. */
static void read_death(const amqp_field_value_t *field, struct bus_meta *meta)
{
    if (field->kind != AMQP_FIELD_KIND_ARRAY || field->value.array.num_entries < 1 ||
        field->value.array.entries[0].kind != AMQP_FIELD_KIND_TABLE) {
        return;
    }
    const amqp_table_t *newest = &field->value.array.entries[0].value.table;
    for (int i = 0; i < newest->num_entries; i++) {
        const amqp_table_entry_t *entry = &newest->entries[i];
        if (is(entry->key, "reason")) {
            meta->death_reason = text_of(&entry->value);
        } else if (is(entry->key, "queue")) {
            meta->death_queue = text_of(&entry->value);
        }
    }
}

static int64_t *number_of(struct bus_meta *meta, amqp_bytes_t key)
{
    return is(key, "x-granary-published-us") ? &meta->published_us
           : is(key, "x-granary-attempt")    ? &meta->attempt
           : is(key, "x-granary-sequence")   ? &meta->sequence
           : is(key, "x-granary-dead-us")    ? &meta->dead_us
           : is(key, "x-delivery-count")     ? &meta->delivery_count
                                             : NULL;
}

static void read_entry(const amqp_table_entry_t *entry, struct bus_meta *meta)
{
    int64_t *number = number_of(meta, entry->key);
    if (number != NULL) {
        *number = whole(&entry->value);
    } else if (is(entry->key, "x-granary-reason")) {
        meta->reason = text_of(&entry->value);
    } else if (is(entry->key, "x-granary-queue")) {
        meta->queue = text_of(&entry->value);
    } else if (is(entry->key, "x-death")) {
        read_death(&entry->value, meta);
    }
}

struct bus_meta bus_meta_read(const amqp_basic_properties_t *properties)
{
    struct bus_meta meta = {0};
    if ((properties->_flags & AMQP_BASIC_HEADERS_FLAG) != 0) {
        for (int i = 0; i < properties->headers.num_entries; i++) {
            read_entry(&properties->headers.entries[i], &meta);
        }
    }
    return meta;
}

amqp_bytes_t bus_property(const amqp_basic_properties_t *properties, amqp_flags_t flag, amqp_bytes_t value)
{
    return (properties->_flags & flag) != 0 ? value : amqp_empty_bytes;
}

const char *bus_text_take(char **cursor, amqp_bytes_t text)
{
    char *start = *cursor;
    if (text.len > 0) {
        memcpy(start, text.bytes, text.len);
    }
    start[text.len] = '\0';
    *cursor = start + text.len + 1;
    return start;
}
