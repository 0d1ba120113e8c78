/* Rows as a log has them, for benches: a timestamp, three texts of few values, two doubles, an int64 and a text of 40 to 80
 * bytes (about 150 bytes a row). The same rows every time. */
#ifndef GRANARY_TESTS_BENCH_LOG_ROWS_H
#define GRANARY_TESTS_BENCH_LOG_ROWS_H

#include <stdio.h>
#include <stdlib.h>

#include "common/rows/batch.h"

enum { LOG_ROWS_COLUMNS = 8, LOG_ROWS_VOCABULARY = 512 };

static const struct schema_column log_rows_columns[LOG_ROWS_COLUMNS] = {
    {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    {.id = 2, .name = "host", .type = COLUMN_STRING, .nullable = true},
    {.id = 3, .name = "level", .type = COLUMN_STRING, .nullable = true},
    {.id = 4, .name = "service", .type = COLUMN_STRING, .nullable = true},
    {.id = 5, .name = "latency", .type = COLUMN_DOUBLE, .nullable = true},
    {.id = 6, .name = "load", .type = COLUMN_DOUBLE, .nullable = true},
    {.id = 7, .name = "bytes", .type = COLUMN_INT64, .nullable = true},
    {.id = 8, .name = "message", .type = COLUMN_STRING, .nullable = true},
};
static const struct schema log_rows_schema = {.version = 1,
                                              .column_count = LOG_ROWS_COLUMNS,
                                              .columns = log_rows_columns,
                                              .timestamp_column = 0,
                                              .sort_key_count = 1};

struct log_rows {
    uint64_t random;
    int64_t time_us; /* of the last row; grows by 0 to 20 ms */
    char words[LOG_ROWS_VOCABULARY][8];
};

static inline uint64_t log_rows_random(struct log_rows *rows)
{
    rows->random ^= rows->random << 13;
    rows->random ^= rows->random >> 7;
    rows->random ^= rows->random << 17;
    return rows->random;
}

static inline void log_rows_init(struct log_rows *rows, uint64_t seed)
{
    *rows = (struct log_rows){.random = 88172645463325252U + seed * 2685821657736338717U,
                              .time_us = INT64_C(1700000000000000)};
    for (size_t i = 0; i < LOG_ROWS_VOCABULARY; i++) {
        int length = (int)(2 + log_rows_random(rows) % 6);
        const char *letters = "abcdefghijklmnopqrstuvwxyz" + log_rows_random(rows) % 19;
        (void)snprintf(rows->words[i], sizeof rows->words[i], "%.*s", length, letters);
    }
}

static inline void log_rows_set_text(struct batch *batch, uint32_t column, const char *text, int length)
{
    if (batch_set_variable(batch, column, text, (size_t)length, NULL) != OK) {
        abort();
    }
}

static inline void log_rows_set_name(struct batch *batch, uint32_t column, const char *prefix, uint64_t number)
{
    char text[32];
    log_rows_set_text(batch, column, text, snprintf(text, sizeof text, "%s%llu", prefix, (unsigned long long)number));
}

static inline void log_rows_set_message(struct log_rows *rows, struct batch *batch)
{
    char text[96];
    int length = 0, most = (int)(40 + log_rows_random(rows) % 33);
    while (length < most) {
        const char *word = rows->words[log_rows_random(rows) % LOG_ROWS_VOCABULARY];
        length += snprintf(text + length, sizeof text - (size_t)length, "%s ", word);
    }
    log_rows_set_text(batch, 7, text, length);
}

/* `count` more rows in a batch of their own, to be freed. The schema must have log_rows_columns. */
static inline struct batch *log_rows_next(struct log_rows *rows, const struct schema *schema, uint32_t count)
{
    struct batch *batch = NULL;
    if (batch_new(schema, count, &batch, NULL) != OK) {
        abort();
    }
    for (uint32_t i = 0; i < count; i++) {
        rows->time_us += (int64_t)(log_rows_random(rows) % 20000);
        if (batch_row_begin(batch, NULL) != OK) {
            abort();
        }
        batch_set_i64(batch, 0, rows->time_us);
        log_rows_set_name(batch, 1, "host-", log_rows_random(rows) % 200);
        log_rows_set_name(batch, 2, "level", log_rows_random(rows) % 5);
        log_rows_set_name(batch, 3, "service-", log_rows_random(rows) % 40);
        batch_set_double(batch, 4, (double)(log_rows_random(rows) % 1000000) / 1000.0);
        batch_set_double(batch, 5, (double)log_rows_random(rows) / 1e19);
        batch_set_i64(batch, 6, (int64_t)(log_rows_random(rows) % 1000000));
        log_rows_set_message(rows, batch);
        if (batch_row_end(batch, NULL) != OK) {
            abort();
        }
    }
    return batch;
}

#endif
