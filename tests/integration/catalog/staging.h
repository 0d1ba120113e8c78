/* Partitions on their way, for the live tests of publishing. */
#ifndef GRANARY_TESTS_CATALOG_STAGING_H
#define GRANARY_TESTS_CATALOG_STAGING_H

#include "common/catalog/partitions.h"
#include "tests/integration/catalog/fixture.h"

enum { MAX_STAGED = 4 };

struct staging {
    struct catalog *catalog;
    struct arena *arena;
    struct error err;
    struct fixture_table table;
    struct partition_record records[MAX_STAGED];
    struct catalog_publication publications[MAX_STAGED];
    struct column_stats stats[2];
    struct catalog_lock lock;
};

/* One publish on a thread of its own. */
struct staging_publisher {
    struct staging *world;
    struct catalog *catalog;
    struct catalog_publish what;
    struct catalog_published published;
    struct error err;
    enum err_code code;
};

void staging_done(struct staging *world);
/* A new table, and a connection. */
struct staging staging_open(void);
/* Partition i covers [i, i + 0.5] hours; rejects of the table are put into the companion. */
void staging_make_record(struct staging *world, size_t i, bool rejects);
void staging_stage(struct staging *world, size_t count, int64_t lease_us);
struct catalog_publish staging_measured(struct staging *world, size_t count);
enum err_code staging_publish(struct staging *world, const struct catalog_publish *what, struct catalog_published *out);
struct partition_record staging_load(struct staging *world, size_t i);
void *staging_run_publisher(void *context);
const char *staging_session_name(struct catalog *catalog, struct arena *arena);

#endif
