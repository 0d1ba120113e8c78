/* Writes a Parquet file for tests: parquet_write SCHEMA OUTPUT ROW_GROUP_ROWS PAGE_BYTES LEVEL, the schema as a file of JSON, the
 * rows as NDJSON on the standard input. Ends with 1 and the error on the standard error. */
#include <stdio.h>
#include <stdlib.h>

#include "common/ingest/ingest.h"
#include "common/parquet/writer.h"

enum { PIECE_BYTES = 1 << 20 };

static enum err_code write_file(void *context, const void *data, size_t length, struct error *err)
{
    if (fwrite(data, 1, length, context) != length) {
        return err_set(err, ERR_UNAVAILABLE, "could not write %zu bytes", length);
    }
    return OK;
}

static enum err_code read_all(FILE *file, struct buf *out, struct error *err)
{
    size_t length = 1;
    while (file != NULL && length > 0) {
        TRY(buf_reserve(out, PIECE_BYTES, err));
        length = fread(out->data + out->length_bytes, 1, PIECE_BYTES, file);
        out->length_bytes += length;
    }
    return OK;
}

static enum err_code decode(const struct schema *schema, struct ingest **out, struct error *err)
{
    static const struct ingest_options options = {.format = INGEST_NDJSON};
    static const struct ingest_limits limits = {.max_row_bytes = 64 << 20,
                                                .max_reject_text_bytes = 1000,
                                                .max_decoded_bytes = SIZE_MAX,
                                                .max_depth = 64,
                                                .min_timestamp_us = INT64_MIN,
                                                .max_timestamp_us = INT64_MAX};
    AUTO(buf_done) struct buf text = {0};
    size_t count;
    TRY(read_all(stdin, &text, err));
    TRY(ingest_new(schema, &options, &limits, out, err));
    TRY(ingest_feed(*out, text.data, text.length_bytes, err));
    TRY(ingest_finish(*out, err));
    const struct ingest_reject *rejects = ingest_rejects(*out, &count);
    return count == 0 ? OK
                      : err_set(err, ERR_INVALID, "row %llu: %s", (unsigned long long)rejects->row, rejects->reason);
}

static enum err_code run(char **arguments, FILE *output, struct error *err)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(schema_free_auto) struct schema *schema = NULL;
    AUTO(ingest_free_auto) struct ingest *ingest = NULL;
    AUTO(parquet_writer_free_auto) struct parquet_writer *writer = NULL;
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    static const struct uuid table_id = {{0}};
    const struct parquet_sink sink = {.context = output, .write = write_file};
    const struct parquet_writer_options options = {.row_group_rows = (uint32_t)strtoul(arguments[2], NULL, 10),
                                                   .page_bytes = strtoul(arguments[3], NULL, 10),
                                                   .zstd_level = (int)strtol(arguments[4], NULL, 10)};
    FILE *file = fopen(arguments[0], "r");
    TRY(read_all(file, &text, err));
    TRY(schema_parse((const char *)text.data, text.length_bytes, &table_id, &schema, err));
    TRY(decode(schema, &ingest, err));
    TRY(parquet_writer_new(schema, &options, &sink, &writer, err));
    TRY(parquet_writer_append(writer, ingest_batch(ingest), 0, ingest_batch(ingest)->row_count, err));
    return parquet_writer_finish(writer, &summary, err);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    FILE *output = argc == 6 ? fopen(argv[2], "wb") : NULL;
    if (output == NULL) {
        (void)fprintf(stderr, "usage: parquet_write SCHEMA OUTPUT ROW_GROUP_ROWS PAGE_BYTES LEVEL\n");
        return 1;
    }
    enum err_code code = run(argv + 1, output, &err);
    if (code != OK) {
        (void)fprintf(stderr, "%s: %s\n", err_code_name(code), err.text);
    }
    return fclose(output) == 0 && code == OK ? 0 : 1;
}
