#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "common/digest/digest.h"

static void assert_hex(const void *data, size_t length, const char *hex)
{
    char text[2 * 64 + 1];
    text_hex_encode(data, length, text);
    assert_string_equal(text, hex);
}

/* FIPS 180-2 appendix B */
static const struct {
    const char *text;
    const char *sha256;
} hashes[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void sha256_matches_the_published_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        uint8_t out[DIGEST_SHA256_BYTES];
        digest_sha256(hashes[i].text, strlen(hashes[i].text), out);
        assert_hex(out, sizeof out, hashes[i].sha256);
    }
}

static void a_stream_gives_the_hash_of_all_pieces_and_starts_over(void **state)
{
    (void)state;
    AUTO(digest_sha256_stream_free_auto) struct digest_sha256_stream *stream = digest_sha256_stream_new();
    assert_non_null(stream);
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        uint8_t out[DIGEST_SHA256_BYTES];
        for (const char *at = hashes[i].text; *at != '\0'; at++) {
            digest_sha256_stream_update(stream, at, 1);
        }
        digest_sha256_stream_finish(stream, out);
        assert_hex(out, sizeof out, hashes[i].sha256);
    }
}

/* RFC 4231, cases 1, 2 and 6 (a key longer than a block) */
static void hmac_matches_the_published_vectors(void **state)
{
    (void)state;
    uint8_t key[131];
    uint8_t out[DIGEST_SHA256_BYTES];
    memset(key, 0x0b, 20);
    digest_hmac_sha256(key, 20, "Hi There", 8, out);
    assert_hex(out, sizeof out, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    digest_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out);
    assert_hex(out, sizeof out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    digest_hmac_sha256(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First", 54, out);
    assert_hex(out, sizeof out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void md5_and_crc32_match_the_published_vectors(void **state)
{
    (void)state;
    uint8_t out[DIGEST_MD5_BYTES];
    digest_md5("abc", 3, out);
    assert_hex(out, sizeof out, "900150983cd24fb0d6963f7d28e17f72"); /* RFC 1321 A.5 */
    assert_int_equal(digest_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(digest_crc32(digest_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
    assert_int_equal(digest_crc32(0xcbf43926, NULL, 0), 0xcbf43926);
}

/* Bit by bit, as it is defined. */
static uint32_t slow_crc32(const uint8_t *data, size_t length)
{
    uint32_t state = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        state ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            state = state >> 1 ^ ((state & 1) != 0 ? 0xedb88320U : 0);
        }
    }
    return ~state;
}

static void crc32_is_the_same_of_any_length_from_any_place_and_in_pieces(void **state)
{
    (void)state;
    static uint8_t data[1200];
    uint32_t word = 1;
    for (size_t i = 0; i < sizeof data; i++) {
        word = word * 1664525 + 1013904223;
        data[i] = (uint8_t)(word >> 24);
    }
    for (size_t length = 0; length < 1100; length += length < 400 ? 1 : 7) {
        size_t first = length % 17, cut = length * 2 / 3;
        uint32_t expected = slow_crc32(data + first, length);
        assert_int_equal(digest_crc32(0, data + first, length), expected);
        assert_int_equal(digest_crc32(digest_crc32(0, data + first, cut), data + first + cut, length - cut), expected);
    }
}

static void xxhash_matches_the_published_values(void **state)
{
    (void)state;
    assert_true(digest_xxh64("", 0, 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(digest_xxh64("abc", 3, 0) == UINT64_C(0x44bc2cf5ad770999));
    assert_true(digest_xxh3("", 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(digest_xxh64("abc", 3, 1) != digest_xxh64("abc", 3, 0));
}

static void uuid_v5_matches_the_value_of_rfc_9562(void **state)
{
    (void)state;
    struct uuid dns;
    char text[UUID_TEXT_BYTES];
    assert_int_equal(uuid_parse("6ba7b810-9dad-11d1-80b4-00c04fd430c8", 36, &dns, NULL), OK);
    struct uuid uuid = digest_uuid_v5(&dns, "www.example.com", 15);
    assert_string_equal(uuid_format(&uuid, text), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
}

static void equal_compares_every_byte(void **state)
{
    (void)state;
    uint8_t a[DIGEST_SHA256_BYTES] = {0};
    for (size_t i = 0; i < sizeof a; i++) {
        uint8_t b[DIGEST_SHA256_BYTES] = {0};
        assert_true(digest_equal(a, b, sizeof a));
        b[i] = 1;
        assert_false(digest_equal(a, b, sizeof a));
        assert_true(digest_equal(a, b, i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_matches_the_published_vectors),
        cmocka_unit_test(a_stream_gives_the_hash_of_all_pieces_and_starts_over),
        cmocka_unit_test(hmac_matches_the_published_vectors),
        cmocka_unit_test(md5_and_crc32_match_the_published_vectors),
        cmocka_unit_test(crc32_is_the_same_of_any_length_from_any_place_and_in_pieces),
        cmocka_unit_test(xxhash_matches_the_published_values),
        cmocka_unit_test(uuid_v5_matches_the_value_of_rfc_9562),
        cmocka_unit_test(equal_compares_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
