/* JSON bodies of any bytes, form and compression. The first byte chooses; the rest is the body. */
#include "tests/fuzz/twice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    uint8_t choice = data[0];
    const struct ingest_limits limits = {
        .max_row_bytes = 512,
        .max_reject_text_bytes = choice & 8 ? 64 : 1024,
        .max_decoded_bytes = 1 << 20,
        .max_depth = 16,
        .min_timestamp_us = INT64_MIN,
        .max_timestamp_us = INT64_MAX,
        .unknown = choice & 16 ? INGEST_UNKNOWN_IGNORE : INGEST_UNKNOWN_REJECT,
    };
    const struct ingest_options options = {
        .format = choice & 1 ? INGEST_JSON_ARRAY : INGEST_NDJSON,
        .compression = choice & 2 ? (choice & 4 ? INGEST_GZIP : INGEST_ZSTD) : INGEST_PLAIN,
    };
    AUTO(ingest_free_auto) struct ingest *ingest = NULL;
    (void)!twice_decode(&options, &limits, data + 1, size - 1, 1 + (choice >> 5) * 5, &ingest);
    return 0;
}
