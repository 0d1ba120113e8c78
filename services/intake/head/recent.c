#include "services/intake/head/recent.h"

#include <string.h>

#include "common/base/clock.h"

bool recent_admit(struct recent *recent, const struct uuid *id, const uint8_t body_sha256[DIGEST_SHA256_BYTES],
                  int64_t now_us)
{
    uint32_t slot;
    memcpy(&slot, id->bytes + sizeof id->bytes - sizeof slot, sizeof slot); /* a version 5 id is a hash already */
    struct recent_key *key = &recent->keys[slot % RECENT_SLOTS];
    if (key->seen_us != 0 && uuid_equal(&key->id, id) && now_us - key->seen_us < CLOCK_MINUTE_US &&
        memcmp(key->body_sha256, body_sha256, DIGEST_SHA256_BYTES) != 0) {
        return false;
    }
    key->id = *id;
    memcpy(key->body_sha256, body_sha256, DIGEST_SHA256_BYTES);
    key->seen_us = now_us;
    return true;
}
