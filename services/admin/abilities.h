/* What the stores can do, for the status page: found out when somebody asks, and then believed for five minutes. */
#ifndef GRANARY_ADMIN_ABILITIES_H
#define GRANARY_ADMIN_ABILITIES_H

#include "common/json/json.h"
#include "common/store/store.h"

struct abilities;
MUST_CHECK enum err_code abilities_new(struct abilities **out, struct error *err);
void abilities_free(struct abilities *abilities);

/* "can" as store_probe_format says it, and "noncurrent_bytes" where the bucket keeps versions; null where it is not known.
 * For a store that has just answered, so that nobody waits long. NULL: one that has not, and is not asked. A store that
 * does not let itself be probed is no error: the log says why. Safe for several threads. */
MUST_CHECK enum err_code abilities_render(struct abilities *abilities, struct store *store, struct json *object,
                                          struct error *err);

#endif
