/* A table, a store, and sessions that publish into them: for the live tests of publishing and scanning. Sessions run with
 * the rights of intake. */
#ifndef GRANARY_TESTS_CATALOG_PUBLISH_WORLD_H
#define GRANARY_TESTS_CATALOG_PUBLISH_WORLD_H

#include "tests/integration/catalog/fixture.h"
#include "tests/unit/partition/fixture.h"

#include "common/publish/publish.h"

struct world {
    struct store_fixture *store;
    struct storages *storages; /* the store, as the only storage */
    struct catalog *intake, *owner;
    struct arena *arena;
    struct fixture_table table;
    struct schema *schema;
    struct error err;
};

__attribute__((unused)) static void world_done(struct world *world)
{
    catalog_close(world->intake);
    catalog_close(world->owner);
    arena_free(world->arena);
    schema_free(world->schema);
    storages_close(world->storages);
}

__attribute__((unused)) static struct world world_open(void **state)
{
    static int made;
    char name[24];
    (void)snprintf(name, sizeof name, "published%d", ++made);
    struct world world = {.store = *state,
                          .intake = fixture_open_as("granary_intake"),
                          .owner = fixture_open(),
                          .arena = arena_new(0),
                          .table = {.name = name}};
    EXPECT(OK, storages_open(store_url(world.store->store), NULL, &world.storages, &world.err), &world.err);
    fixture_create_table(world.owner, &world.table);
    world.table.name = NULL;
    world.schema = small_schema(&(struct sort_key){.column = TS}, 1);
    world.schema->table_id = world.table.table_id;
    return world;
}

/* Rows at start, start + step, ... */
__attribute__((unused)) static struct batch *rows_from(const struct world *world, int64_t start_us, int64_t step_us,
                                                       uint32_t count)
{
    struct batch *batch = NULL;
    uint64_t seed = (uint64_t)start_us;
    assert_int_equal(batch_new(world->schema, count, &batch, NULL), OK);
    for (uint32_t i = 0; i < count; i++) {
        append_row(batch, start_us + i * step_us, (double)i, &seed);
    }
    return batch;
}

__attribute__((unused)) static struct publish *session(struct world *world, int64_t lease_us)
{
    struct publish *publish = NULL;
    const struct publish_options options = {.catalog = world->intake,
                                            .storages = world->storages,
                                            .owner = "writer",
                                            .reason = "test",
                                            .origin = ORIGIN_INTAKE,
                                            .lease_us = lease_us,
                                            .threads = 3};
    EXPECT(OK, publish_open(&options, &publish, &world->err), &world->err);
    return publish;
}

/* One partition for each hundred rows. */
__attribute__((unused)) static void add_hundreds(struct world *world, struct publish *publish,
                                                 const struct batch *batch)
{
    for (uint32_t first = 0; first < batch->row_count; first += 100) {
        uint32_t count = batch->row_count - first < 100 ? batch->row_count - first : 100;
        const struct publish_piece piece = {.schema = world->schema, .batch = batch, .first = first, .count = count};
        EXPECT(OK, publish_add(publish, &piece, &world->err), &world->err);
    }
}

__attribute__((unused)) static int64_t count_where(struct world *world, const char *condition)
{
    char sql[400];
    char id[UUID_TEXT_BYTES];
    (void)snprintf(sql, sizeof sql, "select count(*) from granary.partitions where table_id = '%s' and %s",
                   uuid_format(&world->table.table_id, id), condition);
    return fixture_number(world->owner, sql);
}

__attribute__((unused)) static enum err_code commit(struct world *world, struct publish *publish,
                                                    const struct catalog_batch *batches, size_t count,
                                                    struct uuid **known, size_t *known_count)
{
    world->err = (struct error){0};
    return publish_commit(publish, batches, count, world->arena, known, known_count, &world->err);
}

__attribute__((unused)) static enum err_code commit_plain(struct world *world, struct publish *publish)
{
    struct uuid *known = NULL;
    size_t known_count = 9;
    enum err_code code = commit(world, publish, NULL, 0, &known, &known_count);
    assert_int_equal(known_count, 0);
    return code;
}

#endif
