/* Hashes, by OpenSSL, zlib and xxHash. The one home of their headers. */
#ifndef GRANARY_DIGEST_DIGEST_H
#define GRANARY_DIGEST_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"
#include "common/base/uuid.h"

enum { DIGEST_SHA256_BYTES = 32, DIGEST_SHA256_TEXT_BYTES = 65, DIGEST_MD5_BYTES = 16 };

void digest_sha256(const void *data, size_t length, uint8_t out[DIGEST_SHA256_BYTES]);

struct digest_sha256_stream;
struct digest_sha256_stream *digest_sha256_stream_new(void); /* NULL when out of memory */
void digest_sha256_stream_free(struct digest_sha256_stream *stream);
DEFINE_AUTO(struct digest_sha256_stream, digest_sha256_stream_free)
void digest_sha256_stream_update(struct digest_sha256_stream *stream, const void *data, size_t length);
void digest_sha256_stream_finish(struct digest_sha256_stream *stream,
                                 uint8_t out[DIGEST_SHA256_BYTES]); /* then reset */

void digest_hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
                        uint8_t out[DIGEST_SHA256_BYTES]);
void digest_md5(const void *data, size_t length, uint8_t out[DIGEST_MD5_BYTES]);

uint32_t digest_crc32(uint32_t crc, const void *data,
                      size_t length); /* zlib's, as Parquet pages want it; start with 0 */
uint64_t digest_xxh64(const void *data, size_t length, uint64_t seed); /* Parquet bloom filters: seed 0 */
uint64_t digest_xxh3(const void *data, size_t length);

/* RFC 9562 version 5 (SHA-1) of name in the namespace. */
struct uuid digest_uuid_v5(const struct uuid *namespace_id, const void *name, size_t length);

/* Same time whatever differs. */
bool digest_equal(const void *a, const void *b, size_t length);

#endif
