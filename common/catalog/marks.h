/* The catalog's side of the high-water mark: number and nonce of the last mark of each storage. See common/gate/gate.h. */
#ifndef GRANARY_CATALOG_MARKS_H
#define GRANARY_CATALOG_MARKS_H

#include "common/catalog/catalog.h"

struct catalog_mark {
    int64_t number; /* 0: there is none yet */
    struct uuid nonce;
};
/* ERR_NOT_FOUND: no such storage. */
MUST_CHECK enum err_code catalog_mark_load(struct catalog *catalog, int32_t storage_id, struct catalog_mark *out,
                                           struct error *err);
/* Raises the mark, unless somebody did within every_us, and answers the one that counts: committed before it returns.
 * After a lost answer just ask again. */
MUST_CHECK enum err_code catalog_mark_advance(struct catalog *catalog, int32_t storage_id, int64_t every_us,
                                              struct catalog_mark *out, struct error *err);
/* Raises it above `number`, with an audit row: this catalog is the right one from now on. */
MUST_CHECK enum err_code catalog_mark_adopt(struct catalog_transaction *transaction, int32_t storage_id, int64_t number,
                                            const char *reason, const char *actor, struct catalog_mark *out,
                                            struct error *err);

#endif
