/* Partitions made and read without intake and admin, by the same calls that those use.
 *
 *   seed_live                              checks itself
 *   seed_live make TABLE DAYS EACH ROWS    makes table p.TABLE unless it is there, and EACH partitions of ROWS rows on each of
 *                                          DAYS days, old ones; prints {"rows":...,"sum":...,"squares":...}
 *   seed_live read TABLE                   prints the same of what is active now
 *
 * Column n numbers the rows; `sum` and `squares` (modulo 2^64) over it tell lost and doubled rows apart. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/catalog/tables.h"
#include "common/publish/publish.h"
#include "common/scan/scan.h"

#define FIRST_DAY_US (INT64_C(19000) * CLOCK_DAY_US)
#define LEASE_US     CLOCK_MINUTE_US
enum { COLUMN_TS, COLUMN_N, COLUMN_TEXT };

static const char schema_text[] =
    "{\"version\":1,\"timestamp\":\"ts\",\"columns\":[{\"id\":1,\"name\":\"ts\",\"type\":\"timestamp\",\"nullable\":"
    "false},"
    "{\"id\":2,\"name\":\"n\",\"type\":\"int64\"},{\"id\":3,\"name\":\"text\",\"type\":\"string\"}]}";

struct totals {
    uint64_t rows, sum, squares;
};

struct world {
    struct catalog *catalog;
    struct storages *storages;
    struct arena *arena;
    struct schema *schema;
};

static void world_done(struct world *world)
{
    schema_free(world->schema);
    arena_free(world->arena);
    storages_close(world->storages);
    catalog_close(world->catalog);
}

static void count(struct totals *totals, uint64_t n)
{
    totals->rows++;
    totals->sum += n;
    totals->squares += n * n;
}

static MUST_CHECK enum err_code world_open(struct world *world, const char *table, bool make, struct error *err)
{
    const struct catalog_options options = {
        .url = getenv("GRANARY_CATALOG_URL"), .password = "", .application_name = "seed"};
    struct table_record record;
    TRY(catalog_open(&options, &world->catalog, err));
    TRY(storages_open(getenv("GRANARY_STORE_URL"), NULL, &world->storages, err));
    world->arena = arena_new(0);
    TRY(catalog_migrate(world->catalog, NULL, NULL, err));
    if (make && catalog_table_find(world->catalog, "p", table, world->arena, &record, err) == ERR_NOT_FOUND) {
        const struct catalog_table_new new = {
            .table_id = uuid_v7(),
            .rejects_id = uuid_v7(),
            .project = "p",
            .name = table,
            .schema_json = schema_text,
            .rejects_schema_json = schema_text,
            .actor = "seed",
        };
        TRY(catalog_table_create(world->catalog, &new, err));
    }
    TRY(catalog_table_find(world->catalog, "p", table, world->arena, &record, err));
    return schema_parse(schema_text, strlen(schema_text), &record.table_id, &world->schema, err);
}

static MUST_CHECK enum err_code fill(struct batch *batch, int64_t begin_us, uint32_t rows, struct totals *totals,
                                     struct error *err)
{
    for (uint32_t i = 0; i < rows; i++) {
        char text[48];
        uint64_t n = totals->rows;
        int length = snprintf(text, sizeof text, "row %" PRIu64 " of a seed %" PRIu64, n, n * 7919 % 10007);
        TRY(batch_row_begin(batch, err));
        batch_set_i64(batch, COLUMN_TS, begin_us + (int64_t)i * 1000);
        batch_set_i64(batch, COLUMN_N, (int64_t)n);
        TRY(batch_set_variable(batch, COLUMN_TEXT, text, (size_t)length, err));
        TRY(batch_row_end(batch, err));
        count(totals, n);
    }
    return OK;
}

static MUST_CHECK enum err_code publish_one(struct world *world, const struct batch *batch, struct error *err)
{
    AUTO(publish_close_auto) struct publish *publish = NULL;
    struct uuid *known = NULL;
    size_t known_count = 0;
    const struct publish_options options = {
        .catalog = world->catalog,
        .storages = world->storages,
        .owner = "seed",
        .reason = "seed",
        .origin = ORIGIN_INTAKE,
        .lease_us = LEASE_US,
    };
    const struct publish_piece piece = {.schema = world->schema, .batch = batch, .count = batch->row_count};
    TRY(publish_open(&options, &publish, err));
    TRY(publish_add(publish, &piece, err));
    TRY(publish_write(publish, err));
    return publish_commit(publish, NULL, 0, world->arena, &known, &known_count, err);
}

static MUST_CHECK enum err_code make(const char *table, int days, int each, uint32_t rows, struct totals *totals,
                                     struct error *err)
{
    AUTO(world_done) struct world world = {0};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    TRY(world_open(&world, table, true, err));
    TRY(batch_new(world.schema, rows, &batch, err));
    for (int i = 0; i < days * each; i++) {
        batch_clear(batch);
        TRY(fill(batch, FIRST_DAY_US + i / each * CLOCK_DAY_US + i % each, rows, totals, err));
        TRY(publish_one(&world, batch, err));
    }
    return OK;
}

static MUST_CHECK enum err_code read_all(const char *table, struct totals *totals, struct error *err)
{
    static const uint32_t columns[] = {COLUMN_N};
    AUTO(world_done) struct world world = {0};
    AUTO(scan_free_auto) struct scan *scan = NULL;
    const struct batch *batch = NULL;
    TRY(world_open(&world, table, false, err));
    const struct scan_options options = {
        .catalog = world.catalog,
        .storages = world.storages,
        .schema = world.schema,
        .min_timestamp_us = INT64_MIN,
        .max_timestamp_us = INT64_MAX,
        .columns = columns,
        .column_count = 1,
    };
    TRY(scan_open(&options, &scan, err));
    do {
        TRY(scan_next(scan, &batch, err));
        for (uint32_t i = 0; batch != NULL && i < batch->row_count; i++) {
            count(totals, (uint64_t)batch->columns[0].values.i64[i]);
        }
    } while (batch != NULL);
    return OK;
}

static void what_was_made_is_what_is_read(void **state)
{
    (void)state;
    struct error err = {0};
    struct totals made = {0};
    struct totals found = {0};
    if (make("self", 2, 3, 1000, &made, &err) != OK || read_all("self", &found, &err) != OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(made.rows, 6000);
    assert_memory_equal(&made, &found, sizeof made);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_made_is_what_is_read)};
    struct error err = {0};
    struct totals totals = {0};
    enum err_code code = ERR_INVALID;
    if (argc == 1) {
        return cmocka_run_group_tests(tests, NULL, NULL);
    }
    if (argc == 6 && strcmp(argv[1], "make") == 0) {
        code = make(argv[2], atoi(argv[3]), atoi(argv[4]), (uint32_t)atoi(argv[5]), &totals, &err);
    } else if (argc == 3 && strcmp(argv[1], "read") == 0) {
        code = read_all(argv[2], &totals, &err);
    }
    if (code != OK) {
        (void)fprintf(stderr, "%s: %s\n", err_code_name(code), err.text);
        return 1;
    }
    (void)printf("{\"rows\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"squares\":%" PRIu64 "}\n", totals.rows, totals.sum,
                 totals.squares);
    return 0;
}
