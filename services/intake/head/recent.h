/* Keys seen in the last minute, with the digest of their body: so that the same key with another body is refused although
 * the first has not been committed yet. A hint of this head's alone; the catalog decides. One thread at a time. */
#ifndef GRANARY_INTAKE_HEAD_RECENT_H
#define GRANARY_INTAKE_HEAD_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/uuid.h"
#include "common/digest/digest.h"

enum { RECENT_SLOTS = 1 << 15 };

struct recent {
    struct recent_key {
        struct uuid id;
        uint8_t body_sha256[DIGEST_SHA256_BYTES];
        int64_t seen_us;  /* 0: free */
    } keys[RECENT_SLOTS]; /* by the id's last bytes; a newer key takes the place of an older one */
};

/* False when the key was seen within the last minute with another body. Remembers it otherwise. */
bool recent_admit(struct recent *recent, const struct uuid *id, const uint8_t body_sha256[DIGEST_SHA256_BYTES],
                  int64_t now_us);

#endif
