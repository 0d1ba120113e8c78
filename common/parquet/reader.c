#include "common/parquet/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parquet/nested.h"
#include "common/parquet/stats.h"

enum { TAIL_BYTES = 8, SMALLEST_FILE_BYTES = 12, FOOTER_MAX_BYTES = 64 << 20, FORGOTTEN_HEADER_MAX_BYTES = 100 };

/* --- footer ------------------------------------------------------------------------------------------------------ */

static enum err_code load_footer(struct parquet_reader *reader, struct error *err)
{
    const struct parquet_source *source = &reader->source;
    uint8_t tail[TAIL_BYTES];
    uint32_t length;
    if (source->size_bytes < SMALLEST_FILE_BYTES) {
        return err_set(err, ERR_CORRUPT, "expected a Parquet file but found only %" PRIu64 " bytes",
                       source->size_bytes);
    }
    TRY(source->read(source->context, source->size_bytes - TAIL_BYTES, TAIL_BYTES, tail, err));
    memcpy(&length, tail, sizeof length);
    if (memcmp(tail + 4, "PARE", 4) == 0) {
        return err_set(err, ERR_INVALID, "could not read the file: its footer is encrypted");
    }
    if (memcmp(tail + 4, "PAR1", 4) != 0) {
        return err_set(err, ERR_CORRUPT, "expected \"PAR1\" at the end of the file");
    }
    if (length > FOOTER_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "expected a footer of at most %d bytes but found %" PRIu32, FOOTER_MAX_BYTES,
                       length);
    }
    if (length + (uint64_t)SMALLEST_FILE_BYTES > source->size_bytes) {
        return err_set(err, ERR_CORRUPT, "expected a footer within %" PRIu64 " bytes but it takes %" PRIu32,
                       source->size_bytes, length);
    }
    reader->footer_at = source->size_bytes - TAIL_BYTES - length;
    TRY(buf_reserve(&reader->footer, (size_t)length + 1, err));
    TRY(source->read(source->context, reader->footer_at, length, reader->footer.data, err));
    reader->footer.length_bytes = length;
    enum err_code code = parquet_meta_decode(reader->footer.data, length, reader->arena, &reader->meta, err);
    return code == OK ? OK : err_wrap(err, "footer");
}

/* --- row groups -------------------------------------------------------------------------------------------------- */

/* Before 1.2.9 parquet-mr forgot the header of the dictionary page when it counted the bytes of a chunk. */
static bool forgets_dictionary_header(const struct parquet_bytes *created_by)
{
    static const char name[] = "parquet-mr";
    char text[64];
    int major, minor, patch;
    if (created_by->length < sizeof name - 1 || memcmp(created_by->data, name, sizeof name - 1) != 0) {
        return false;
    }
    snprintf(text, sizeof text, "%.*s", (int)created_by->length, (const char *)created_by->data);
    if (sscanf(text, "parquet-mr version %9d.%9d.%9d", &major, &minor, &patch) != 3) {
        return true; /* those of long ago gave no version */
    }
    return major < 1 || (major == 1 && (minor < 2 || (minor == 2 && patch < 9)));
}

void parquet_reader_chunk_range(const struct parquet_reader *reader, const struct meta_chunk *chunk,
                                uint64_t *out_begin, uint64_t *out_end)
{
    bool dictionary_first =
        chunk->dictionary_page_offset > 0 && chunk->dictionary_page_offset < chunk->data_page_offset;
    *out_begin = (uint64_t)(dictionary_first ? chunk->dictionary_page_offset : chunk->data_page_offset);
    *out_end = *out_begin + (uint64_t)chunk->compressed_bytes;
    if (*out_end < reader->footer_at) {
        uint64_t left = reader->footer_at - *out_end;
        *out_end += left < reader->chunk_slack_bytes ? left : reader->chunk_slack_bytes;
    }
}

enum err_code parquet_reader_check_place(const struct parquet_reader *reader, const struct meta_chunk *chunk,
                                         uint64_t *out_begin, uint64_t *out_end, struct error *err)
{
    if (chunk->compressed_bytes < 0 || chunk->data_page_offset < 4 || chunk->dictionary_page_offset < 0) {
        return err_set(err, ERR_CORRUPT, "expected a place in the file but found %" PRId64 " bytes at %" PRId64,
                       chunk->compressed_bytes, chunk->data_page_offset);
    }
    parquet_reader_chunk_range(reader, chunk, out_begin, out_end);
    if (*out_begin > reader->footer_at || *out_end > reader->footer_at || *out_end < *out_begin ||
        (uint64_t)chunk->data_page_offset > *out_end) {
        return err_set(err, ERR_CORRUPT,
                       "expected pages within %" PRIu64 " bytes but they begin at %" PRId64 " and end at %" PRIu64,
                       reader->footer_at, chunk->data_page_offset, *out_end);
    }
    return OK;
}

static enum err_code check_chunk(const struct parquet_reader *reader, const struct meta_row_group *group, size_t column,
                                 struct error *err)
{
    const struct meta_chunk *chunk = &group->chunks[reader->layouts[column].chunk];
    const char *name = reader->schema.columns[column].name;
    uint64_t begin, end;
    if (chunk->physical != (int32_t)reader->layouts[column].physical || chunk->value_count != group->row_count) {
        return err_set(err, ERR_CORRUPT,
                       "expected %" PRId64 " values of the schema's type in column \"%s\" but found %" PRId64,
                       group->row_count, name, chunk->value_count);
    }
    if (group->row_count == 0) {
        return OK; /* nothing will be read: some writers give such a chunk no place */
    }
    enum err_code code = parquet_reader_check_place(reader, chunk, &begin, &end, err);
    return code == OK ? OK : err_wrap(err, "column \"%s\"", name);
}

static enum err_code check_row_groups(const struct parquet_reader *reader, struct error *err)
{
    const struct meta_file *meta = &reader->meta;
    uint64_t rows = 0;
    for (size_t g = 0; g < meta->row_group_count; g++) {
        const struct meta_row_group *group = &meta->row_groups[g];
        if (group->row_count < 0) {
            return err_set(err, ERR_CORRUPT, "expected rows in row group %zu but found %" PRId64, g, group->row_count);
        }
        for (size_t i = 0; i < reader->schema.column_count; i++) {
            TRY(check_chunk(reader, group, i, err));
        }
        rows += (uint64_t)group->row_count;
    }
    if (meta->row_count < 0 || rows != (uint64_t)meta->row_count) {
        return err_set(err, ERR_CORRUPT, "expected %" PRId64 " rows but the row groups have %" PRIu64, meta->row_count,
                       rows);
    }
    return OK;
}

enum err_code parquet_reader_open(const struct parquet_source *source, struct parquet_reader **out, struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL || (reader->arena = arena_new(0)) == NULL) {
        return err_no_memory(err, sizeof *reader);
    }
    reader->source = *source;
    TRY(load_footer(reader, err));
    reader->chunk_slack_bytes = forgets_dictionary_header(&reader->meta.created_by) ? FORGOTTEN_HEADER_MAX_BYTES : 0;
    TRY(parquet_reader_fill_schema(reader, err));
    TRY(check_row_groups(reader, err));
    *out = TAKE(reader);
    return OK;
}

void parquet_reader_free(struct parquet_reader *reader)
{
    if (reader != NULL) {
        arena_free(reader->arena);
        buf_done(&reader->footer);
        free(reader);
    }
}

/* --- getters ----------------------------------------------------------------------------------------------------- */

uint64_t parquet_reader_rows(const struct parquet_reader *reader)
{
    return (uint64_t)reader->meta.row_count;
}

size_t parquet_reader_row_groups(const struct parquet_reader *reader)
{
    return reader->meta.row_group_count;
}

uint64_t parquet_reader_row_group_rows(const struct parquet_reader *reader, size_t row_group)
{
    return (uint64_t)reader->meta.row_groups[row_group].row_count;
}

const struct schema *parquet_reader_schema(const struct parquet_reader *reader)
{
    return &reader->schema;
}

size_t parquet_reader_unread_count(const struct parquet_reader *reader)
{
    return reader->unread_count;
}

const char *parquet_reader_unread_name(const struct parquet_reader *reader, size_t i)
{
    return reader->unread[i].name;
}

enum err_code parquet_reader_refuse(const struct parquet_reader *reader, size_t i, struct error *err)
{
    TRY(parquet_nested_check(reader, &reader->unread[i], err));
    return err_set(err, ERR_INVALID, "could not read column \"%s\": %s", reader->unread[i].name, reader->unread[i].why);
}

enum err_code parquet_reader_find(const struct parquet_reader *reader, const char *name, size_t length, uint32_t *out,
                                  struct error *err)
{
    int column = schema_find(&reader->schema, name, length);
    for (size_t i = 0; column < 0 && i < reader->unread_count; i++) {
        if (strlen(reader->unread[i].name) == length && memcmp(reader->unread[i].name, name, length) == 0) {
            return parquet_reader_refuse(reader, i, err);
        }
    }
    if (column < 0) {
        return err_set(err, ERR_NOT_FOUND, "expected a column \"%.*s\" but the file has none", (int)length, name);
    }
    *out = (uint32_t)column;
    return OK;
}

const char *parquet_reader_key_value(const struct parquet_reader *reader, const char *key)
{
    for (size_t i = 0; i < reader->meta.key_value_count; i++) {
        const struct meta_key_value *pair = &reader->meta.key_values[i];
        if (pair->value.data != NULL && pair->key.length == strlen(key) &&
            memcmp(pair->key.data, key, pair->key.length) == 0) {
            return arena_strndup(reader->arena, (const char *)pair->value.data, pair->value.length);
        }
    }
    return NULL;
}

void parquet_reader_stats(const struct parquet_reader *reader, size_t row_group, size_t column,
                          struct column_stats *out)
{
    column_stats_init(out, &reader->schema.columns[column]);
    const struct column_layout *layout = &reader->layouts[column];
    parquet_stats_decode(&reader->meta.row_groups[row_group].chunks[layout->chunk].statistics, &reader->meta, layout,
                         out);
}
