/* The stores of a process by storage id: each is opened on first use and kept. Storage 1 is the process's own store
 * (GRANARY_STORE_URL); the urls of the others come from the catalog, or from whoever has read them there. Safe for several
 * threads; stores that are handed out live until storages_close. */
#ifndef GRANARY_STORAGES_STORAGES_H
#define GRANARY_STORAGES_STORAGES_H

#include "common/catalog/storages.h"
#include "common/store/store.h"

struct storages;

/* Opens storage 1; the errors of store_open. options as there; its texts are borrowed until storages_close. */
MUST_CHECK enum err_code storages_open(const char *url, const struct store_options *options, struct storages **out,
                                       struct error *err);
void storages_close(struct storages *storages);
DEFINE_AUTO(struct storages, storages_close)

struct store *storages_own(struct storages *storages); /* storage 1 */

/* Says where a storage is. Where its url has changed, the next storages_get opens it anew; who has the former keeps it. */
MUST_CHECK enum err_code storages_declare(struct storages *storages, int32_t storage_id, const char *url,
                                          struct error *err);
/* Declares all that the catalog knows. */
MUST_CHECK enum err_code storages_refresh(struct storages *storages, struct catalog *catalog, struct error *err);

/* One that was declared. catalog: asked once for ids that were not; NULL: nobody is. ERR_UNAVAILABLE: not known (yet), or
 * its store cannot be opened as this process is configured. */
MUST_CHECK enum err_code storages_get(struct storages *storages, struct catalog *catalog, int32_t storage_id,
                                      struct store **out, struct error *err);

#endif
