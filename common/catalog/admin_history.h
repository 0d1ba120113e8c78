/* What was done: receipts of deletions, and the audit log. Newest first, in pages by id. */
#ifndef GRANARY_CATALOG_ADMIN_HISTORY_H
#define GRANARY_CATALOG_ADMIN_HISTORY_H

#include "common/catalog/catalog.h"

struct catalog_history_page {
    const struct uuid *table_id;     /* NULL: all */
    const struct uuid *partition_id; /* NULL: all */
    int64_t before_id;               /* 0: from the newest */
    size_t limit;
};

struct catalog_receipt {
    int64_t receipt_id;
    struct uuid partition_id, table_id;
    const char *project, *table_name;
    const char *path;
    int64_t row_count, data_bytes;
    int64_t min_timestamp_us, max_timestamp_us;
    bool has_sha256;
    uint8_t sha256[32];
    enum deactivation_reason reason;
    int64_t deactivated_at_us;
    const char *deactivated_by;
    int64_t deleted_at_us;
    const char *deleted_by;
    int64_t claim_token;
    const char *answers_json;
};
MUST_CHECK enum err_code catalog_admin_receipt_list(struct catalog *catalog, const struct catalog_history_page *page,
                                                    struct arena *arena, struct catalog_receipt **out,
                                                    size_t *out_count, struct error *err);

struct catalog_audit_entry {
    int64_t audit_id, at_us;
    const char *actor, *action;
    struct uuid table_id, partition_id; /* nil: none */
    const char *project, *table_name;   /* NULL: no table */
    const char *details_json;
};
MUST_CHECK enum err_code catalog_admin_audit_list(struct catalog *catalog, const struct catalog_history_page *page,
                                                  struct arena *arena, struct catalog_audit_entry **out,
                                                  size_t *out_count, struct error *err);

/* Which of these ids of dead letters of a queue no export in the audit log names (action "dead.export", details with
 * "queue" and "message_ids"): how many, and one of them (in the arena; NULL when there is none). */
MUST_CHECK enum err_code catalog_admin_unexported(struct catalog *catalog, const char *queue, const char *const *ids,
                                                  size_t count, struct arena *arena, int64_t *out_count,
                                                  const char **out_first, struct error *err);

#endif
