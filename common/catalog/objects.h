/* The objects that the catalog names, in the order of a store's listing, and what else the catalog knows about a key. Read
 * only: for whoever compares the store with the catalog. */
#ifndef GRANARY_CATALOG_OBJECTS_H
#define GRANARY_CATALOG_OBJECTS_H

#include "common/catalog/catalog.h"

struct catalog_object {
    const char *path;
    struct uuid partition_id, table_id;
    int64_t data_bytes; /* as the catalog has it */
    bool must_exist;    /* published and not claimed by a reaper: anything else may be without its object */
    bool active;
    int64_t created_at_us;     /* of the partition */
    int64_t deactivated_at_us; /* CLOCK_NEVER: it is active, or staged */
};
struct catalog_object_page {
    int32_t storage_id;
    const char *prefix; /* "" for all */
    const char *after;  /* "" from the start */
    size_t limit;       /* 1.. */
};
/* Partitions of all states and all tables, dropped ones too, and their further objects, in byte order of their paths. Fewer
 * than limit: the end. Pages are statements of their own: a path that was there before the first and is there after the
 * last is in one of them. */
MUST_CHECK enum err_code catalog_objects_page(struct catalog *catalog, const struct catalog_object_page *page,
                                              struct arena *arena, struct catalog_object **out, size_t *out_count,
                                              struct error *err);

struct catalog_object_question {
    const char *path;                   /* valid UTF-8 */
    struct uuid partition_id, table_id; /* as the key says; nil: it does not */
};
struct catalog_object_answer {
    bool named;            /* a row or a further object has this path, in whatever storage; or a row has this id */
    bool must_exist;       /* by the row or further object of this very path */
    bool table_known;      /* dropped ones too */
    bool held;             /* a hold stands on the table, or on the partition */
    bool traced;           /* a rewrite knows the id */
    int64_t receipt_at_us; /* when the partition's deletion was proved; CLOCK_NEVER: it was not */
};
/* One statement: what is true now. answers[i] answers questions[i]. */
MUST_CHECK enum err_code catalog_objects_look_up(struct catalog *catalog,
                                                 const struct catalog_object_question *questions, size_t count,
                                                 struct catalog_object_answer *answers, struct error *err);

/* --- what a restore would miss ------------------------------------------------------------------------------------- */

struct catalog_gone {
    int64_t receipt_id;
    struct uuid partition_id, table_id;
    const char *path;
    int64_t row_count, data_bytes;
    const char *reason;
    int64_t deactivated_at_us, deleted_at_us;
};
/* Receipts of partitions that were live at `at_us` by the catalog, after `after` (0: from the start), by number: what a
 * catalog of that time names as live and the store no longer has. A partition's beginning is read from its id. */
MUST_CHECK enum err_code catalog_objects_gone(struct catalog *catalog, int64_t at_us, const struct uuid *table_id,
                                              int64_t after, size_t limit, struct arena *arena,
                                              struct catalog_gone **out, size_t *out_count, struct error *err);
/* How far back receipts reach: when the oldest was written. CLOCK_NEVER: there is none. */
MUST_CHECK enum err_code catalog_objects_receipts_since(struct catalog *catalog, int64_t *out_us, struct error *err);

#endif
