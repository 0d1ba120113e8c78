/* The deployment: its id, its defaults of table settings, and the brake on all deleting. */
#ifndef GRANARY_CATALOG_DEPLOYMENT_H
#define GRANARY_CATALOG_DEPLOYMENT_H

#include "common/catalog/catalog.h"
#include "common/catalog/tables.h"

struct catalog_deployment {
    struct uuid deployment_id;
    int64_t created_at_us;
    const char *settings_json;      /* as stored */
    struct table_settings settings; /* over the built-in ones */
    bool deleting_paused;
    int64_t paused_at_us; /* while paused */
    const char *paused_by, *paused_reason;
};
/* Texts live in the arena. */
MUST_CHECK enum err_code catalog_deployment_load(struct catalog *catalog, struct arena *arena,
                                                 struct catalog_deployment *out, struct error *err);
/* May anything be deleted, as of this statement? ERR_DENIED, with who paused it and why, when not. */
MUST_CHECK enum err_code catalog_deployment_check_deleting(struct catalog *catalog, struct error *err);

/* Changes defaults, with an audit row. A shortened age.max_age cools down for every table that has none of its own, as in
 * catalog_table_set. rejects.max_age counts for tables made later. ERR_INVALID: an unknown name or a wrong value. */
MUST_CHECK enum err_code catalog_deployment_set(struct catalog *catalog, const struct catalog_setting *settings,
                                                size_t setting_count, const char *actor, struct error *err);

/* The brake, with an audit row. Pausing what is paused keeps the first pause (out_changed false); likewise resuming. */
MUST_CHECK enum err_code catalog_deployment_pause(struct catalog *catalog, const char *reason, const char *actor,
                                                  bool *out_changed, struct error *err);
MUST_CHECK enum err_code catalog_deployment_resume(struct catalog *catalog, const char *actor, bool *out_changed,
                                                   struct error *err);

#endif
