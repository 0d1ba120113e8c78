/* Storages: the object stores that partitions of this catalog lie in. Which one a new partition goes to is decided when it
 * is staged, by granary.storage_for (migrations/0004_storages.sql). A storage is never removed. */
#ifndef GRANARY_CATALOG_STORAGES_H
#define GRANARY_CATALOG_STORAGES_H

#include "common/catalog/catalog.h"

enum catalog_storage_state {
    CATALOG_STORAGE_ACTIVE,
    CATALOG_STORAGE_READ_ONLY, /* takes no new partitions; those that it has are read, and reaped */
    CATALOG_STORAGE_STATE_COUNT
};
const char *catalog_storage_state_name(enum catalog_storage_state state);
/* ERR_INVALID. */
MUST_CHECK enum err_code catalog_storage_state_parse(const char *text, enum catalog_storage_state *out,
                                                     struct error *err);

struct catalog_storage {
    int32_t storage_id;
    const char *name;
    const char *url; /* NULL: of STORAGE_OWN, which is GRANARY_STORE_URL of each process */
    enum catalog_storage_state state;
    int64_t created_at_us;
    const char *created_by;
};
/* All of them (they are few), by id. */
MUST_CHECK enum err_code catalog_storages_load(struct catalog *catalog, struct arena *arena,
                                               struct catalog_storage **out, size_t *out_count, struct error *err);
/* ERR_NOT_FOUND. */
MUST_CHECK enum err_code catalog_storage_find(struct catalog *catalog, const char *name, struct arena *arena,
                                              struct catalog_storage *out, struct error *err);

/* Adds one, active, with an audit row; what is at the url has been looked at by the caller. Name: 1 to 31 lower-case letters,
 * digits, "_" or "-", not beginning with a sign (ERR_INVALID). ERR_CONFLICT: name or url are there already. */
MUST_CHECK enum err_code catalog_storage_add(struct catalog *catalog, const char *name, const char *url,
                                             const char *actor, int32_t *out_id, struct error *err);

struct catalog_storage_change {
    const char *name;
    const char *url;                         /* NULL: stays */
    const enum catalog_storage_state *state; /* NULL: stays */
    const char *actor;
};
/* With an audit row. ERR_NOT_FOUND. ERR_INVALID: a url for STORAGE_OWN. ERR_CONFLICT: the url is another's, or no
 * storage would be left that takes new partitions. */
MUST_CHECK enum err_code catalog_storage_set(struct catalog *catalog, const struct catalog_storage_change *change,
                                             struct error *err);

#endif
