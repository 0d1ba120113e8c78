/* Tables: their names, schemas, settings and retention, and the tombstone. Results live in the caller's arena.
 *
 * Writers record in the audit log, in the same transaction. ERR_UNKNOWN means that the commit's answer was lost: load the
 * table again and look. Times and retention are judged by the database's clock. */
#ifndef GRANARY_CATALOG_TABLES_H
#define GRANARY_CATALOG_TABLES_H

#include "common/catalog/catalog.h"

/* A setting to change. value NULL: back to the deployment's. Names and values normalised (table_settings_normalise). */
struct catalog_setting {
    const char *name, *value;
};

struct catalog_table_new {
    struct uuid table_id, rejects_id;              /* new ones, of the caller */
    const char *project, *name;                    /* identifiers; the companion is called "<name>$rejects" */
    const char *schema_json, *rejects_schema_json; /* version 1 of each */
    const struct catalog_setting *settings;
    size_t setting_count;
    const char *actor;
};
/* The table and its companion for rejects, whose age.max_age is the table's rejects.max_age. ERR_CONFLICT: the name is
 * taken. ERR_INVALID: a setting is wrong. Trying again with the same ids after ERR_UNKNOWN gives ERR_CONFLICT if it had
 * landed. */
MUST_CHECK enum err_code catalog_table_create(struct catalog *catalog, const struct catalog_table_new *table,
                                              struct error *err);

/* By name: not the dropped ones. ERR_NOT_FOUND. */
MUST_CHECK enum err_code catalog_table_find(struct catalog *catalog, const char *project, const char *name,
                                            struct arena *arena, struct table_record *out, struct error *err);
/* By id: dropped ones too. ERR_NOT_FOUND. */
MUST_CHECK enum err_code catalog_table_load(struct catalog *catalog, const struct uuid *table_id, struct arena *arena,
                                            struct table_record *out, struct error *err);
/* The table that holds the rejects of this one. ERR_NOT_FOUND. */
MUST_CHECK enum err_code catalog_table_load_rejects(struct catalog *catalog, const struct uuid *table_id,
                                                    struct arena *arena, struct table_record *out, struct error *err);

struct catalog_table_page {
    const char *project; /* only of this one; NULL: all */
    bool with_dropped;
    const struct table_record *after; /* the last one of the page before; NULL: from the start */
    size_t limit;                     /* 1.. */
};
/* By project, name and id. Fewer than limit: the end. */
MUST_CHECK enum err_code catalog_table_list(struct catalog *catalog, const struct catalog_table_page *page,
                                            struct arena *arena, struct table_record **out, size_t *out_count,
                                            struct error *err);

/* The schema as JSON text for schema_parse. version 0: the latest. ERR_NOT_FOUND. */
MUST_CHECK enum err_code catalog_table_load_schema(struct catalog *catalog, const struct uuid *table_id,
                                                   int32_t version, struct arena *arena, const char **out_json,
                                                   int32_t *out_version, struct error *err);
/* Adds version `latest` + 1; that rows of the former can be read as it is the caller's to check (schema_reconcile).
 * ERR_CONFLICT: `latest` is no longer the latest. */
MUST_CHECK enum err_code catalog_table_add_schema(struct catalog *catalog, const struct uuid *table_id, int32_t latest,
                                                  const char *schema_json, const char *actor, struct error *err);

struct catalog_table_change {
    struct uuid table_id;
    int64_t version; /* of the record that the change was made from; 0: whatever it is */
    const struct catalog_setting *settings;
    size_t setting_count;
    const char *actor;
    bool dry_run; /* works everything out, changes nothing */
};
/* Changes settings. A shortened age.max_age waits retention.cooling; a longer one counts at once. rejects.max_age goes on
 * to the companion's age.max_age in the same way. out: the table as it then is. ERR_CONFLICT: another version;
 * ERR_INVALID: an unknown name or a wrong value; ERR_NOT_FOUND: no such table, or dropped. */
MUST_CHECK enum err_code catalog_table_set(struct catalog *catalog, const struct catalog_table_change *change,
                                           struct arena *arena, struct table_record *out, struct error *err);

/* The tombstone, on the table and its companion, under the exclusive fences of both: what published before lives until
 * decay takes it, nothing publishes after. ERR_NOT_FOUND: no such table, or dropped already; ERR_CONFLICT: a
 * hold stands on the table or part of it; ERR_INVALID: a rejects table, which goes with its parent. */
MUST_CHECK enum err_code catalog_table_drop(struct catalog *catalog, const struct uuid *table_id, const char *actor,
                                            struct error *err);

#endif
