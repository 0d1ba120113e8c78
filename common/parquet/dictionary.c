/* Open addressing with linear probing; the table is twice as large as the entries that the limit allows, so that it
 * never needs to grow. Values equal to the one before them are not hashed: sorted and repetitive columns are common. */
#include "common/parquet/dictionary.h"

#include <string.h>

#include "common/digest/digest.h"

enum {
    SMALLEST_ENTRY_BYTES = 4,
    TRIAL_VALUES =
        8192 /* when more than three quarters of so many are distinct, a dictionary is not worth the search */
};

enum err_code parquet_dictionary_new(size_t limit_bytes, struct dictionary **out, struct error *err)
{
    AUTO(parquet_dictionary_free_auto) struct dictionary *dictionary = calloc(1, sizeof *dictionary);
    if (dictionary == NULL) {
        return err_no_memory(err, sizeof *dictionary);
    }
    size_t slots = 16;
    dictionary->limit_bytes = limit_bytes;
    dictionary->most_entries = limit_bytes / SMALLEST_ENTRY_BYTES;
    while (slots < 2 * dictionary->most_entries) {
        slots *= 2;
    }
    dictionary->slot_mask = slots - 1;
    dictionary->slots = malloc(slots * sizeof *dictionary->slots);
    dictionary->first_values = malloc((dictionary->most_entries + 1) * sizeof *dictionary->first_values);
    if (dictionary->slots == NULL || dictionary->first_values == NULL) {
        return err_no_memory(err, slots * sizeof *dictionary->slots);
    }
    *out = TAKE(dictionary);
    return OK;
}

void parquet_dictionary_free(struct dictionary *dictionary)
{
    if (dictionary != NULL) {
        free(dictionary->slots);
        free(dictionary->first_values);
        buf_done(&dictionary->codes);
        free(dictionary);
    }
}

static inline uint64_t hash_u64(uint64_t value)
{
    value *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    return value ^ value >> 32;
}

static inline uint64_t hash_u32(uint32_t value)
{
    return hash_u64(value);
}

static inline bool goes_on(const struct dictionary *dictionary, size_t done)
{
    return dictionary->plain_bytes <= dictionary->limit_bytes && dictionary->count <= dictionary->most_entries &&
           (done > TRIAL_VALUES || dictionary->count <= TRIAL_VALUES / 4 * 3);
}

#define DEFINE_BUILD_(name, type, hash)                                                                 \
    static bool build_##name(struct dictionary *dictionary, const struct dense *dense, uint32_t *codes) \
    {                                                                                                   \
        const type *values = (const void *)dense->values;                                               \
        for (size_t i = 0; i < dense->count; i++) {                                                     \
            if (i > 0 && values[i] == values[i - 1]) {                                                  \
                codes[i] = codes[i - 1];                                                                \
                continue;                                                                               \
            }                                                                                           \
            size_t slot = hash(values[i]) & dictionary->slot_mask;                                      \
            uint32_t entry;                                                                             \
            while ((entry = dictionary->slots[slot]) != 0 &&                                            \
                   values[dictionary->first_values[entry - 1]] != values[i]) {                          \
                slot = (slot + 1) & dictionary->slot_mask;                                              \
            }                                                                                           \
            if (entry == 0) {                                                                           \
                dictionary->plain_bytes += sizeof(type);                                                \
                dictionary->first_values[dictionary->count] = (uint32_t)i;                              \
                entry = dictionary->slots[slot] = ++dictionary->count;                                  \
                if (!goes_on(dictionary, i)) {                                                          \
                    return false;                                                                       \
                }                                                                                       \
            }                                                                                           \
            codes[i] = entry - 1;                                                                       \
        }                                                                                               \
        return true;                                                                                    \
    }
DEFINE_BUILD_(u32, uint32_t, hash_u32)
DEFINE_BUILD_(u64, uint64_t, hash_u64)
#undef DEFINE_BUILD_

/* Texts and uuids. */
static bool build_bytes(struct dictionary *dictionary, const struct dense *dense, uint32_t *codes)
{
    size_t last_length = 0, prefix_bytes = dense->width > 0 ? 0 : sizeof(uint32_t);
    const uint8_t *last = NULL;
    for (size_t i = 0; i < dense->count; i++) {
        size_t length;
        const uint8_t *value = parquet_dense_value(dense, i, &length);
        if (i > 0 && length == last_length && (length == 0 || memcmp(value, last, length) == 0)) {
            codes[i] = codes[i - 1];
            continue;
        }
        last = value;
        last_length = length;
        size_t slot = digest_xxh3(value, length) & dictionary->slot_mask;
        uint32_t entry;
        while ((entry = dictionary->slots[slot]) != 0) {
            size_t other_length;
            const uint8_t *other = parquet_dense_value(dense, dictionary->first_values[entry - 1], &other_length);
            if (length == other_length && (length == 0 || memcmp(value, other, length) == 0)) {
                break;
            }
            slot = (slot + 1) & dictionary->slot_mask;
        }
        if (entry == 0) {
            dictionary->plain_bytes += length + prefix_bytes;
            dictionary->first_values[dictionary->count] = (uint32_t)i;
            entry = dictionary->slots[slot] = ++dictionary->count;
            if (!goes_on(dictionary, i)) {
                return false;
            }
        }
        codes[i] = entry - 1;
    }
    return true;
}

enum err_code parquet_dictionary_build(struct dictionary *dictionary, const struct dense *dense, bool *out_fits,
                                       struct error *err)
{
    buf_clear(&dictionary->codes);
    TRY(buf_reserve(&dictionary->codes, (dense->count + 1) * sizeof(uint32_t), err));
    uint32_t *codes = (uint32_t *)(void *)dictionary->codes.data;
    memset(dictionary->slots, 0, (dictionary->slot_mask + 1) * sizeof *dictionary->slots);
    dictionary->count = 0;
    dictionary->plain_bytes = 0;
    if (dense->width == 4) {
        *out_fits = build_u32(dictionary, dense, codes);
    } else if (dense->width == 8) {
        *out_fits = build_u64(dictionary, dense, codes);
    } else {
        *out_fits = build_bytes(dictionary, dense, codes);
    }
    return OK;
}

enum err_code parquet_dictionary_encode(const struct dictionary *dictionary, const struct dense *dense, struct buf *out,
                                        struct error *err)
{
    TRY(buf_reserve(out, dictionary->plain_bytes, err));
    for (uint32_t i = 0; i < dictionary->count; i++) {
        size_t length;
        const uint8_t *value = parquet_dense_value(dense, dictionary->first_values[i], &length);
        if (dense->width == 0) {
            uint32_t prefix = (uint32_t)length;
            TRY(buf_append(out, &prefix, sizeof prefix, err));
        }
        TRY(buf_append(out, value, length, err));
    }
    return OK;
}
