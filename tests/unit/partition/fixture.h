/* Small tables and partitions of them in a file store. */
#ifndef GRANARY_TESTS_UNIT_PARTITION_FIXTURE_H
#define GRANARY_TESTS_UNIT_PARTITION_FIXTURE_H

#include "tests/unit/store/fixture.h"

#include "common/partition/reader.h"
#include "common/partition/writer.h"

enum { TS, NAME, NUMBER, SCORE, SMALL_COLUMNS };

static const struct schema_column small_columns[SMALL_COLUMNS] = {
    [TS] = {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    [NAME] = {.id = 2, .name = "name", .type = COLUMN_STRING, .nullable = true},
    [NUMBER] = {.id = 3, .name = "number", .type = COLUMN_INT64, .nullable = true},
    [SCORE] = {.id = 4, .name = "score", .type = COLUMN_DOUBLE, .nullable = true},
};

static const struct uuid small_table_id = {{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10}};

/* The columns above, sorted by up to two keys. */
__attribute__((unused)) static struct schema *small_schema(const struct sort_key *keys, size_t key_count)
{
    struct schema from = {.table_id = small_table_id,
                          .version = 2,
                          .column_count = SMALL_COLUMNS,
                          .columns = small_columns,
                          .sort_key_count = key_count};
    struct schema *schema = NULL;
    memcpy(from.sort_keys, keys, key_count * sizeof *keys);
    assert_int_equal(schema_new(&from, &schema, NULL), OK);
    return schema;
}

/* The same numbers in every run. */
__attribute__((unused)) static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

/* A row at the time given, all else drawn; its score tells it from all others. */
__attribute__((unused)) static void append_row(struct batch *batch, int64_t ts, double score, uint64_t *seed)
{
    static const char *const names[] = {"", "a", "granary", "granary-granary-granary", "z\xc3\xa9"};
    const char *name = names[draw(seed, COUNT(names))];
    assert_int_equal(batch_row_begin(batch, NULL), OK);
    batch_set_i64(batch, TS, ts);
    if (draw(seed, 4) != 0) {
        assert_int_equal(batch_set_variable(batch, NAME, name, strlen(name), NULL), OK);
    }
    if (draw(seed, 3) != 0) {
        batch_set_i64(batch, NUMBER, (int64_t)draw(seed, 5) - 2);
    }
    batch_set_double(batch, SCORE, score);
    assert_int_equal(batch_row_end(batch, NULL), OK);
}

/* The rows of `batch` in their order. */
__attribute__((unused)) static struct batch *sorted_copy(const struct batch *batch)
{
    struct batch *sorted = NULL;
    AUTO(free_auto) uint32_t *order = calloc(batch->row_count + 1, sizeof *order);
    assert_non_null(order);
    assert_int_equal(batch_sort_order(batch, order, NULL), OK);
    assert_int_equal(batch_new(batch->schema, batch->row_count, &sorted, NULL), OK);
    assert_int_equal(batch_append_rows(sorted, batch, order, batch->row_count, NULL), OK);
    return sorted;
}

__attribute__((unused)) static void write_partition(struct store *store, const char *path, const struct batch *batch,
                                                    struct partition_facts *out)
{
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    AUTO(partition_facts_done) struct partition_facts facts = {0};
    const struct partition_writer_options options = {.path = path, .partition_id = uuid_v7(), .deadline_us = soon_us()};
    struct error err = {0};
    if (partition_writer_open(store, batch->schema, &options, &writer, &err) != OK ||
        partition_writer_append(writer, batch, 0, batch->row_count, &err) != OK ||
        partition_writer_finish(writer, out != NULL ? out : &facts, &err) != OK) {
        fail_msg("%s", err.text);
    }
}

/* All rows of a partition, as the file has them. */
__attribute__((unused)) static struct batch *read_partition(struct store *store, const char *path,
                                                            const struct schema *schema)
{
    AUTO(partition_reader_free_auto) struct partition_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    struct batch *all = NULL;
    const struct batch *batch = NULL;
    struct error err = {0};
    if (partition_reader_open(store, path, NULL, &reader, &err) != OK ||
        parquet_cursor_open(partition_reader_file(reader), NULL, &cursor, &err) != OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(batch_new(schema, 0, &all, NULL), OK);
    for (;;) {
        assert_int_equal(parquet_cursor_next(cursor, &batch, NULL), OK);
        if (batch == NULL) {
            return all;
        }
        assert_int_equal(batch_append_range(all, batch, 0, batch->row_count, NULL), OK);
    }
}

__attribute__((unused)) static void assert_batches_equal(const struct batch *x, const struct batch *y)
{
    assert_int_equal(x->row_count, y->row_count);
    assert_int_equal(x->schema->column_count, y->schema->column_count);
    for (size_t c = 0; c < x->schema->column_count; c++) {
        const struct column *p = &x->columns[c];
        const struct column *q = &y->columns[c];
        size_t width = column_type_width(p->type);
        assert_int_equal(p->null_count, q->null_count);
        for (uint32_t i = 0; i < x->row_count; i++) {
            uint32_t length = (uint32_t)width;
            uint32_t other = (uint32_t)width;
            const uint8_t *a = width != 0 ? p->values.u8 + i * width : column_variable(p, i, &length);
            const uint8_t *b = width != 0 ? q->values.u8 + i * width : column_variable(q, i, &other);
            assert_int_equal(column_is_null(p, i), column_is_null(q, i));
            assert_int_equal(length, other);
            if (length > 0) {
                assert_memory_equal(a, b, length);
            }
        }
    }
}

#endif
