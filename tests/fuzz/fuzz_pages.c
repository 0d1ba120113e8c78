/* libFuzzer: the pages of one column chunk, read into batches. The first bytes say what column it is: physical type, logical
 * type, unit or bits, length or precision, codec, and whether there are nulls; a page begins behind them. Built with
 * -DPARQUET_FUZZ_NO_CRC (as the fuzz variant is) checksums are not compared, so that the decoders are reached. */
#include <stdlib.h>
#include <string.h>

#include "common/parquet/column.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 8, ROWS = 3000, BATCH_ROWS = 700, SKIPPED = 40 };

struct input {
    const uint8_t *data;
    size_t size;
};

static enum err_code input_read(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    const struct input *input = context;
    (void)err;
    if (offset > input->size || length > input->size - offset) {
        abort(); /* the reader promises never to ask for it */
    }
    memcpy(out, input->data + offset, length);
    return OK;
}

static bool choose_form(const uint8_t *head, struct schema_column *column, struct values_form *out)
{
    const struct meta_element element = {.physical = head[0] % PHYSICAL_COUNT,
                                         .logical = head[1] % 18,
                                         .converted = CONVERTED_NONE,
                                         .unit = head[2] % 4,
                                         .integer_bits = 8 << head[2] % 4,
                                         .integer_signed = head[2] & 0x80,
                                         .type_length = head[3],
                                         .precision = head[3] % 40,
                                         .scale = head[4] % 20,
                                         .repetition = head[5] % 2};
    if (parquet_type_from_element(&element, column, &out->layout) != NULL) {
        return false;
    }
    out->type = column->type;
    out->round_times = head[6] & 1;
    return true;
}

/* Batch after batch, passing by some rows between two. */
static void read_chunk(struct column_reader *reader, struct batch *batch)
{
    for (uint32_t left = ROWS; left > 0;) {
        uint32_t rows = left < BATCH_ROWS ? left : BATCH_ROWS;
        batch_clear(batch);
        if (batch_reserve(batch, rows, NULL) != OK || parquet_column_reader_read(reader, batch, 0, rows, NULL) != OK) {
            return;
        }
        left -= rows;
        if (left > SKIPPED) {
            if (parquet_column_reader_skip(reader, SKIPPED, NULL) != OK) {
                return;
            }
            left -= SKIPPED;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES) {
        return 0;
    }
    struct input input = {data, size};
    struct parquet_source source = {&input, size, input_read};
    struct schema_column column = {.id = 1, .name = "c"};
    const struct schema schema = {.version = 1, .column_count = 1, .columns = &column, .timestamp_column = UINT32_MAX};
    AUTO(codec_free_auto) struct codec *codec = NULL;
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(parquet_column_reader_done) struct column_reader reader = {.end_row = ROWS};
    const struct column_chunk chunk = {.begin = HEAD_BYTES, .end = size, .rows = ROWS};
    if (!choose_form(data, &column, &reader.form) || codec_new(0, &codec, NULL) != OK ||
        batch_new(&schema, BATCH_ROWS, &batch, NULL) != OK) {
        return 0;
    }
    reader.pages.source = &source;
    reader.pages.codec = codec;
    reader.pages.kind = data[7] % CODEC_KIND_COUNT;
    parquet_column_reader_start(&reader, &chunk);
    read_chunk(&reader, batch);
    return 0;
}
