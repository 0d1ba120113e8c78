#include "tests/unit/partition/fixture.h"

#include "common/partition/merge.h"

enum { MAX_INPUTS = 110 };

struct inputs {
    struct batch *batches[MAX_INPUTS];
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

/* Takes over the rows, in any order. */
static void add_input(struct store_fixture *fixture, struct inputs *inputs, struct batch *batch_take)
{
    static int number;
    char path[32];
    struct error err = {0};
    AUTO(batch_free_auto) struct batch *batch = batch_take;
    (void)snprintf(path, sizeof path, "in/%d", number++);
    inputs->batches[inputs->count] = sorted_copy(batch);
    write_partition(fixture->store, path, inputs->batches[inputs->count], NULL);
    if (partition_reader_open(fixture->store, path, NULL, &inputs->readers[inputs->count], &err) != OK) {
        fail_msg("%s", err.text);
    }
    inputs->count++;
}

static enum err_code merge(struct store_fixture *fixture, const struct partition_merge_options *options,
                           const char *path, int *out_bad, struct error *err)
{
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    AUTO(partition_facts_done) struct partition_facts facts = {0};
    const struct partition_writer_options to = {.path = path, .deadline_us = soon_us()};
    TRY(partition_writer_open(fixture->store, options->schema, &to, &writer, err));
    TRY(partition_merge(options, writer, out_bad, err));
    return partition_writer_finish(writer, &facts, err);
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

static void assert_merges_like_a_sort(struct store_fixture *fixture, const struct inputs *inputs,
                                      const struct schema *schema, uint32_t batch_rows)
{
    static int number;
    char path[32];
    struct error err = {0};
    const struct partition_merge_options options = {
        .schema = schema, .inputs = inputs->readers, .input_count = inputs->count, .batch_rows = batch_rows};
    (void)snprintf(path, sizeof path, "out/%d", number++);
    if (merge(fixture, &options, path, NULL, &err) != OK) {
        fail_msg("%s", err.text);
    }
    AUTO(batch_free_auto) struct batch *merged = read_partition(fixture->store, path, schema);
    AUTO(batch_free_auto) struct batch *expected = naive_merge(inputs, schema);
    assert_batches_equal(expected, merged);
}

/* --- the property ------------------------------------------------------------------------------------------------- */

static void any_inputs_merge_like_a_stable_sort_of_all_rows(void **state)
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
        {{{NUMBER, true}, {NAME, true}}, 2},
        {{{NUMBER, false}}, 1},
    };
    static const size_t counts[] = {1, 2, 3, 5, 8, 20};
    uint64_t seed = 42;
    for (size_t o = 0; o < COUNT(orders); o++) {
        AUTO(schema_free_auto) struct schema *schema = small_schema(orders[o].keys, orders[o].key_count);
        for (size_t c = 0; c < COUNT(counts); c++) {
            AUTO(inputs_done) struct inputs inputs = {0};
            uint32_t range = 1 + draw(&seed, 400); /* few: many ties */
            for (size_t i = 0; i < counts[c]; i++) {
                struct batch *batch = NULL;
                uint32_t rows = 1 + draw(&seed, 300);
                int64_t start = draw(&seed, 2) == 0 ? 0 : draw(&seed, 1000); /* ahead of others, or among them */
                assert_int_equal(batch_new(schema, rows, &batch, NULL), OK);
                for (uint32_t r = 0; r < rows; r++) {
                    append_row(batch, start + draw(&seed, range), (double)(i * 1000 + r), &seed);
                }
                add_input(fixture, &inputs, batch);
            }
            assert_merges_like_a_sort(fixture, &inputs, schema, 1 + draw(&seed, 100));
        }
    }
}

static void inputs_apart_and_inputs_with_extreme_times_merge(void **state)
{
    struct store_fixture *fixture = *state;
    static const int64_t starts[] = {INT64_MAX - 99, 5000, INT64_MIN, 0, 5050, 100};
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    uint64_t seed = 3;
    for (size_t i = 0; i < COUNT(starts); i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(schema, 100, &batch, NULL), OK);
        for (int64_t r = 0; r < 100; r++) {
            append_row(batch, starts[i] + r, (double)r, &seed);
        }
        add_input(fixture, &inputs, batch);
    }
    assert_merges_like_a_sort(fixture, &inputs, schema, 0);
    assert_merges_like_a_sort(fixture, &inputs, schema, 7);
}

static void a_hundred_inputs_and_many_rows_merge(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    uint64_t seed = 9;
    for (size_t i = 0; i < 100; i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(schema, 300, &batch, NULL), OK);
        for (int64_t r = 0; r < 300; r++) {
            append_row(batch, r * 100 + draw(&seed, 100), (double)i, &seed);
        }
        add_input(fixture, &inputs, batch);
    }
    assert_merges_like_a_sort(fixture, &inputs, schema, 0);
}

/* --- schemas ------------------------------------------------------------------------------------------------------ */

static void older_schemas_are_read_under_the_newest(void **state)
{
    struct store_fixture *fixture = *state;
    static const struct schema_column old_columns[] = {
        {.id = 3, .name = "old_number", .type = COLUMN_INT32, .nullable = true},
        {.id = 1, .name = "time", .type = COLUMN_TIMESTAMP},
    };
    const struct schema old = {.table_id = small_table_id,
                               .version = 1,
                               .column_count = 2,
                               .columns = old_columns,
                               .timestamp_column = 1,
                               .sort_key_count = 1,
                               .sort_keys = {{.column = 1}}};
    AUTO(schema_free_auto) struct schema *old_schema = NULL;
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    uint64_t seed = 4;
    assert_int_equal(schema_new(&old, &old_schema, NULL), OK);
    for (size_t i = 0; i < 4; i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(i % 2 == 0 ? old_schema : schema, 0, &batch, NULL), OK);
        for (int64_t r = 0; r < 50; r++) {
            if (i % 2 == 1) {
                append_row(batch, r * 7, (double)r, &seed);
                continue;
            }
            assert_int_equal(batch_row_begin(batch, NULL), OK);
            batch_set_i64(batch, 1, r * 5);
            if (r % 3 != 0) {
                batch_set_i32(batch, 0, (int32_t)r - 20);
            }
            assert_int_equal(batch_row_end(batch, NULL), OK);
        }
        add_input(fixture, &inputs, batch);
    }
    assert_merges_like_a_sort(fixture, &inputs, schema, 11);
}

static void an_input_that_cannot_be_read_so_is_named(void **state)
{
    struct store_fixture *fixture = *state;
    struct schema_column columns[SMALL_COLUMNS];
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(schema_free_auto) struct schema *other = NULL;
    AUTO(inputs_done) struct inputs inputs = {0};
    uint64_t seed = 4;
    memcpy(columns, small_columns, sizeof columns);
    columns[NUMBER].type = COLUMN_BOOL;
    struct schema changed = *schema;
    changed.columns = columns;
    changed.index = NULL;
    assert_int_equal(schema_new(&changed, &other, NULL), OK);
    for (size_t i = 0; i < 2; i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(schema, 1, &batch, NULL), OK);
        append_row(batch, 1, 1, &seed);
        add_input(fixture, &inputs, batch);
    }
    struct batch *wrong = NULL;
    assert_int_equal(batch_new(other, 1, &wrong, NULL), OK);
    assert_int_equal(batch_row_begin(wrong, NULL), OK);
    batch_set_i64(wrong, TS, 1);
    assert_int_equal(batch_row_end(wrong, NULL), OK);
    add_input(fixture, &inputs, wrong);

    struct error err = {0};
    int bad = 77;
    const struct partition_merge_options options = {
        .schema = schema, .inputs = inputs.readers, .input_count = inputs.count};
    assert_int_equal(merge(fixture, &options, "out/x", &bad, &err), ERR_INVALID);
    assert_int_equal(bad, 2);
    assert_non_null(strstr(err.text, "number"));
    assert_non_null(strstr(err.text, partition_reader_path(inputs.readers[2])));
    assert_false(object_exists(fixture, "out/x"));
}

static void an_input_sorted_otherwise_is_named(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *up = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(schema_free_auto) struct schema *down = small_schema(&(struct sort_key){.column = TS, .descending = true}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    uint64_t seed = 4;
    for (size_t i = 0; i < 2; i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(i == 0 ? up : down, 0, &batch, NULL), OK);
        for (int64_t r = 0; r < 10; r++) {
            append_row(batch, r, 1, &seed);
        }
        add_input(fixture, &inputs, batch);
    }
    for (uint32_t rows = 1; rows <= 20; rows += 19) { /* within a batch, and from batch to batch */
        struct error err = {0};
        int bad = 77;
        const struct partition_merge_options options = {
            .schema = up, .inputs = inputs.readers, .input_count = 2, .batch_rows = rows};
        assert_int_equal(merge(fixture, &options, "out/x", &bad, &err), ERR_INVALID);
        assert_int_equal(bad, 1);
        assert_non_null(strstr(err.text, "sorted by \"ts\""));
    }
}

/* --- progress and faults ------------------------------------------------------------------------------------------ */

struct progress {
    uint64_t rows, stop_at;
};

static enum err_code note_progress(void *context, uint64_t rows_done, struct error *err)
{
    struct progress *progress = context;
    assert_true(rows_done > progress->rows);
    progress->rows = rows_done;
    return rows_done >= progress->stop_at ? err_set(err, ERR_STOPPED, "told to stop") : OK;
}

static void progress_is_told_and_can_stop_the_merge(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    uint64_t seed = 4;
    for (size_t i = 0; i < 2; i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(schema, 0, &batch, NULL), OK);
        for (int64_t r = 0; r < 20000; r++) {
            append_row(batch, r, 1, &seed);
        }
        add_input(fixture, &inputs, batch);
    }
    struct progress progress = {.stop_at = UINT64_MAX};
    struct partition_merge_options options = {
        .schema = schema, .inputs = inputs.readers, .input_count = 2, .progress = note_progress, .context = &progress};
    assert_int_equal(merge(fixture, &options, "out/x", NULL, NULL), OK);
    assert_int_equal(progress.rows, 40000);

    struct error err = {0};
    int bad = 77;
    progress = (struct progress){.stop_at = 10000};
    assert_int_equal(merge(fixture, &options, "out/y", &bad, &err), ERR_STOPPED);
    assert_int_equal(bad, PARTITION_MERGE_NO_INPUT);
    assert_string_equal(err.text, "told to stop");
    assert_in_range(progress.rows, 10000, 20000);
    assert_false(object_exists(fixture, "out/y"));
}

static void a_damaged_input_is_named(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    uint64_t seed = 4;
    for (size_t i = 0; i < 3; i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(schema, 0, &batch, NULL), OK);
        for (int64_t r = 0; r < 50000; r++) {
            append_row(batch, r, (double)draw(&seed, INT32_MAX) / 3, &seed);
        }
        add_input(fixture, &inputs, batch);
    }
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", fixture->root, partition_reader_path(inputs.readers[1]));
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(partition_reader_size_bytes(inputs.readers[1]) / 2), SEEK_SET), 0);
    assert_int_equal(fputs("damage", file) >= 0, 1);
    assert_int_equal(fclose(file), 0);

    struct error err = {0};
    int bad = 77;
    const struct partition_merge_options options = {.schema = schema, .inputs = inputs.readers, .input_count = 3};
    assert_int_equal(merge(fixture, &options, "out/x", &bad, &err), ERR_CORRUPT);
    assert_int_equal(bad, 1);
    assert_non_null(strstr(err.text, partition_reader_path(inputs.readers[1])));
}

static void equal_inputs_give_equal_bytes(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = small_schema(&(struct sort_key){.column = TS}, 1);
    AUTO(inputs_done) struct inputs inputs = {0};
    uint64_t seed = 4;
    for (size_t i = 0; i < 3; i++) {
        struct batch *batch = NULL;
        assert_int_equal(batch_new(schema, 0, &batch, NULL), OK);
        for (int64_t r = 0; r < 20000; r++) {
            append_row(batch, draw(&seed, 10000), (double)r, &seed);
        }
        add_input(fixture, &inputs, batch);
    }
    struct partition_merge_options options = {.schema = schema, .inputs = inputs.readers, .input_count = 3};
    assert_int_equal(merge(fixture, &options, "out/x", NULL, NULL), OK);
    options.batch_rows = 100;
    assert_int_equal(merge(fixture, &options, "out/x", NULL, NULL), OK); /* a conflict if a byte differed */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(any_inputs_merge_like_a_stable_sort_of_all_rows),
        TEST(inputs_apart_and_inputs_with_extreme_times_merge),
        TEST(a_hundred_inputs_and_many_rows_merge),
        TEST(older_schemas_are_read_under_the_newest),
        TEST(an_input_that_cannot_be_read_so_is_named),
        TEST(an_input_sorted_otherwise_is_named),
        TEST(progress_is_told_and_can_stop_the_merge),
        TEST(a_damaged_input_is_named),
        TEST(equal_inputs_give_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
