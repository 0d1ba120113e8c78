/* Row groups that a merge copies whole. Inputs are compressed at level 1 and outputs at level 3: pages that were copied can be
 * told from pages that were encoded anew. */
#include "tests/unit/partition/fixture.h"

#include "common/partition/merge.h"

enum { MAX_INPUTS = 12, GROUP_ROWS = 64, INPUT_LEVEL = 1, OUTPUT_LEVEL = 3 };

static const struct parquet_writer_options input_options = {.row_group_rows = GROUP_ROWS, .zstd_level = INPUT_LEVEL};
static const struct parquet_writer_options output_options = {.row_group_rows = GROUP_ROWS, .zstd_level = OUTPUT_LEVEL};

struct inputs {
    struct batch *batches[MAX_INPUTS]; /* sorted */
    struct partition_reader *readers[MAX_INPUTS];
    size_t count;
};

static void inputs_done(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        batch_free(inputs->batches[i]);
        partition_reader_free(inputs->readers[i]);
    }
}

static enum err_code write_rows(struct store *store, const char *path, const struct batch *rows,
                                const struct parquet_writer_options *parquet, struct partition_facts *out,
                                struct error *err)
{
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    const struct partition_writer_options options = {.path = path, .deadline_us = soon_us(), .parquet = parquet};
    TRY(partition_writer_open(store, rows->schema, &options, &writer, err));
    TRY(partition_writer_append(writer, rows, 0, rows->row_count, err));
    return partition_writer_finish(writer, out, err);
}

/* Takes over the rows, in any order. */
static void add_input(struct store_fixture *fixture, struct inputs *inputs, struct batch *batch_take)
{
    static int number;
    char path[32];
    struct error err = {0};
    AUTO(batch_free_auto) struct batch *batch = batch_take;
    AUTO(partition_facts_done) struct partition_facts facts = {0};
    (void)snprintf(path, sizeof path, "in/%d", number++);
    inputs->batches[inputs->count] = sorted_copy(batch);
    if (write_rows(fixture->store, path, inputs->batches[inputs->count], &input_options, &facts, &err) != OK ||
        partition_reader_open(fixture->store, path, NULL, &inputs->readers[inputs->count], &err) != OK) {
        fail_msg("%s", err.text);
    }
    inputs->count++;
}

static enum err_code merge(struct store_fixture *fixture, const struct inputs *inputs, const struct schema *schema,
                           const char *path, struct partition_facts *out, int *out_bad, struct error *err)
{
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    const struct partition_writer_options to = {.path = path, .deadline_us = soon_us(), .parquet = &output_options};
    const struct partition_merge_options options = {
        .schema = schema, .inputs = inputs->readers, .input_count = inputs->count, .batch_rows = 10};
    TRY(partition_writer_open(fixture->store, schema, &to, &writer, err));
    TRY(partition_merge(&options, writer, out_bad, err));
    return partition_writer_finish(writer, out, err);
}

/* All rows under the schema, by the stable sort of the inputs one after the other. */
static struct batch *naive_merge(const struct inputs *inputs, const struct schema *schema)
{
    AUTO(batch_free_auto) struct batch *all = NULL;
    assert_int_equal(batch_new(schema, 0, &all, NULL), OK);
    for (size_t i = 0; i < inputs->count; i++) {
        AUTO(batch_free_auto) struct batch *converted = NULL;
        assert_int_equal(batch_convert(inputs->batches[i], schema, &converted, NULL), OK);
        assert_int_equal(batch_append_range(all, converted, 0, converted->row_count, NULL), OK);
    }
    return sorted_copy(all);
}

static void assert_facts_equal(const struct partition_facts *x, const struct partition_facts *y)
{
    assert_int_equal(x->row_count, y->row_count);
    assert_int_equal(x->min_timestamp_us, y->min_timestamp_us);
    assert_int_equal(x->max_timestamp_us, y->max_timestamp_us);
    assert_int_equal(x->column_count, y->column_count);
    for (size_t i = 0; i < x->column_count; i++) {
        const struct column_stats *a = &x->columns[i];
        const struct column_stats *b = &y->columns[i];
        assert_int_equal(a->null_count, b->null_count);
        assert_int_equal(a->has_min, b->has_min);
        assert_int_equal(a->has_max, b->has_max);
        assert_int_equal(a->min_length, b->min_length);
        assert_int_equal(a->max_length, b->max_length);
        assert_memory_equal(a->min, b->min, a->min_length);
        assert_memory_equal(a->max, b->max, a->max_length);
    }
}

static size_t row_groups_of(struct store_fixture *fixture, const char *path)
{
    AUTO(partition_reader_free_auto) struct partition_reader *reader = NULL;
    assert_int_equal(partition_reader_open(fixture->store, path, NULL, &reader, NULL), OK);
    return parquet_reader_row_groups(partition_reader_file(reader));
}

/* `rows` rows of times from `start` on, in steps of up to `step`. */
static struct batch *stretch(const struct schema *schema, int64_t start, uint32_t rows, uint32_t step, uint64_t *seed)
{
    struct batch *batch = NULL;
    assert_int_equal(batch_new(schema, rows, &batch, NULL), OK);
    for (uint32_t r = 0; r < rows; r++) {
        append_row(batch, start, (double)draw(seed, INT32_MAX) / 7, seed);
        start += draw(seed, step + 1);
    }
    return batch;
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

static void row_groups_of_inputs_that_lie_apart_are_copied_byte_for_byte(void **state)
{
    struct store_fixture *fixture = *state;
    static const int64_t starts[] = {50000, 0, 100000, -50000};
    for (int descending = 0; descending < 2; descending++) {
        const struct sort_key keys[] = {{TS, descending}, {NAME, false}};
        for (size_t key_count = 1; key_count <= 2; key_count++) {
            AUTO(schema_free_auto) struct schema *schema = small_schema(keys, key_count);
            AUTO(inputs_done) struct inputs inputs = {0};
            AUTO(partition_facts_done) struct partition_facts merged = {0};
            AUTO(partition_facts_done) struct partition_facts written = {0};
            struct error err = {0};
            uint64_t seed = 9;
            char path[32];
            (void)snprintf(path, sizeof path, "out/%d-%zu", descending, key_count);
            for (size_t i = 0; i < COUNT(starts); i++) {
                add_input(fixture, &inputs, stretch(schema, starts[i], 3 * GROUP_ROWS, 20, &seed));
            }
            if (merge(fixture, &inputs, schema, path, &merged, NULL, &err) != OK) {
                fail_msg("%s", err.text);
            }
            AUTO(batch_free_auto) struct batch *expected = naive_merge(&inputs, schema);
            /* A conflict if a byte differed: pages, statistics, page index, bloom filters, footer. */
            if (write_rows(fixture->store, path, expected, &input_options, &written, &err) != OK) {
                fail_msg("%s", err.text);
            }
            assert_facts_equal(&merged, &written);
        }
    }
}

static void stretches_that_overlap_are_merged_and_the_rest_is_copied(void **state)
{
    struct store_fixture *fixture = *state;
    static const struct {
        struct sort_key keys[2];
        size_t key_count;
    } orders[] = {
        {{{TS, false}}, 1},
        {{{TS, true}}, 1},
        {{{TS, false}, {NAME, false}}, 2},
        {{{NAME, false}, {TS, true}}, 2},
        {{{NUMBER, true}, {TS, false}}, 2},
    };
    uint64_t seed = 77;
    for (size_t o = 0; o < COUNT(orders); o++) {
        AUTO(schema_free_auto) struct schema *schema = small_schema(orders[o].keys, orders[o].key_count);
        for (int round = 0; round < 12; round++) {
            AUTO(inputs_done) struct inputs inputs = {0};
            AUTO(partition_facts_done) struct partition_facts merged = {0};
            AUTO(partition_facts_done) struct partition_facts written = {0};
            struct error err = {0};
            char path[32], plain[32];
            (void)snprintf(path, sizeof path, "out/%zu-%d", o, round);
            (void)snprintf(plain, sizeof plain, "plain/%zu-%d", o, round);
            size_t count = 1 + draw(&seed, 6);
            for (size_t i = 0; i < count; i++) {
                uint32_t rows = 1 + draw(&seed, 6 * GROUP_ROWS);
                add_input(fixture, &inputs, stretch(schema, draw(&seed, 1500), rows, draw(&seed, 4), &seed));
            }
            if (merge(fixture, &inputs, schema, path, &merged, NULL, &err) != OK) {
                fail_msg("%s", err.text);
            }
            AUTO(batch_free_auto) struct batch *expected = naive_merge(&inputs, schema);
            AUTO(batch_free_auto) struct batch *found = read_partition(fixture->store, path, schema);
            assert_batches_equal(expected, found);
            assert_int_equal(write_rows(fixture->store, plain, expected, &input_options, &written, &err), OK);
            assert_facts_equal(&merged, &written);
            /* Equal inputs give equal bytes. */
            partition_facts_done(&merged);
            assert_int_equal(merge(fixture, &inputs, schema, path, &merged, NULL, &err), OK);
        }
    }
}

static void columns_that_are_new_or_wider_are_encoded_and_the_others_copied(void **state)
{
    struct store_fixture *fixture = *state;
    static const struct schema_column old_columns[] = {
        {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
        {.id = 2, .name = "name", .type = COLUMN_STRING, .nullable = true},
        {.id = 3, .name = "number", .type = COLUMN_INT32, .nullable = true},
        {.id = 9, .name = "gone", .type = COLUMN_BOOL, .nullable = true},
    };
    const struct schema from = {.table_id = small_table_id,
                                .version = 1,
                                .column_count = COUNT(old_columns),
                                .columns = old_columns,
                                .sort_key_count = 1};
    AUTO(schema_free_auto) struct schema *old = NULL;
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    AUTO(partition_facts_done) struct partition_facts merged = {0};
    struct error err = {0};
    uint64_t seed = 5;
    assert_int_equal(schema_new(&from, &old, NULL), OK);
    for (int64_t i = 0; i < 3; i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(old, 0, &batch, NULL), OK);
        for (int64_t r = 0; r < 2 * GROUP_ROWS; r++) {
            assert_int_equal(batch_row_begin(batch, NULL), OK);
            batch_set_i64(batch, 0, i * 1000 + r);
            batch_set_i32(batch, 2, (int32_t)draw(&seed, 1000) - 500);
            batch_set_bool(batch, 3, true);
            assert_int_equal(batch_row_end(batch, NULL), OK);
        }
        add_input(fixture, &inputs, batch);
    }
    if (merge(fixture, &inputs, schema, "out/x", &merged, NULL, &err) != OK) {
        fail_msg("%s", err.text);
    }
    AUTO(batch_free_auto) struct batch *expected = naive_merge(&inputs, schema);
    AUTO(batch_free_auto) struct batch *found = read_partition(fixture->store, "out/x", schema);
    assert_batches_equal(expected, found);
    assert_int_equal(merged.columns[SCORE].null_count, 3 * 2 * GROUP_ROWS);
}

static void row_groups_that_are_not_half_full_come_together(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    AUTO(partition_facts_done) struct partition_facts merged = {0};
    uint64_t seed = 6;
    for (int64_t i = 0; i < 8; i++) {
        add_input(fixture, &inputs, stretch(schema, i * 1000, GROUP_ROWS / 4, 2, &seed));
    }
    assert_int_equal(merge(fixture, &inputs, schema, "out/x", &merged, NULL, NULL), OK);
    assert_int_equal(merged.row_count, 2 * GROUP_ROWS);
    assert_int_equal(row_groups_of(fixture, "out/x"), 2);
}

/* In the file of the input, which is then opened again: small files are read when they are opened. */
static void damage(struct store_fixture *fixture, struct partition_reader **reader)
{
    char path[128], name[32];
    (void)snprintf(name, sizeof name, "%s", partition_reader_path(*reader));
    (void)snprintf(path, sizeof path, "%s/%s", fixture->root, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(partition_reader_size_bytes(*reader) / 4), SEEK_SET), 0);
    assert_true(fputs("damage", file) >= 0);
    assert_int_equal(fclose(file), 0);
    partition_reader_free(TAKE(*reader));
    assert_int_equal(partition_reader_open(fixture->store, name, NULL, reader, NULL), OK);
}

static void a_damaged_page_is_not_carried_on(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    AUTO(partition_facts_done) struct partition_facts merged = {0};
    struct error err = {0};
    uint64_t seed = 6;
    int bad = 77;
    for (int64_t i = 0; i < 3; i++) {
        add_input(fixture, &inputs, stretch(schema, i * 10000, 4 * GROUP_ROWS, 20, &seed));
    }
    damage(fixture, &inputs.readers[1]);
    assert_int_equal(merge(fixture, &inputs, schema, "out/x", &merged, &bad, &err), ERR_CORRUPT);
    assert_int_equal(bad, 1);
    assert_non_null(strstr(err.text, partition_reader_path(inputs.readers[1])));
    assert_false(object_exists(fixture, "out/x"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(row_groups_of_inputs_that_lie_apart_are_copied_byte_for_byte),
        TEST(stretches_that_overlap_are_merged_and_the_rest_is_copied),
        TEST(columns_that_are_new_or_wider_are_encoded_and_the_others_copied),
        TEST(row_groups_that_are_not_half_full_come_together),
        TEST(a_damaged_page_is_not_carried_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
