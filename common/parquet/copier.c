#include <string.h>

#include "common/parquet/copier_internal.h"

void parquet_copier_free(struct parquet_copier *copier)
{
    if (copier != NULL) {
        parquet_cursor_free(copier->cursor);
        batch_free(copier->converted);
        buf_done(&copier->bytes);
        free(copier);
    }
}

/* Out of the piece; what is not in it is asked of the file. */
static enum err_code read_piece(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    const struct parquet_copier *copier = context;
    if (offset < copier->begin || offset + length > copier->end) {
        const struct parquet_source *file = &copier->reader->source;
        return file->read(file->context, offset, length, out, err);
    }
    memcpy(out, copier->bytes.data + (offset - copier->begin), length);
    return OK;
}

enum err_code parquet_copier_new(struct parquet_reader *reader, const struct parquet_projection *projection,
                                 struct parquet_copier **out, struct error *err)
{
    struct parquet_copier *copier = calloc(1, sizeof *copier);
    if (copier == NULL) {
        return err_no_memory(err, sizeof *copier);
    }
    copier->reader = reader;
    copier->projection = projection;
    copier->view = *reader;
    copier->view.source.context = copier;
    copier->view.source.read = read_piece;
    *out = copier;
    return OK;
}

static const struct meta_chunk *chunk_of(const struct parquet_reader *reader, size_t row_group, size_t column)
{
    return &reader->meta.row_groups[row_group].chunks[reader->layouts[column].chunk];
}

enum err_code parquet_copier_load(struct parquet_copier *copier, size_t row_group, uint64_t most_bytes, bool *out_has,
                                  struct error *err)
{
    const struct parquet_source *file = &copier->reader->source;
    uint64_t begin = UINT64_MAX, end = 0, wanted = 0;
    for (size_t i = 0; i < copier->projection->column_count; i++) {
        uint64_t first, last;
        parquet_reader_chunk_range(copier->reader, chunk_of(copier->reader, row_group, copier->projection->columns[i]),
                                   &first, &last);
        begin = first < begin ? first : begin;
        end = last > end ? last : end;
        wanted += last - first;
    }
    *out_has = wanted > 0 && wanted <= most_bytes && end - begin <= 2 * wanted;
    if (!*out_has) {
        return OK;
    }
    size_t length = (size_t)(end - begin);
    copier->end = copier->begin; /* nothing, should the read fail */
    buf_clear(&copier->bytes);
    TRY(buf_reserve(&copier->bytes, length, err));
    TRY(file->read(file->context, begin, length, copier->bytes.data, err));
    copier->bytes.length_bytes = length;
    copier->begin = begin;
    copier->end = end;
    return OK;
}

struct parquet_bytes parquet_copier_raw(const struct parquet_copier *copier, size_t row_group, int column)
{
    uint64_t begin, end;
    parquet_reader_chunk_range(copier->reader, chunk_of(copier->reader, row_group, (size_t)column), &begin, &end);
    return (struct parquet_bytes){copier->bytes.data + (begin - copier->begin), (uint32_t)(end - begin)};
}

enum err_code parquet_copier_decode(struct parquet_copier *copier, size_t row_group, struct batch *out,
                                    struct error *err)
{
    const struct parquet_projection *projection = copier->projection;
    uint32_t rows = (uint32_t)copier->reader->meta.row_groups[row_group].row_count;
    const struct batch *batch = NULL;
    if (copier->cursor == NULL) {
        const struct parquet_cursor_options options = {
            .columns = projection->columns, .column_count = projection->column_count, .batch_rows = BATCH_MAX_ROWS};
        TRY(parquet_cursor_open(&copier->view, &options, &copier->cursor, err));
    }
    parquet_cursor_seek(copier->cursor, row_group);
    TRY(parquet_cursor_next(copier->cursor, &batch, err));
    if (batch != NULL && projection->converts) {
        batch_free(TAKE(copier->converted));
        TRY(batch_convert(batch, projection->to, &copier->converted, err));
        batch = copier->converted;
    }
    if (batch == NULL || batch->row_count != rows) {
        return err_set(err, ERR_CORRUPT, "expected %u rows in row group %zu but found %u", rows, row_group,
                       batch != NULL ? batch->row_count : 0);
    }
    *out = *batch;
    out->schema = projection->to; /* its sort keys, not the file's; the columns are the same */
    return OK;
}
