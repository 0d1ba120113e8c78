/* CSV of any bytes, and a schema inferred from it. The first byte chooses; the rest is the body. Who is lenient takes at least
 * the rows that who is strict takes. */
#include "common/ingest/infer.h"
#include "tests/fuzz/twice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void infer(const struct ingest_options *options, bool is_whole, const uint8_t *data, size_t size)
{
    const struct infer_options infer_options = {.ingest = *options, .is_whole = is_whole};
    AUTO(infer_proposal_done) struct infer_proposal proposal = {0};
    struct error err = {0};
    enum err_code code = infer_sample(&infer_options, data, size, &proposal, &err);
    check(code == OK ? proposal.timestamp_column < proposal.column_count : err.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    uint8_t choice = data[0];
    const struct ingest_limits limits = {
        .max_row_bytes = choice & 1 ? 64 : 4096,
        .max_reject_text_bytes = 256,
        .max_decoded_bytes = 1 << 20,
        .max_depth = 16,
        .min_timestamp_us = INT64_MIN,
        .max_timestamp_us = INT64_MAX,
        .unknown = choice & 2 ? INGEST_UNKNOWN_IGNORE : INGEST_UNKNOWN_REJECT,
    };
    struct ingest_options options = {
        .format = INGEST_CSV,
        .csv = {.has_no_header = (choice & 4) != 0,
                .delimiter = choice & 8 ? ';' : '\0',
                .quote = choice & 16 ? '\'' : '\0',
                .null_text = choice & 32 ? "NA" : NULL},
    };
    AUTO(ingest_free_auto) struct ingest *strict = NULL;
    AUTO(ingest_free_auto) struct ingest *lenient = NULL;
    size_t piece = 1 + (choice >> 6) * 7;
    enum err_code code = twice_decode(&options, &limits, data + 1, size - 1, piece, &strict);
    options.csv.is_lenient = true;
    enum err_code other = twice_decode(&options, &limits, data + 1, size - 1, piece, &lenient);
    if (code == OK) {
        check(other == OK && ingest_batch(lenient)->row_count >= ingest_batch(strict)->row_count);
    }
    options.csv.is_lenient = (choice & 1) != 0;
    infer(&options, (choice & 2) != 0, data + 1, size - 1);
    return 0;
}
