/* Batches from the wire. The guard would keep the fuzzer out, so it is put right first (unless the first byte is 0); what
 * decodes must encode to a batch that decodes to the same. */
#include <stdlib.h>
#include <string.h>

#include "common/digest/digest.h"
#include "common/rows/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 20, HEADER_BYTES = 28, STORED_BYTES_AT = 24, GUARD_BYTES = 8 };

static const struct schema_column columns[] = {
    {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    {.id = 2, .name = "b", .type = COLUMN_BOOL, .nullable = true},
    {.id = 3, .name = "s", .type = COLUMN_STRING, .nullable = true},
    {.id = 4, .name = "u", .type = COLUMN_UUID, .nullable = true},
};
static const struct schema schema = {.version = 1, .column_count = 4, .columns = columns, .sort_key_count = 1};

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static void set_guard(uint8_t *bytes, size_t size)
{
    uint32_t stored = (uint32_t)(size - HEADER_BYTES - GUARD_BYTES);
    memcpy(bytes + STORED_BYTES_AT, &stored, sizeof stored);
    uint64_t guard = digest_xxh3(bytes, size - GUARD_BYTES);
    memcpy(bytes + size - GUARD_BYTES, &guard, sizeof guard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    size_t length = size - 1;
    AUTO(free_auto) uint8_t *bytes = malloc(length);
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(batch_free_auto) struct batch *again = NULL;
    AUTO(buf_done) struct buf encoded = {0};
    AUTO(buf_done) struct buf twice = {0};
    size_t used;
    check(bytes != NULL);
    memcpy(bytes, data + 1, length);
    if (data[0] != 0 && length >= HEADER_BYTES + GUARD_BYTES) {
        set_guard(bytes, length);
    }
    if (batch_decode(bytes, length, &schema, MAX_BYTES, &batch, &used, NULL) != OK) {
        return 0;
    }
    check(used <= length);
    AUTO(free_auto) uint32_t *order = calloc(batch->row_count + 1, sizeof *order);
    check(order != NULL && batch_sort_order(batch, order, NULL) == OK);
    for (uint32_t i = 1; i < batch->row_count; i++) {
        check(batch_compare_rows(batch, order[i - 1], batch, order[i]) <= 0);
    }
    check(batch_encode(batch, &encoded, NULL) == OK);
    check(batch_decode(encoded.data, encoded.length_bytes, &schema, MAX_BYTES, &again, &used, NULL) == OK);
    check(batch_encode(again, &twice, NULL) == OK);
    check(encoded.length_bytes == twice.length_bytes && memcmp(encoded.data, twice.data, twice.length_bytes) == 0);
    return 0;
}
