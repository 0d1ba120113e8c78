/* Plans of orphans: objects that a comparison found to be named by no row, listed so that they can be looked at before they
 * are deleted. Claiming and loading are those of all plans (admin_plans.h). */
#ifndef GRANARY_CATALOG_ADMIN_ORPHANS_H
#define GRANARY_CATALOG_ADMIN_ORPHANS_H

#include "common/catalog/cleaner.h"

enum { CATALOG_MAX_PLAN_ORPHANS = 100000 };

/* An empty plan, with an audit row. It has expired until it is finished: one that was broken off can never be applied.
 * table_id NULL: of all tables. */
MUST_CHECK enum err_code catalog_admin_orphans_begin(struct catalog *catalog, const struct uuid *plan_id,
                                                     const struct uuid *table_id, const char *actor, struct error *err);
MUST_CHECK enum err_code catalog_admin_orphans_add(struct catalog *catalog, const struct uuid *plan_id,
                                                   const struct catalog_orphan *orphans, size_t count,
                                                   struct error *err);
struct catalog_orphans_sum {
    int64_t objects, bytes; /* that the plan names */
    bool cut;               /* there are more than it may name */
};
MUST_CHECK enum err_code catalog_admin_orphans_finish(struct catalog *catalog, const struct uuid *plan_id,
                                                      const struct catalog_orphans_sum *sum, int64_t life_us,
                                                      struct error *err);

struct catalog_orphans_page {
    struct uuid plan_id;
    int32_t after_storage; /* behind this storage and path; 0 and "" from the start */
    const char *after_path;
    size_t limit;
};
/* By storage and path. Fewer than limit: the end. */
MUST_CHECK enum err_code catalog_admin_orphans_list(struct catalog *catalog, const struct catalog_orphans_page *page,
                                                    struct arena *arena, struct catalog_orphan **out, size_t *out_count,
                                                    struct error *err);
/* What became of orphans[i]: outcomes[i]. */
MUST_CHECK enum err_code catalog_admin_orphans_note(struct catalog *catalog, const struct uuid *plan_id,
                                                    const struct catalog_orphan *orphans, const char *const *outcomes,
                                                    size_t count, struct error *err);
MUST_CHECK enum err_code catalog_admin_orphans_done(struct catalog *catalog, const struct uuid *plan_id,
                                                    int64_t deleted, int64_t bytes, int64_t kept, struct error *err);

#endif
