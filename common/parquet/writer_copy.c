/* A row group of another file, taken in whole: it is decoded, by which the checksums of its pages are checked; then the writer
 * copies the pages that it can and encodes the rest. */
#include <string.h>

#include "common/parquet/copier_internal.h"
#include "common/parquet/writer_internal.h"

/* Are the pages of the column in the form in which the writer would write it? */
static bool is_ours(const struct parquet_writer *writer, const struct parquet_reader *reader, size_t row_group,
                    size_t column, int index)
{
    const struct schema_column *to = &writer->schema->columns[column];
    const int32_t codec = writer->options.zstd_level < 0 ? PARQUET_CODEC_UNCOMPRESSED : PARQUET_CODEC_ZSTD;
    struct meta_element element;
    if (index < 0) {
        return false;
    }
    const struct column_layout *layout = &reader->layouts[index];
    parquet_type_to_element(to, &element);
    return reader->schema.columns[index].type == to->type && layout->conversion == CONVERSION_NONE &&
           (int32_t)layout->physical == element.physical && layout->optional == to->nullable &&
           (layout->physical != PHYSICAL_FIXED || layout->type_length == element.type_length) &&
           reader->meta.row_groups[row_group].chunks[layout->chunk].codec == codec;
}

/* Worth a row group of its own, and not beyond what the writer holds anyway. (Only of our own files is it known that a row
 * group of few bytes is not a large one once decoded.) */
static bool is_of_our_size(const struct parquet_writer *writer, const struct parquet_reader *reader, size_t row_group)
{
    const struct parquet_writer_options *options = &writer->options;
    const struct parquet_bytes *by = &reader->meta.created_by;
    const struct meta_row_group *group = &reader->meta.row_groups[row_group];
    if (by->length < strlen(PARQUET_CREATED_BY) ||
        memcmp(by->data, PARQUET_CREATED_BY, strlen(PARQUET_CREATED_BY)) != 0) {
        return false;
    }
    uint64_t rows = (uint64_t)group->row_count, bytes = (uint64_t)group->total_bytes;
    return rows <= options->row_group_rows && bytes <= options->row_group_bytes &&
           (rows * 2 >= options->row_group_rows || bytes * 2 >= options->row_group_bytes);
}

static size_t find_raws(const struct parquet_writer *writer, const struct parquet_copier *copier, size_t row_group,
                        struct parquet_bytes *out)
{
    size_t count = 0;
    for (size_t i = 0; i < writer->schema->column_count; i++) {
        int index = copier->projection->map[i];
        if (is_ours(writer, copier->reader, row_group, i, index)) {
            out[i] = parquet_copier_raw(copier, row_group, index);
            count++;
        }
    }
    return count;
}

enum err_code parquet_writer_copy_group(struct parquet_writer *writer, struct parquet_copier *copier, size_t row_group,
                                        bool *out_taken, struct error *err)
{
    struct batch rows;
    bool has = false;
    *out_taken = false;
    if (!is_of_our_size(writer, copier->reader, row_group)) {
        return OK;
    }
    AUTO(free_auto) struct parquet_bytes *raws = calloc(writer->schema->column_count, sizeof *raws);
    if (raws == NULL) {
        return err_no_memory(err, writer->schema->column_count * sizeof *raws);
    }
    TRY(parquet_copier_load(copier, row_group, writer->options.row_group_bytes, &has, err));
    if (!has || find_raws(writer, copier, row_group, raws) == 0) {
        return OK;
    }
    enum err_code code = parquet_copier_decode(copier, row_group, &rows, err);
    if (code != OK) {
        return code == ERR_INVALID ? OK : code; /* too much at once; whoever reads it in parts may be able to */
    }
    TRY(parquet_writer_flush(writer, err));
    TRY(parquet_writer_admit(writer, &rows, 0, rows.row_count, err));
    TRY(parquet_writer_put_group(writer, &rows, raws, err));
    *out_taken = true;
    return OK;
}
