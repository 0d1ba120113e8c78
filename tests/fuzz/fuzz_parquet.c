/* libFuzzer: any bytes as a Parquet file, read to the end. Built with -DPARQUET_FUZZ_NO_CRC the checksums are not
 * compared, so that the decoders are reached. Corpus: files of the writer and of the test vectors. */
#include <stdint.h>
#include <string.h>

#include "common/parquet/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

static enum err_code input_read(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    const struct input *input = context;
    if (offset > input->size || length > input->size - offset) {
        __builtin_trap(); /* the reader promises never to ask for it */
    }
    (void)err;
    memcpy(out, input->data + offset, length);
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct parquet_source source = {&input, size, input_read};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    const struct batch *batch = NULL;
    uint64_t rows = 0;
    if (parquet_reader_open(&source, &reader, NULL) != OK || parquet_cursor_open(reader, NULL, &cursor, NULL) != OK) {
        return 0;
    }
    do {
        if (parquet_cursor_next(cursor, &batch, NULL) != OK) {
            break;
        }
        rows += batch != NULL ? batch->row_count : 0;
    } while (batch != NULL && rows < 1000000);
    return 0;
}
