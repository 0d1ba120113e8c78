#include "services/intake/plan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"

enum { MAX_KEY_CHARACTERS = 200, DELIVERIES_BEFORE_ALONE = 3, HORIZON_PARTS = 8, MAX_MESSAGES_IN_FLIGHT = 2 };

static bool names(const char *value, const char *name)
{
    size_t length = strcspn(value, "; \t");
    return length == strlen(name) && strncasecmp(value, name, length) == 0;
}

enum err_code intake_plan_format(const char *content_type, enum ingest_format *out, struct error *err)
{
    static const struct {
        const char *name;
        enum ingest_format format;
    } types[] = {{"application/x-ndjson", INGEST_NDJSON},
                 {"application/ndjson", INGEST_NDJSON},
                 {"application/jsonl", INGEST_NDJSON},
                 {"application/json", INGEST_JSON_ARRAY},
                 {"text/csv", INGEST_CSV},
                 {"application/vnd.apache.parquet", INGEST_PARQUET}};
    if (content_type == NULL) {
        *out = INGEST_NDJSON;
        return OK;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (names(content_type, types[i].name)) {
            *out = types[i].format;
            return OK;
        }
    }
    return err_set(err, ERR_INVALID,
                   "expected Content-Type application/x-ndjson, application/json, text/csv or "
                   "application/vnd.apache.parquet but found \"%.100s\"",
                   content_type);
}

enum err_code intake_plan_compression(const char *content_encoding, enum ingest_compression *out, struct error *err)
{
    static const struct {
        const char *name;
        enum ingest_compression compression;
    } encodings[] = {{"identity", INGEST_PLAIN}, {"gzip", INGEST_GZIP}, {"zstd", INGEST_ZSTD}};
    if (content_encoding == NULL) {
        *out = INGEST_PLAIN;
        return OK;
    }
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++) {
        if (strcasecmp(content_encoding, encodings[i].name) == 0) {
            *out = encodings[i].compression;
            return OK;
        }
    }
    return err_set(err, ERR_INVALID, "expected Content-Encoding gzip, zstd or identity but found \"%.100s\"",
                   content_encoding);
}

enum err_code intake_plan_key(const char *key, struct error *err)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < length; i++) {
        if (key[i] < ' ' || key[i] > '~') {
            return err_set(err, ERR_INVALID, "expected printable ASCII in Idempotency-Key but found byte 0x%02x at %zu",
                           (unsigned)(unsigned char)key[i], i);
        }
    }
    if (length == 0 || length > MAX_KEY_CHARACTERS) {
        return err_set(err, ERR_INVALID, "expected an Idempotency-Key of 1 to %d characters but found %zu",
                       MAX_KEY_CHARACTERS, length);
    }
    return OK;
}

void intake_plan_window(const struct table_settings *settings, int64_t now_us, int64_t *out_min_us, int64_t *out_max_us)
{
    const int64_t first_us = clock_days_from_civil(1, 1, 1) * CLOCK_DAY_US;
    const int64_t last_us = clock_days_from_civil(10000, 1, 1) * CLOCK_DAY_US - 1;
    *out_min_us = settings->intake_max_past_us > now_us - first_us ? first_us : now_us - settings->intake_max_past_us;
    *out_max_us = settings->intake_max_future_us > last_us - now_us ? last_us : now_us + settings->intake_max_future_us;
}

bool intake_plan_send(const struct intake_gathered *gathered, int64_t linger_us)
{
    return gathered->bytes >= INTAKE_MESSAGE_BYTES || gathered->waited_us >= linger_us ||
           (gathered->decoding == 0 && gathered->messages_in_flight < MAX_MESSAGES_IN_FLIGHT);
}

bool intake_plan_flush(const struct intake_load *load, const struct intake_bounds *bounds)
{
    return load->messages > 0 && (load->rows >= bounds->max_rows || load->bytes >= bounds->max_bytes ||
                                  load->open_us >= bounds->max_open_us || load->messages >= bounds->max_messages);
}

bool intake_plan_alone(uint32_t delivery_count)
{
    return delivery_count >= DELIVERIES_BEFORE_ALONE;
}

bool intake_plan_too_old(int64_t published_us, int64_t now_us, int64_t horizon_us)
{
    return published_us != 0 && now_us - published_us > horizon_us - horizon_us / HORIZON_PARTS;
}

struct sized {
    uint32_t rows;
    size_t place;
};

static int compare_sized(const void *a, const void *b)
{
    const struct sized *x = a;
    const struct sized *y = b;
    if (x->rows != y->rows) {
        return x->rows > y->rows ? -1 : 1;
    }
    return (x->place > y->place) - (x->place < y->place); /* of equal ones the oldest */
}

enum err_code intake_plan_spill(const struct publish_range *ranges, size_t count, struct arena *arena, bool **out,
                                struct error *err)
{
    struct sized *sized = arena_zalloc(arena, count, sizeof *sized);
    bool *chosen = arena_zalloc(arena, count, sizeof *chosen);
    uint64_t left = 0;
    if (sized == NULL || chosen == NULL) {
        return err_no_memory(err, count * sizeof *sized);
    }
    for (size_t i = 0; i < count; i++) {
        sized[i] = (struct sized){ranges[i].count, i};
        left += ranges[i].count;
    }
    qsort(sized, count, sizeof *sized, compare_sized);
    const uint64_t goal = left / 2;
    for (size_t i = 0; i < count && left > goal; i++) {
        chosen[sized[i].place] = true;
        left -= sized[i].rows;
    }
    *out = chosen;
    return OK;
}
