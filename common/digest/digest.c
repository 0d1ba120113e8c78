/* EVP is used for everything that OpenSSL has, because it picks the processor's SHA instructions. The algorithm objects
 * are fetched once: an implicit fetch costs more than hashing a kilobyte. */
#include "common/digest/digest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <xxhash.h>
#include <zlib.h>

#include "common/digest/crc32.h"

enum { SHA1_BYTES = 20, HMAC_BLOCK_BYTES = 64 };

static struct {
    pthread_once_t once;
    EVP_MD *sha256;
    EVP_MD *sha1;
    EVP_MD *md5;
} algorithms = {.once = PTHREAD_ONCE_INIT};

/* A failure here or below is a broken OpenSSL or no memory for a few hundred bytes. No caller could go on without the
 * hash that it asked for, so the process ends. */
static void require(bool good)
{
    if (!good) {
        abort();
    }
}

static void free_algorithms(void)
{
    EVP_MD_free(algorithms.sha256);
    EVP_MD_free(algorithms.sha1);
    EVP_MD_free(algorithms.md5);
}

static void fetch_algorithms(void)
{
    algorithms.sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    algorithms.sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
    algorithms.md5 = EVP_MD_fetch(NULL, "MD5", NULL);
    require(algorithms.sha256 != NULL && algorithms.sha1 != NULL && algorithms.md5 != NULL);
    OPENSSL_atexit(free_algorithms);
}

static const EVP_MD *sha256(void)
{
    require(pthread_once(&algorithms.once, fetch_algorithms) == 0);
    return algorithms.sha256;
}

static void hash_once(const EVP_MD *algorithm, const void *data, size_t length, uint8_t *out)
{
    require(EVP_Digest(data, length, out, NULL, algorithm, NULL) == 1);
}

void digest_sha256(const void *data, size_t length, uint8_t out[DIGEST_SHA256_BYTES])
{
    hash_once(sha256(), data, length, out);
}

void digest_md5(const void *data, size_t length, uint8_t out[DIGEST_MD5_BYTES])
{
    (void)sha256(); /* fetches all of them */
    hash_once(algorithms.md5, data, length, out);
}

struct digest_sha256_stream {
    EVP_MD_CTX *hash;
};

void digest_sha256_stream_free(struct digest_sha256_stream *stream)
{
    if (stream != NULL) {
        EVP_MD_CTX_free(stream->hash);
        free(stream);
    }
}

struct digest_sha256_stream *digest_sha256_stream_new(void)
{
    AUTO(digest_sha256_stream_free_auto) struct digest_sha256_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return NULL;
    }
    stream->hash = EVP_MD_CTX_new();
    if (stream->hash == NULL || EVP_DigestInit_ex2(stream->hash, sha256(), NULL) != 1) {
        return NULL;
    }
    return TAKE(stream);
}

void digest_sha256_stream_update(struct digest_sha256_stream *stream, const void *data, size_t length)
{
    require(EVP_DigestUpdate(stream->hash, data, length) == 1);
}

void digest_sha256_stream_finish(struct digest_sha256_stream *stream, uint8_t out[DIGEST_SHA256_BYTES])
{
    require(EVP_DigestFinal_ex(stream->hash, out, NULL) == 1);
    require(EVP_DigestInit_ex2(stream->hash, NULL, NULL) == 1);
}

/* RFC 2104: H(key ^ opad, H(key ^ ipad, data)). Written out on the stream above, which spares a second home for contexts. */
void digest_hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
                        uint8_t out[DIGEST_SHA256_BYTES])
{
    AUTO(digest_sha256_stream_free_auto) struct digest_sha256_stream *stream = digest_sha256_stream_new();
    require(stream != NULL);
    uint8_t block[HMAC_BLOCK_BYTES] = {0};
    if (key_length > sizeof block) {
        digest_sha256(key, key_length, block);
    } else if (key_length > 0) {
        memcpy(block, key, key_length);
    }
    uint8_t pad[HMAC_BLOCK_BYTES];
    for (size_t i = 0; i < sizeof pad; i++) {
        pad[i] = block[i] ^ 0x36;
    }
    digest_sha256_stream_update(stream, pad, sizeof pad);
    digest_sha256_stream_update(stream, data, length);
    uint8_t inner[DIGEST_SHA256_BYTES];
    digest_sha256_stream_finish(stream, inner);
    for (size_t i = 0; i < sizeof pad; i++) {
        pad[i] = block[i] ^ 0x5c;
    }
    digest_sha256_stream_update(stream, pad, sizeof pad);
    digest_sha256_stream_update(stream, inner, sizeof inner);
    digest_sha256_stream_finish(stream, out);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(pad, sizeof pad);
}

uint32_t digest_crc32(uint32_t crc, const void *data, size_t length)
{
    size_t done = digest_crc32_fold(&crc, data, length), left = length - done;
    return left == 0
               ? crc
               : (uint32_t)crc32_z(crc, (const uint8_t *)data + done, left); /* zlib takes a NULL as "start over" */
}

uint64_t digest_xxh64(const void *data, size_t length, uint64_t seed)
{
    return XXH64(data, length, seed);
}

uint64_t digest_xxh3(const void *data, size_t length)
{
    return XXH3_64bits(data, length);
}

static void free_hash(EVP_MD_CTX **hash)
{
    EVP_MD_CTX_free(*hash);
}

struct uuid digest_uuid_v5(const struct uuid *namespace_id, const void *name, size_t length)
{
    (void)sha256();
    AUTO(free_hash) EVP_MD_CTX *hash = EVP_MD_CTX_new();
    uint8_t sum[SHA1_BYTES];
    require(hash != NULL && EVP_DigestInit_ex2(hash, algorithms.sha1, NULL) == 1 &&
            EVP_DigestUpdate(hash, namespace_id->bytes, sizeof namespace_id->bytes) == 1 &&
            EVP_DigestUpdate(hash, name, length) == 1 && EVP_DigestFinal_ex(hash, sum, NULL) == 1);
    struct uuid uuid;
    memcpy(uuid.bytes, sum, sizeof uuid.bytes);
    uuid.bytes[6] = (uint8_t)((uuid.bytes[6] & 0x0f) | 0x50);
    uuid.bytes[8] = (uint8_t)((uuid.bytes[8] & 0x3f) | 0x80);
    return uuid;
}

bool digest_equal(const void *a, const void *b, size_t length)
{
    return CRYPTO_memcmp(a, b, length) == 0;
}
