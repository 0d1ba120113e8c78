/* What tables.c, tables_change.c and deployment.c share. */
#ifndef GRANARY_CATALOG_TABLES_PRIVATE_H
#define GRANARY_CATALOG_TABLES_PRIVATE_H

#include "common/catalog/internal.h"
#include "common/catalog/tables.h"

/* Puts a JSON object of texts over the settings. Names that this binary does not know and values that it cannot read are
 * passed over: another version may have written them. */
MUST_CHECK enum err_code catalog_settings_overlay(struct table_settings *settings, const char *json, struct error *err);

/* Changes as the arrays that SQL_SETTINGS_CHANGE takes. */
struct settings_arrays {
    const char **names, **values; /* to put */
    size_t put_count;
    const char **removed;
    size_t removed_count;
};
/* Normalises and checks; the arrays live in the arena. */
MUST_CHECK enum err_code catalog_settings_arrays(const struct catalog_setting *settings, size_t count,
                                                 struct arena *arena, struct settings_arrays *out, struct error *err);
/* ERR_INVALID: storage.default or storage.spread would name a storage that there is not. */
MUST_CHECK enum err_code catalog_settings_check_storages(struct catalog *catalog, const struct settings_arrays *arrays,
                                                         struct error *err);
/* An expression over a column `settings`, with removed as $2, names as $3, values as $4. */
#define SQL_SETTINGS_CHANGE "(settings - $2::text[]) || jsonb_object($3::text[], $4::text[])"
#define SETTINGS_ARRAY_VALUES(arrays)                                                              \
    catalog_array(CATALOG_TEXT, (arrays)->removed, sizeof(const char *), (arrays)->removed_count), \
        catalog_array(CATALOG_TEXT, (arrays)->names, sizeof(const char *), (arrays)->put_count),   \
        catalog_array(CATALOG_TEXT, (arrays)->values, sizeof(const char *), (arrays)->put_count)
/* The changes for the audit log: a JSON object, null where a setting was removed. Owned by the caller. */
MUST_CHECK enum err_code catalog_settings_describe(const struct settings_arrays *arrays, char **out, struct error *err);

/* All live tables, their rows locked until the transaction ends. */
MUST_CHECK enum err_code catalog_tables_lock_all(struct catalog_transaction *transaction, struct arena *arena,
                                                 struct table_record **out, size_t *out_count, struct error *err);
/* Stores what a change from `before` to `after` does to the retention that counts: a shortening cools down. */
MUST_CHECK enum err_code catalog_table_follow_retention(struct catalog_transaction *transaction,
                                                        const struct table_record *before,
                                                        const struct table_record *after, struct error *err);
/* One live table, its row locked until the transaction ends. */
MUST_CHECK enum err_code catalog_table_lock(struct catalog_transaction *transaction, const struct uuid *table_id,
                                            struct arena *arena, struct table_record *out, struct error *err);

#endif
