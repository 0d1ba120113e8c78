/* Scans over a real catalog and a file store, with the rights of admin. */
#include "tests/integration/catalog/publish_world.h"

#include "common/scan/scan.h"

static void publish_rows(struct world *world, const struct batch *batch)
{
    AUTO(publish_close_auto) struct publish *publish = session(world, CLOCK_MINUTE_US);
    add_hundreds(world, publish, batch);
    EXPECT(OK, publish_write(publish, &world->err), &world->err);
    EXPECT(OK, commit_plain(world, publish), &world->err);
}

static bool row_matches(const struct batch *batch, uint32_t row, const struct scan_options *options)
{
    int64_t time = batch->columns[TS].values.i64[row];
    return time >= options->min_timestamp_us && time <= options->max_timestamp_us;
}

/* Rows of the scan, against the rows of the batch that are in range, match and come first. */
static void assert_scans(struct world *world, struct scan_options options, const struct batch *batch,
                         struct scan_counts *out_counts)
{
    AUTO(catalog_close_auto) struct catalog *admin = fixture_open_as("granary_admin");
    AUTO(scan_free_auto) struct scan *scan = NULL;
    AUTO(free_auto) uint8_t *selected = malloc(batch->row_count);
    const struct batch *part = NULL;
    uint32_t row = 0;
    uint64_t found = 0;
    memset(selected, 1, batch->row_count);
    if (options.predicate != NULL) {
        assert_int_equal(predicate_evaluate(options.predicate, batch, selected, NULL), OK);
    }
    options.catalog = admin;
    options.storages = world->storages;
    options.schema = world->schema;
    EXPECT(OK, scan_open(&options, &scan, &world->err), &world->err);
    const struct schema *schema = scan_schema(scan);
    for (;;) {
        EXPECT(OK, scan_next(scan, &part, &world->err), &world->err);
        if (part == NULL) {
            break;
        }
        assert_true(part->row_count > 0);
        assert_ptr_equal(part->schema, schema);
        for (uint32_t i = 0; i < part->row_count; i++, row++, found++) {
            while (!selected[row] || !row_matches(batch, row, &options)) {
                row++;
                assert_true(row < batch->row_count);
            }
            for (size_t c = 0; c < schema->column_count; c++) {
                size_t from = options.columns == NULL ? c : options.columns[c];
                assert_string_equal(schema->columns[c].name, world->schema->columns[from].name);
                assert_int_equal(column_is_null(&part->columns[c], i), column_is_null(&batch->columns[from], row));
                if (column_type_width(part->columns[c].type) == 8) {
                    assert_true(part->columns[c].values.i64[i] == batch->columns[from].values.i64[row]);
                }
            }
        }
    }
    bool stopped = options.limit != 0 && found == options.limit;
    for (; row < batch->row_count && !stopped; row++) {
        assert_false(selected[row] && row_matches(batch, row, &options));
    }
    assert_int_equal(scan_counts(scan).rows_returned, found);
    *out_counts = scan_counts(scan);
}

static void a_scan_returns_what_was_asked_for_and_reads_little_else(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, CLOCK_DAY_US, CLOCK_MINUTE_US, 3000);
    publish_rows(&world, batch);
    static const uint32_t columns[] = {SCORE, NAME};
    static const struct {
        int64_t min_minute, max_minute;
        const char *predicate;
        const uint32_t *columns;
        size_t column_count;
        uint64_t limit;
        size_t partitions, skipped;
    } cases[] = {
        {-100000, 100000, NULL, NULL, 0, 0, 30, 0},
        {150, 349, NULL, NULL, 0, 0, 3, 0},
        {150, 150, NULL, columns, 2, 0, 1, 0},
        {3000, 9000, NULL, NULL, 0, 0, 0, 0},
        {-100000, 100000, "score >= 2950", NULL, 0, 0, 30, 29},
        {-100000, 100000, "name = 'granary' and number > 0", columns, 2, 0, 30, 0},
        {0, 100000, "name is null or score < 10", columns, 1, 0, 30, 0},
        {-100000, 100000, NULL, columns, 2, 250, 30, 0},
        {120, 100000, "number = 1", NULL, 0, 7, 29, 0},
        {-100000, 100000, "number = 99", NULL, 0, 0, 30, 30},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(predicate_free_auto) struct predicate *predicate = NULL;
        struct scan_counts counts;
        if (cases[i].predicate != NULL) {
            EXPECT(
                OK,
                predicate_parse(cases[i].predicate, strlen(cases[i].predicate), world.schema, &predicate, &world.err),
                &world.err);
        }
        const struct scan_options options = {.min_timestamp_us = CLOCK_DAY_US + cases[i].min_minute * CLOCK_MINUTE_US,
                                             .max_timestamp_us = CLOCK_DAY_US + cases[i].max_minute * CLOCK_MINUTE_US,
                                             .columns = cases[i].columns,
                                             .column_count = cases[i].column_count,
                                             .predicate = predicate,
                                             .limit = cases[i].limit,
                                             .batch_rows = 64};
        assert_scans(&world, options, batch, &counts);
        assert_int_equal(counts.partitions, cases[i].partitions);
        assert_int_equal(counts.partitions_skipped, cases[i].skipped);
        assert_true(cases[i].limit == 0 || counts.rows_returned == cases[i].limit);
    }
}

static void an_object_that_is_gone_is_a_change_while_reading(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 300);
    AUTO(scan_free_auto) struct scan *scan = NULL;
    struct store_object *objects;
    size_t count;
    bool more;
    const struct batch *part = NULL;
    char id[UUID_TEXT_BYTES];
    publish_rows(&world, batch);
    const struct scan_options options = {.catalog = world.owner,
                                         .storages = world.storages,
                                         .schema = world.schema,
                                         .min_timestamp_us = INT64_MIN,
                                         .max_timestamp_us = INT64_MAX};
    EXPECT(OK, scan_open(&options, &scan, &world.err), &world.err);
    EXPECT(OK, scan_next(scan, &part, &world.err), &world.err);
    assert_int_equal(part->row_count, 100);
    EXPECT(OK,
           store_list(world.store->store, uuid_format(&world.table.table_id, id), "", 10, world.arena, &objects, &count,
                      &more, &world.err),
           &world.err);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        struct store_delete_result result;
        EXPECT(OK, store_delete(world.store->store, &objects[i].key, 1, &result, &world.err), &world.err);
    }
    EXPECT_TEXT(ERR_UNAVAILABLE, "changed while reading", scan_next(scan, &part, &world.err), &world.err);
}

static void columns_that_are_none_are_refused(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    static const uint32_t beyond[] = {TS, SMALL_COLUMNS};
    struct scan *scan = NULL;
    const struct scan_options options = {.catalog = world.owner,
                                         .storages = world.storages,
                                         .schema = world.schema,
                                         .columns = beyond,
                                         .column_count = COUNT(beyond)};
    struct scan_options none = options;
    none.column_count = 0;
    EXPECT_TEXT(ERR_INVALID, "below 4", scan_open(&options, &scan, &world.err), &world.err);
    EXPECT_TEXT(ERR_INVALID, "at least one", scan_open(&none, &scan, &world.err), &world.err);
    assert_null(scan);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(a_scan_returns_what_was_asked_for_and_reads_little_else),
        TEST(an_object_that_is_gone_is_a_change_while_reading),
        TEST(columns_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
