#include "common/base/uuid.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"

static void fill_random(uint8_t *bytes, size_t count)
{
    if (getrandom(bytes, count, 0) != (ssize_t)count) { /* up to 256 bytes never come short */
        abort();
    }
}

static void stamp(struct uuid *uuid, uint8_t version)
{
    uuid->bytes[6] = (uint8_t)((uuid->bytes[6] & 0x0f) | (version << 4));
    uuid->bytes[8] = (uint8_t)((uuid->bytes[8] & 0x3f) | 0x80);
}

struct uuid uuid_v7(void)
{
    struct uuid uuid;
    fill_random(uuid.bytes, sizeof uuid.bytes);
    uint64_t now_us = (uint64_t)clock_now_us();
    uint64_t ms = now_us / 1000;
    uint64_t fraction = now_us % 1000 * 4096 / 1000; /* RFC 9562 6.2, method 3 */
    for (int i = 0; i < 6; i++) {
        uuid.bytes[i] = (uint8_t)(ms >> (40 - 8 * i));
    }
    uuid.bytes[6] = (uint8_t)(fraction >> 8);
    uuid.bytes[7] = (uint8_t)fraction;
    stamp(&uuid, 7);
    return uuid;
}

struct uuid uuid_v4(void)
{
    struct uuid uuid;
    fill_random(uuid.bytes, sizeof uuid.bytes);
    stamp(&uuid, 4);
    return uuid;
}

int uuid_compare(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
    return uuid_compare(a, b) == 0;
}

bool uuid_is_nil(const struct uuid *uuid)
{
    static const struct uuid nil;
    return uuid_equal(uuid, &nil);
}

static bool dash_before(int byte_index)
{
    return byte_index == 4 || byte_index == 6 || byte_index == 8 || byte_index == 10;
}

char *uuid_format(const struct uuid *uuid, char text[UUID_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char *at = text;
    for (int i = 0; i < 16; i++) {
        if (dash_before(i)) {
            *at++ = '-';
        }
        *at++ = digits[uuid->bytes[i] >> 4];
        *at++ = digits[uuid->bytes[i] & 15];
    }
    *at = '\0';
    return text;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum err_code uuid_parse(const char *text, size_t length, struct uuid *out, struct error *err)
{
    struct uuid uuid;
    bool good = length == UUID_TEXT_BYTES - 1;
    const char *at = text;
    for (int i = 0; good && i < 16; i++) {
        if (dash_before(i)) {
            good = *at++ == '-';
        }
        int high = good ? hex_value(at[0]) : -1;
        int low = good ? hex_value(at[1]) : -1;
        good = high >= 0 && low >= 0;
        uuid.bytes[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
        at += 2;
    }
    if (!good) {
        return err_set(err, ERR_INVALID, "expected a UUID of 36 characters but found \"%.*s\"",
                       (int)(length > 64 ? 64 : length), text);
    }
    *out = uuid;
    return OK;
}
