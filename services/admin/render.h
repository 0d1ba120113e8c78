/* Records as the JSON of the API. Each function sets members of `object`, or adds to `array`. */
#ifndef GRANARY_ADMIN_RENDER_H
#define GRANARY_ADMIN_RENDER_H

#include "common/catalog/admin_history.h"
#include "common/catalog/admin_holds.h"
#include "common/catalog/admin_partitions.h"
#include "common/catalog/admin_plans.h"
#include "common/catalog/admin_status.h"
#include "common/catalog/cleaner.h"
#include "common/catalog/deployment.h"
#include "common/json/json.h"
#include "common/rows/schema.h"

/* --- small things -------------------------------------------------------------------------------------------------- */

MUST_CHECK enum err_code render_uuid(struct json *object, const char *member, const struct uuid *id,
                                     struct error *err); /* nil: null */
MUST_CHECK enum err_code render_time(struct json *object, const char *member, int64_t time_us, struct error *err);
MUST_CHECK enum err_code render_time_or_null(struct json *object, const char *member, int64_t time_us, int64_t null_us,
                                             struct error *err);
MUST_CHECK enum err_code render_name(struct json *object, const char *member, const char *project, const char *name,
                                     struct error *err); /* "project.name" */
/* JSON text of the catalog as a value of its own; NULL becomes null. */
MUST_CHECK enum err_code render_json(struct json *object, const char *member, const char *text, struct error *err);
MUST_CHECK enum err_code render_uuids(struct json *object, const char *member, const struct uuid *ids, size_t count,
                                      struct error *err);
/* A text that may not be UTF-8: cut before the first wrong byte. */
MUST_CHECK enum err_code render_any_text(struct json *object, const char *member, const char *text, size_t length,
                                         struct error *err);
/* A new empty object, borrowed, as a member of `object` or at the end of `array`. */
MUST_CHECK enum err_code render_object(struct json *object, const char *member, struct json **out, struct error *err);
MUST_CHECK enum err_code render_array(struct json *object, const char *member, struct json **out, struct error *err);
MUST_CHECK enum err_code render_item(struct json *array, struct json **out, struct error *err);

/* --- records ------------------------------------------------------------------------------------------------------- */

/* Without "schema" and "partitions". */
MUST_CHECK enum err_code render_table(struct json *object, const struct table_record *table, struct error *err);
MUST_CHECK enum err_code render_count(struct json *object, const struct catalog_table_count *count, struct error *err);
MUST_CHECK enum err_code render_retention(struct json *object, const struct table_record *table, struct error *err);
MUST_CHECK enum err_code render_preview(struct json *object, const struct catalog_preview *preview, struct error *err);
MUST_CHECK enum err_code render_partition(struct json *object, const struct catalog_admin_partition *partition,
                                          struct error *err);
/* Bounds under the schema that the partition was written with; columns that it lacks are named "#<id>". */
MUST_CHECK enum err_code render_columns(struct json *object, const struct column_stats *columns, size_t count,
                                        const struct schema *schema, struct error *err);
MUST_CHECK enum err_code render_hold(struct json *object, const struct catalog_hold *hold, struct error *err);
MUST_CHECK enum err_code render_receipt(struct json *object, const struct catalog_receipt *receipt, struct error *err);
MUST_CHECK enum err_code render_audit(struct json *object, const struct catalog_audit_entry *entry, struct error *err);
MUST_CHECK enum err_code render_plan_life(struct json *object, const struct catalog_plan *plan, struct error *err);
MUST_CHECK enum err_code render_plan(struct json *object, const struct catalog_plan *plan,
                                     const struct catalog_admin_partition *items, size_t item_count, struct error *err);
MUST_CHECK enum err_code render_cleaner(struct json *object, const struct catalog_cleaner_status *cleaner,
                                        struct error *err); /* "cleaner" */
MUST_CHECK enum err_code render_pause(struct json *object, const struct catalog_deployment *deployment,
                                      struct error *err); /* "deleting_paused" */

#endif
