/* Tables as intake knows them: schema, companion for rejects, settings, each kept for a short time. An entry is immutable
 * and counted; it stays good while somebody uses it, also when a newer one has taken its place. Thread safe. */
#ifndef GRANARY_INTAKE_TABLES_H
#define GRANARY_INTAKE_TABLES_H

#include "common/catalog/catalog.h"
#include "common/rows/schema.h"

struct intake_table {
    struct uuid table_id, rejects_id;
    struct schema *schema, *rejects_schema;
    struct table_settings settings;
    bool dropped;
};

struct intake_tables;
/* The catalog is borrowed and used under the cache's lock only: a look-up of what is not known asks it and waits. */
MUST_CHECK enum err_code intake_tables_new(struct catalog *catalog, int64_t ttl_us, struct intake_tables **out,
                                           struct error *err);
void intake_tables_free(struct intake_tables *tables);
DEFINE_AUTO(struct intake_tables, intake_tables_free)

/* The latest version of "project.name", or of the table with this id in text form. ERR_NOT_FOUND; ERR_UNAVAILABLE when the
 * catalog is away and the table not known: what is known is used on, however old. */
MUST_CHECK enum err_code intake_tables_find(struct intake_tables *tables, const char *name,
                                            const struct intake_table **out, struct error *err);
/* One version of a table, dropped ones too. */
MUST_CHECK enum err_code intake_tables_find_version(struct intake_tables *tables, const struct uuid *table_id,
                                                    int32_t version, const struct intake_table **out,
                                                    struct error *err);
/* The database's clock, as of the last look-up carried on: so that a head or writer whose own clock is wrong judges times as
 * the others do. Before the first look-up, the machine's clock. */
int64_t intake_tables_now_us(struct intake_tables *tables);

const struct intake_table *intake_table_share(const struct intake_table *table); /* one more use */
void intake_table_release(const struct intake_table *table);                     /* NULL is fine */
DEFINE_AUTO(const struct intake_table, intake_table_release)

#endif
