/* The migrations as they are carried in the binary: generated from migrations/NNNN_name.sql, by version from 1 without
 * gaps. Not for other modules. */
#ifndef GRANARY_CATALOG_MIGRATIONS_H
#define GRANARY_CATALOG_MIGRATIONS_H

#include <stddef.h>

struct catalog_migration {
    int version;
    const char *name;
    const char *text; /* ends with a NUL that is not counted */
    size_t length;
};
extern const struct catalog_migration catalog_migrations[];
extern const size_t catalog_migration_count;

#endif
