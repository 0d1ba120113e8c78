/* Publish sessions and scans over a real catalog and a file store. Sessions run with the rights of intake, scans with those
 * of admin. */
#include "tests/integration/catalog/fixture.h"
#include "tests/unit/partition/fixture.h"

#include <pthread.h>

#include "common/publish/bucket.h"
#include "common/publish/publish.h"
#include "common/scan/scan.h"

struct world {
    struct store_fixture *store;
    struct catalog *intake, *owner;
    struct arena *arena;
    struct fixture_table table;
    struct schema *schema;
    struct error err;
};

static void world_done(struct world *world)
{
    catalog_close(world->intake);
    catalog_close(world->owner);
    arena_free(world->arena);
    schema_free(world->schema);
}

static struct world world_open(void **state)
{
    static int made;
    char name[24];
    (void)snprintf(name, sizeof name, "published%d", ++made);
    struct world world = {.store = *state,
                          .intake = fixture_open_as("granary_intake"),
                          .owner = fixture_open(),
                          .arena = arena_new(0),
                          .table = {.name = name}};
    fixture_create_table(world.owner, &world.table);
    world.table.name = NULL;
    world.schema = small_schema(&(struct sort_key){.column = TS}, 1);
    world.schema->table_id = world.table.table_id;
    return world;
}

/* Rows at start, start + step, ... */
static struct batch *rows_from(const struct world *world, int64_t start_us, int64_t step_us, uint32_t count)
{
    struct batch *batch = NULL;
    uint64_t seed = (uint64_t)start_us;
    assert_int_equal(batch_new(world->schema, count, &batch, NULL), OK);
    for (uint32_t i = 0; i < count; i++) {
        append_row(batch, start_us + i * step_us, (double)i, &seed);
    }
    return batch;
}

static struct publish *session(struct world *world, int64_t lease_us)
{
    struct publish *publish = NULL;
    const struct publish_options options = {.catalog = world->intake,
                                            .store = world->store->store,
                                            .owner = "writer",
                                            .reason = "test",
                                            .origin = ORIGIN_INTAKE,
                                            .lease_us = lease_us,
                                            .threads = 3};
    EXPECT(OK, publish_open(&options, &publish, &world->err), &world->err);
    return publish;
}

/* One partition for each hundred rows. */
static void add_hundreds(struct world *world, struct publish *publish, const struct batch *batch)
{
    for (uint32_t first = 0; first < batch->row_count; first += 100) {
        uint32_t count = batch->row_count - first < 100 ? batch->row_count - first : 100;
        const struct publish_piece piece = {
            .schema = world->schema, .batch = batch, .first = first, .count = count};
        EXPECT(OK, publish_add(publish, &piece, &world->err), &world->err);
    }
}

static int64_t count_where(struct world *world, const char *condition)
{
    char sql[400];
    char id[UUID_TEXT_BYTES];
    (void)snprintf(sql, sizeof sql, "select count(*) from granary.partitions where table_id = '%s' and %s",
                   uuid_format(&world->table.table_id, id), condition);
    return fixture_number(world->owner, sql);
}

static enum err_code commit(struct world *world, struct publish *publish, const struct catalog_batch *batches,
                            size_t count, struct uuid **known, size_t *known_count)
{
    world->err = (struct error){0};
    return publish_commit(publish, batches, count, world->arena, known, known_count, &world->err);
}

static enum err_code commit_plain(struct world *world, struct publish *publish)
{
    struct uuid *known = NULL;
    size_t known_count = 9;
    enum err_code code = commit(world, publish, NULL, 0, &known, &known_count);
    assert_int_equal(known_count, 0);
    return code;
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

static void partitions_appear_together_with_their_measurements(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 5 * CLOCK_DAY_US, 1000, 1000);
    add_hundreds(&world, publish, batch);
    assert_int_equal(count_where(&world, "true"), 0);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    assert_int_equal(count_where(&world, "not active and lock_kind = 'write' and sha256 is null"), 10);
    assert_int_equal(publish_totals(publish).partitions, 10);
    assert_int_equal(publish_totals(publish).rows, 1000);
    EXPECT(OK, publish_write(publish, &world.err), &world.err); /* nothing is left to write */
    EXPECT(OK, commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active and lock_id is null and row_count = 100 and length(sha256) = 32"), 10);
    assert_int_equal(fixture_number(world.owner, "select count(*) from granary.locks where owner = 'writer'"), 0);
    EXPECT_TEXT(ERR_INVALID, "over", publish_write(publish, &world.err), &world.err);
    publish_close(TAKE(publish));
    assert_int_equal(count_where(&world, "active"), 10);
}

static void what_a_session_does_not_commit_is_given_up_when_it_closes(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 300);
    add_hundreds(&world, publish, batch);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    publish_close(TAKE(publish));
    assert_int_equal(count_where(&world, "not active and lock_id is null and deactivation_reason = 'abandoned'"), 3);
}

static void a_load_writes_many_times_and_appears_at_once(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    for (int i = 0; i < 4; i++) {
        AUTO(batch_free_auto) struct batch *batch = rows_from(&world, i * CLOCK_DAY_US, 1000, 250);
        add_hundreds(&world, publish, batch);
        EXPECT(OK, publish_write(publish, &world.err), &world.err);
        EXPECT(OK, publish_keep(publish, &world.err), &world.err);
        assert_int_equal(count_where(&world, "active"), 0);
    }
    assert_int_equal(fixture_number(world.owner, "select count(*) from granary.locks where owner = 'writer'"), 1);
    EXPECT(OK, commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active"), 12);
}

static void pieces_that_were_not_written_are_not_committed(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    add_hundreds(&world, publish, batch);
    struct uuid *known;
    size_t known_count;
    assert_int_equal(commit(&world, publish, NULL, 0, &known, &known_count), ERR_INVALID);
    assert_int_equal(count_where(&world, "true"), 0);
}

static void a_batch_that_was_committed_before_is_named(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    struct catalog_batch batches[] = {
        {.batch_id = uuid_v7(), .table_id = world.table.table_id, .row_count = 60},
        {.batch_id = uuid_v7(), .table_id = world.table.table_id, .row_count = 40},
    };
    struct uuid *known = NULL;
    size_t known_count = 9;
    for (size_t commits = 0; commits < 2; commits++) {
        struct publish *publish = session(&world, CLOCK_MINUTE_US);
        add_hundreds(&world, publish, batch);
        EXPECT(OK, publish_write(publish, &world.err), &world.err);
        EXPECT(commits == 0 ? OK : ERR_CONFLICT,
               commit(&world, publish, batches, 1 + commits, &known, &known_count), &world.err);
        assert_int_equal(known_count, commits);
        publish_close(TAKE(publish));
    }
    assert_true(uuid_equal(&known[0], &batches[0].batch_id));
    assert_int_equal(count_where(&world, "active"), 1);
    assert_int_equal(count_where(&world, "deactivation_reason = 'abandoned'"), 1);

    AUTO(publish_close_auto) struct publish *empty = session(&world, CLOCK_MINUTE_US);
    EXPECT(OK, commit(&world, empty, &batches[1], 1, &known, &known_count), &world.err);
    assert_int_equal(count_where(&world, "active"), 1);
}

static void a_lost_answer_of_the_commit_is_looked_up(void **state)
{
#ifdef GRANARY_FAULTS
    static const char *const faults[] = {"catalog.commit_lost=fail", "catalog.commit_never_sent=fail"};
    AUTO(world_done) struct world world = world_open(state);
    for (size_t i = 0; i < COUNT(faults); i++) {
        struct publish *publish = session(&world, CLOCK_MINUTE_US);
        AUTO(batch_free_auto) struct batch *batch = rows_from(&world, (int64_t)i * CLOCK_DAY_US, 1000, 200);
        const struct catalog_batch filed = {.batch_id = uuid_v7(), .table_id = world.table.table_id, .row_count = 200};
        struct uuid *known;
        size_t known_count;
        char rules[120] = "";
        for (size_t skipped = 0; skipped < i; skipped++) {
            strcat(rules, "none=fail,"); /* each rule counts its hits by its place */
        }
        strcat(rules, faults[i]);
        add_hundreds(&world, publish, batch);
        EXPECT(OK, publish_write(publish, &world.err), &world.err);
        fixture_fault(rules);
        EXPECT(OK, commit(&world, publish, &filed, 1, &known, &known_count), &world.err);
        fixture_fault(NULL);
        publish_close(TAKE(publish));
        assert_int_equal(count_where(&world, "active"), 2 * ((int64_t)i + 1));
        assert_int_equal(count_where(&world, "not active"), 0);
    }
#else
    (void)state;
    skip();
#endif
}

static void a_lease_that_ran_out_commits_nothing(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 200);
    add_hundreds(&world, publish, batch);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    fixture_sql(world.owner, "update granary.locks set expires_at = clock_timestamp() where owner = 'writer'");
    EXPECT_TEXT(ERR_CONFLICT, "run out", commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active"), 0);
}

static void a_table_that_was_dropped_takes_nothing_more(void **state)
{
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    add_hundreds(&world, publish, batch);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    EXPECT(OK, catalog_table_drop(world.owner, &world.table.table_id, "test", &world.err), &world.err);
    EXPECT(ERR_NOT_FOUND, commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active"), 0);
}

static void a_full_disk_fails_the_session_and_leaves_nothing_live(void **state)
{
#ifdef GRANARY_FAULTS
    AUTO(world_done) struct world world = world_open(state);
    struct publish *publish = session(&world, CLOCK_MINUTE_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 500);
    add_hundreds(&world, publish, batch);
    fixture_fault("none=fail,none=fail,store.disk_full=fail");
    EXPECT_TEXT(ERR_UNAVAILABLE, "No space left", publish_write(publish, &world.err), &world.err);
    fixture_fault(NULL);
    EXPECT(ERR_INVALID, publish_keep(publish, &world.err), &world.err);
    publish_close(TAKE(publish));
    assert_int_equal(count_where(&world, "deactivation_reason = 'abandoned'"), 5);
#else
    (void)state;
    skip();
#endif
}

/* --- leases ------------------------------------------------------------------------------------------------------- */

struct watcher {
    const char *hold; /* the writer is held while this file is there */
    int64_t renewed;
};

/* Lets the writer go on once its lock has been renewed. */
static void *watch_lease(void *argument)
{
    struct watcher *watcher = argument;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open();
    int64_t until_us = clock_monotonic_us() + 20 * CLOCK_SECOND_US;
    while (watcher->renewed == 0 && clock_monotonic_us() < until_us) {
        watcher->renewed = fixture_number(catalog, "select count(*) from granary.locks where owner = 'writer' and"
                                                   " expires_at > acquired_at + interval '2100 milliseconds'");
    }
    (void)unlink(watcher->hold);
    return NULL;
}

static void a_slow_write_keeps_its_lease(void **state)
{
#ifdef GRANARY_FAULTS
    AUTO(world_done) struct world world = world_open(state);
    AUTO(publish_close_auto) struct publish *publish = session(&world, 2 * CLOCK_SECOND_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    char hold[128];
    char fault[240];
    pthread_t thread;
    (void)snprintf(hold, sizeof hold, "%s/hold", world.store->root);
    (void)snprintf(fault, sizeof fault, "none=fail,none=fail,none=fail,publish.mid_write=hold:%s", hold);
    struct watcher watcher = {.hold = hold};
    add_hundreds(&world, publish, batch);
    fixture_fault(fault);
    assert_int_equal(pthread_create(&thread, NULL, watch_lease, &watcher), 0);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_fault(NULL);
    assert_int_equal(watcher.renewed, 1);
    EXPECT(OK, commit_plain(&world, publish), &world.err);
    assert_int_equal(count_where(&world, "active"), 1);
#else
    (void)state;
    skip();
#endif
}

static void a_lease_that_was_taken_away_ends_the_write(void **state)
{
#ifdef GRANARY_FAULTS
    AUTO(world_done) struct world world = world_open(state);
    struct publish *publish = session(&world, CLOCK_SECOND_US);
    AUTO(batch_free_auto) struct batch *batch = rows_from(&world, 0, 1000, 100);
    add_hundreds(&world, publish, batch);
    EXPECT(OK, publish_write(publish, &world.err), &world.err);
    fixture_sql(world.owner, "update granary.locks set expires_at = clock_timestamp() where owner = 'writer'");
    add_hundreds(&world, publish, batch);
    EXPECT(ERR_CONFLICT, publish_write(publish, &world.err), &world.err);
    publish_close(TAKE(publish));
    assert_int_equal(count_where(&world, "active"), 0);
#else
    (void)state;
    skip();
#endif
}

/* --- scans -------------------------------------------------------------------------------------------------------- */

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
    options.store = world->store->store;
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
            EXPECT(OK,
                   predicate_parse(cases[i].predicate, strlen(cases[i].predicate), world.schema, &predicate, &world.err),
                   &world.err);
        }
        const struct scan_options options = {
            .min_timestamp_us = CLOCK_DAY_US + cases[i].min_minute * CLOCK_MINUTE_US,
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
                                         .store = world.store->store,
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
                                         .store = world.store->store,
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
        TEST(partitions_appear_together_with_their_measurements),
        TEST(what_a_session_does_not_commit_is_given_up_when_it_closes),
        TEST(a_load_writes_many_times_and_appears_at_once),
        TEST(pieces_that_were_not_written_are_not_committed),
        TEST(a_batch_that_was_committed_before_is_named),
        TEST(a_lost_answer_of_the_commit_is_looked_up),
        TEST(a_lease_that_ran_out_commits_nothing),
        TEST(a_table_that_was_dropped_takes_nothing_more),
        TEST(a_full_disk_fails_the_session_and_leaves_nothing_live),
        TEST(a_slow_write_keeps_its_lease),
        TEST(a_lease_that_was_taken_away_ends_the_write),
        TEST(a_scan_returns_what_was_asked_for_and_reads_little_else),
        TEST(an_object_that_is_gone_is_a_change_while_reading),
        TEST(columns_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
