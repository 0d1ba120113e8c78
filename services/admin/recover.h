/* What stands between this catalog and each store, as the answers show it. */
#ifndef GRANARY_ADMIN_RECOVER_H
#define GRANARY_ADMIN_RECOVER_H

#include "common/gate/gate.h"
#include "services/admin/admin.h"

/* Marker and marks of one storage: "storage", "url", "finding", "catalog_mark", "store_mark", "error". */
MUST_CHECK enum err_code recover_render(struct call *call, const struct catalog_storage *storage,
                                        const struct uuid *deployment_id, struct json *object, struct gate_view *out,
                                        struct error *err);

#endif
