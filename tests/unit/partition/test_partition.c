#include "tests/unit/partition/fixture.h"

#include "common/digest/digest.h"

static struct schema *by_time(void)
{
    return small_schema(&(struct sort_key){.column = TS}, 1);
}

static struct batch *many_rows(const struct schema *schema, uint32_t rows)
{
    struct batch *batch = NULL;
    uint64_t seed = 7;
    assert_int_equal(batch_new(schema, rows, &batch, NULL), OK);
    for (uint32_t i = 0; i < rows; i++) {
        append_row(batch, 1000 + i / 3, i, &seed);
    }
    return batch;
}

static void what_is_written_is_measured_and_read_back(void **state)
{
    struct store_fixture *fixture = *state;
    static const uint32_t sizes[] = {1, 10, 5000, 300000}; /* in the tail, and beyond it; several row groups */
    AUTO(schema_free_auto) struct schema *schema = by_time();
    for (size_t i = 0; i < COUNT(sizes); i++) {
        AUTO(batch_free_auto) struct batch *batch = many_rows(schema, sizes[i]);
        AUTO(partition_facts_done) struct partition_facts facts = {0};
        char path[64];
        (void)snprintf(path, sizeof path, "t/2026-01-01/p%zu.parquet", i);
        write_partition(fixture->store, path, batch, &facts);

        AUTO(batch_free_auto) struct batch *back = read_partition(fixture->store, path, schema);
        assert_batches_equal(batch, back);
        struct store_object object;
        assert_int_equal(store_head(fixture->store, path, fixture->arena, &object, NULL), OK);
        assert_int_equal(facts.data_bytes, object.size_bytes);
        assert_int_equal(facts.row_count, sizes[i]);
        assert_int_equal(facts.min_timestamp_us, 1000);
        assert_int_equal(facts.max_timestamp_us, 1000 + (sizes[i] - 1) / 3);
        assert_true(facts.memory_bytes >= sizes[i] * 16U);
        assert_int_equal(facts.column_count, SMALL_COLUMNS);
        assert_int_equal(facts.columns[NAME].null_count, batch->columns[NAME].null_count);
        uint8_t sha256[32];
        AUTO(free_auto) uint8_t *bytes = malloc(object.size_bytes);
        assert_int_equal(store_get(fixture->store, path, 0, object.size_bytes, bytes, NULL), OK);
        digest_sha256(bytes, object.size_bytes, sha256);
        assert_memory_equal(facts.sha256, sha256, sizeof sha256);
    }
}

static void the_footer_says_whose_rows_they_are(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = by_time();
    AUTO(batch_free_auto) struct batch *batch = many_rows(schema, 3);
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    AUTO(partition_reader_free_auto) struct partition_reader *reader = NULL;
    AUTO(partition_facts_done) struct partition_facts facts = {0};
    const struct uuid id = uuid_v7();
    const struct partition_writer_options options = {.path = "t/p", .partition_id = id, .deadline_us = soon_us()};
    char text[UUID_TEXT_BYTES];
    assert_int_equal(partition_writer_open(fixture->store, schema, &options, &writer, NULL), OK);
    assert_int_equal(partition_writer_append(writer, batch, 1, 2, NULL), OK);
    assert_int_equal(partition_writer_finish(writer, &facts, NULL), OK);
    assert_int_equal(facts.row_count, 2);
    assert_int_equal(partition_reader_open(fixture->store, "t/p", NULL, &reader, NULL), OK);
    struct parquet_reader *file = partition_reader_file(reader);
    assert_string_equal(parquet_reader_key_value(file, "granary.partition_id"), uuid_format(&id, text));
    assert_string_equal(parquet_reader_key_value(file, "granary.table_id"), uuid_format(&small_table_id, text));
    assert_string_equal(parquet_reader_key_value(file, "granary.schema_version"), "2");
}

static void a_partition_that_is_not_finished_is_not_there(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = by_time();
    AUTO(batch_free_auto) struct batch *batch = many_rows(schema, 1000);
    struct partition_writer *writer = NULL;
    const struct partition_writer_options options = {.path = "t/d/p", .deadline_us = soon_us()};
    assert_int_equal(partition_writer_open(fixture->store, schema, &options, &writer, NULL), OK);
    assert_int_equal(partition_writer_append(writer, batch, 0, 1000, NULL), OK);
    partition_writer_free(TAKE(writer));
    assert_int_equal(entries_on_disk(fixture), 2);
    partition_writer_free(NULL);
}

static void the_deadline_that_counts_is_the_last_one_set(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = by_time();
    AUTO(batch_free_auto) struct batch *batch = many_rows(schema, 3);
    const struct {
        int64_t first_us, then_us;
        enum err_code code;
    } cases[] = {{1, soon_us(), OK}, {soon_us(), 1, ERR_TIMEOUT}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
        AUTO(partition_facts_done) struct partition_facts facts = {0};
        char path[16];
        (void)snprintf(path, sizeof path, "t/p%zu", i);
        const struct partition_writer_options options = {.path = path, .deadline_us = cases[i].first_us};
        assert_int_equal(partition_writer_open(fixture->store, schema, &options, &writer, NULL), OK);
        assert_int_equal(partition_writer_append(writer, batch, 0, 3, NULL), OK);
        partition_writer_set_deadline(writer, cases[i].then_us);
        assert_int_equal(partition_writer_finish(writer, &facts, NULL), cases[i].code);
        assert_int_equal(object_exists(fixture, path), cases[i].code == OK);
        assert_int_equal(facts.row_count, cases[i].code == OK ? 3 : 0);
    }
}

static void rows_out_of_order_and_no_rows_are_refused(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = by_time();
    AUTO(batch_free_auto) struct batch *batch = NULL;
    uint64_t seed = 1;
    assert_int_equal(batch_new(schema, 2, &batch, NULL), OK);
    append_row(batch, 5, 0, &seed);
    append_row(batch, 4, 0, &seed);
    for (uint32_t rows = 0; rows <= 2; rows += 2) {
        AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
        AUTO(partition_facts_done) struct partition_facts facts = {0};
        const struct partition_writer_options options = {.path = "t/p", .deadline_us = soon_us()};
        assert_int_equal(partition_writer_open(fixture->store, schema, &options, &writer, NULL), OK);
        enum err_code code = rows == 0 ? OK : partition_writer_append(writer, batch, 0, rows, NULL);
        assert_int_equal(code == OK ? partition_writer_finish(writer, &facts, NULL) : code, ERR_INVALID);
    }
    assert_false(object_exists(fixture, "t/p"));
}

static void a_full_disk_is_told_from_the_writer(void **state)
{
#ifdef GRANARY_FAULTS
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = by_time();
    AUTO(batch_free_auto) struct batch *batch = many_rows(schema, 3);
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    AUTO(partition_facts_done) struct partition_facts facts = {0};
    struct error err = {0};
    const struct partition_writer_options options = {.path = "t/p", .deadline_us = soon_us()};
    assert_int_equal(partition_writer_open(fixture->store, schema, &options, &writer, NULL), OK);
    assert_int_equal(partition_writer_append(writer, batch, 0, 3, NULL), OK);
    assert_int_equal(setenv("GRANARY_FAULT", "store.disk_full=fail", 1), 0);
    assert_int_equal(partition_writer_finish(writer, &facts, &err), ERR_UNAVAILABLE);
    assert_int_equal(unsetenv("GRANARY_FAULT"), 0);
    assert_non_null(strstr(err.text, "No space left"));
    assert_int_equal(facts.row_count, 0);
    assert_null(facts.columns);
#else
    (void)state;
    skip();
#endif
}

static void what_is_no_partition_is_named(void **state)
{
    struct store_fixture *fixture = *state;
    AUTO(schema_free_auto) struct schema *schema = by_time();
    AUTO(batch_free_auto) struct batch *batch = many_rows(schema, 3);
    AUTO(partition_facts_done) struct partition_facts facts = {0};
    write_partition(fixture->store, "t/good", batch, &facts);
    assert_int_equal(put_text(fixture->store, "t/empty", "", NULL), OK);
    assert_int_equal(put_text(fixture->store, "t/garbage", "this is no Parquet file at all", NULL), OK);
    const struct {
        const char *path;
        uint64_t size_bytes;
        enum err_code code;
    } cases[] = {
        {"t/absent", 0, ERR_NOT_FOUND},
        {"t/absent", 100, ERR_NOT_FOUND},
        {"t/empty", 0, ERR_CORRUPT},
        {"t/garbage", 0, ERR_CORRUPT},
        {"t/good", facts.data_bytes + 1, ERR_CORRUPT},
        {"t/good", facts.data_bytes - 1, ERR_CORRUPT},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct partition_reader *reader = NULL;
        struct error err = {0};
        const struct partition_reader_options options = {.size_bytes = cases[i].size_bytes};
        assert_int_equal(partition_reader_open(fixture->store, cases[i].path, &options, &reader, &err), cases[i].code);
        assert_non_null(strstr(err.text, cases[i].path));
        assert_null(reader);
    }
}

static void small_windows_read_the_same_rows(void **state)
{
    struct store_fixture *fixture = *state;
    static const size_t windows[] = {1, 4096, 10000, 1 << 20};
    AUTO(schema_free_auto) struct schema *schema = by_time();
    AUTO(batch_free_auto) struct batch *batch = many_rows(schema, 200000);
    write_partition(fixture->store, "t/p", batch, NULL);
    for (size_t w = 0; w < COUNT(windows); w++) {
        AUTO(partition_reader_free_auto) struct partition_reader *reader = NULL;
        AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
        AUTO(batch_free_auto) struct batch *all = NULL;
        const struct batch *part = NULL;
        const struct partition_reader_options options = {.window_bytes = windows[w]};
        const struct parquet_cursor_options rows = {.batch_rows = 777};
        assert_int_equal(partition_reader_open(fixture->store, "t/p", &options, &reader, NULL), OK);
        assert_int_equal(parquet_cursor_open(partition_reader_file(reader), &rows, &cursor, NULL), OK);
        assert_int_equal(batch_new(schema, 200000, &all, NULL), OK);
        do {
            assert_int_equal(parquet_cursor_next(cursor, &part, NULL), OK);
            if (part != NULL) {
                assert_int_equal(batch_append_range(all, part, 0, part->row_count, NULL), OK);
            }
        } while (part != NULL);
        assert_batches_equal(batch, all);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_measured_and_read_back),
        TEST(the_footer_says_whose_rows_they_are),
        TEST(a_partition_that_is_not_finished_is_not_there),
        TEST(the_deadline_that_counts_is_the_last_one_set),
        TEST(rows_out_of_order_and_no_rows_are_refused),
        TEST(a_full_disk_is_told_from_the_writer),
        TEST(what_is_no_partition_is_named),
        TEST(small_windows_read_the_same_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
