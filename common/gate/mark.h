/* The store's side of the high-water mark: small objects "granary-marks/<number>", created if absent and never changed.
 * ERR_DENIED means that a mark says no; a store that cannot be asked, for whatever reason, is ERR_UNAVAILABLE or
 * ERR_TIMEOUT. */
#ifndef GRANARY_GATE_MARK_H
#define GRANARY_GATE_MARK_H

#include "common/catalog/marks.h"
#include "common/store/store.h"

#define GATE_MARK_PREFIX "granary-marks/"
enum {
    GATE_MARK_DIGITS = 19, /* of a number below 2^63, zeros in front: byte order is the order of numbers */
    GATE_MARK_KEY_BYTES = sizeof GATE_MARK_PREFIX + GATE_MARK_DIGITS + 1, /* and a sign, for the compiler */
    GATE_MARKS_KEPT = 16
};
const char *gate_mark_key(int64_t number, char key[GATE_MARK_KEY_BYTES]);
/* False for what is no key of a mark. */
bool gate_mark_parse(const char *key, int64_t *out_number);

/* Creates the mark; finding the same one is success. ERR_DENIED: another catalog has taken this number. */
MUST_CHECK enum err_code gate_mark_put(struct store *store, const struct uuid *deployment_id,
                                       const struct catalog_mark *mark, struct error *err);
/* Looks only. ERR_DENIED as above; ERR_NOT_FOUND: it is not there. */
MUST_CHECK enum err_code gate_mark_compare(struct store *store, const struct uuid *deployment_id,
                                           const struct catalog_mark *mark, struct error *err);
/* The first mark above `number`; 0 when there is none. ERR_DENIED: an object that is no mark is in the way. */
MUST_CHECK enum err_code gate_mark_above(struct store *store, int64_t number, int64_t *out_above, struct error *err);
/* The highest number there is; 0 when there is none. Reads them all: they are few. */
MUST_CHECK enum err_code gate_mark_newest(struct store *store, int64_t *out_number, struct error *err);
/* Deletes those that are more than GATE_MARKS_KEPT below `number`. */
MUST_CHECK enum err_code gate_mark_prune(struct store *store, int64_t number, struct error *err);

#endif
