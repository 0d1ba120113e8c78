/* Finds the distinct values of a column chunk and numbers them in the order of their first appearance. */
#ifndef GRANARY_PARQUET_DICTIONARY_H
#define GRANARY_PARQUET_DICTIONARY_H

#include "common/parquet/dense.h"

struct dictionary {
    size_t limit_bytes;
    size_t most_entries;
    size_t slot_mask;
    uint32_t *slots;        /* owned; entry + 1, or 0 */
    uint32_t *first_values; /* owned; per entry the value that brought it */
    struct buf codes;       /* uint32_t per value */
    uint32_t count;         /* entries */
    size_t plain_bytes;     /* of the entries */
};

MUST_CHECK enum err_code parquet_dictionary_new(size_t limit_bytes, struct dictionary **out, struct error *err);
void parquet_dictionary_free(struct dictionary *dictionary);
DEFINE_AUTO(struct dictionary, parquet_dictionary_free)

/* *out_fits is false when the entries pass the limit, or when most of the first values are distinct: then codes and
 * entries mean nothing. */
MUST_CHECK enum err_code parquet_dictionary_build(struct dictionary *dictionary, const struct dense *dense,
                                                  bool *out_fits, struct error *err);
static inline const uint32_t *parquet_dictionary_codes(const struct dictionary *dictionary)
{
    return (const uint32_t *)(const void *)dictionary->codes.data;
}
/* Appends the entries in PLAIN form. */
MUST_CHECK enum err_code parquet_dictionary_encode(const struct dictionary *dictionary, const struct dense *dense,
                                                   struct buf *out, struct error *err);

#endif
