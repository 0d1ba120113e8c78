#include "tests/integration/catalog/staging.h"

#include <stdio.h>
#include <string.h>

void staging_done(struct staging *world)
{
    catalog_close(world->catalog);
    arena_free(world->arena);
}

struct staging staging_open(void)
{
    static int made;
    char name[24];
    (void)snprintf(name, sizeof name, "t%d", ++made);
    struct staging world = {.catalog = fixture_open(), .arena = arena_new(0), .table = {.name = name}};
    fixture_create_table(world.catalog, &world.table);
    world.table.name = NULL;
    return world;
}

void staging_make_record(struct staging *world, size_t i, bool rejects)
{
    char path[PARTITION_PATH_BYTES];
    struct partition_record *record = &world->records[i];
    *record = (struct partition_record){
        .partition_id = uuid_v7(),
        .table_id = rejects ? world->table.rejects_id : world->table.table_id,
        .schema_version = 1,
        .min_timestamp_us = (int64_t)i * CLOCK_HOUR_US,
        .max_timestamp_us = (int64_t)i * CLOCK_HOUR_US + CLOCK_HOUR_US / 2,
        .row_count = 10,
        .memory_bytes = 100,
        .origin = ORIGIN_INTAKE,
    };
    record->path = arena_strdup(
        world->arena, partition_path(&record->table_id, record->min_timestamp_us, &record->partition_id, path));
    assert_non_null(record->path);
}

void staging_stage(struct staging *world, size_t count, int64_t lease_us)
{
    for (size_t i = 0; i < count; i++) {
        staging_make_record(world, i, i == 1);
    }
    struct catalog_stage staged = {.lock_id = uuid_v7(),
                                   .owner = "writer",
                                   .reason = "intake",
                                   .lease_us = lease_us,
                                   .partitions = world->records,
                                   .count = count};
    EXPECT(OK, catalog_partitions_stage(world->catalog, &staged, &world->lock, &world->err), &world->err);
}

struct catalog_publish staging_measured(struct staging *world, size_t count)
{
    static const char etag[] = "etag";
    world->stats[0] = (struct column_stats){.column_id = 1,
                                            .null_count = 3,
                                            .has_min = true,
                                            .has_max = true,
                                            .min_length = 2,
                                            .max_length = 1,
                                            .min = {'a', 'b'},
                                            .max = {'z'}};
    world->stats[1] = (struct column_stats){.column_id = 7, .null_count = 0, .has_min = false, .has_max = false};
    for (size_t i = 0; i < count; i++) {
        world->records[i].row_count = 20 + (int64_t)i;
        world->records[i].data_bytes = 1000;
        world->records[i].etag = etag;
        memset(world->records[i].sha256, (int)i + 1, sizeof world->records[i].sha256);
        world->publications[i] = (struct catalog_publication){&world->records[i], world->stats, 2};
    }
    return (struct catalog_publish){.lock_id = world->lock.lock_id,
                                    .token = world->lock.token,
                                    .actor = "writer",
                                    .publications = world->publications,
                                    .count = count};
}

enum err_code staging_publish(struct staging *world, const struct catalog_publish *what, struct catalog_published *out)
{
    return catalog_partitions_publish(world->catalog, what, world->arena, out, &world->err);
}

struct partition_record staging_load(struct staging *world, size_t i)
{
    struct partition_record record;
    EXPECT(OK,
           catalog_partition_load(world->catalog, &world->records[i].partition_id, world->arena, &record, &world->err),
           &world->err);
    return record;
}

void *staging_run_publisher(void *context)
{
    struct staging_publisher *publisher = context;
    publisher->code = catalog_partitions_publish(publisher->catalog, &publisher->what, publisher->world->arena,
                                                 &publisher->published, &publisher->err);
    return NULL;
}

const char *staging_session_name(struct catalog *catalog, struct arena *arena)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct error err = {0};
    const char *name = NULL;
    EXPECT(OK, catalog_query(catalog, "select current_setting('application_name')", CATALOG_NO_VALUES, &rows, &err),
           &err);
    EXPECT(OK, catalog_load_text(rows, 0, 0, arena, &name, &err), &err);
    return name;
}
