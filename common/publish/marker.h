/* The deployment marker: an object at the root of the store that says which deployment its data belong to. A store under
 * another catalog, or a cloned catalog over a live store, is noticed before anything is written or deleted. */
#ifndef GRANARY_PUBLISH_MARKER_H
#define GRANARY_PUBLISH_MARKER_H

#include "common/base/uuid.h"
#include "common/store/store.h"

#define PUBLISH_MARKER_KEY "granary-deployment.json"

/* For writers: creates the marker where there is none, then reads and compares. ERR_DENIED: it names another deployment, or
 * cannot be understood. Several processes may race. */
MUST_CHECK enum err_code publish_marker_ensure(struct store *store, const struct uuid *deployment_id,
                                               struct error *err);

/* For deleters: ERR_DENIED when the marker is absent or names another deployment. Anything that is not known for sure
 * (ERR_UNAVAILABLE, ...) means: do not delete. */
MUST_CHECK enum err_code publish_marker_verify(struct store *store, const struct uuid *deployment_id,
                                               struct error *err);

#endif
