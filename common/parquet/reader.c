#include "common/parquet/reader.h"

#include <inttypes.h>
#include <string.h>

#include "common/parquet/reader_internal.h"
#include "common/parquet/stats.h"

enum { TAIL_BYTES = 8, SMALLEST_FILE_BYTES = 12, FOOTER_MAX_BYTES = 64 << 20 };

/* --- footer ------------------------------------------------------------------------------------------------------ */

static enum err_code load_footer(struct parquet_reader *reader, uint64_t *out_footer_at, struct error *err)
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
    *out_footer_at = source->size_bytes - TAIL_BYTES - length;
    TRY(buf_reserve(&reader->footer, (size_t)length + 1, err));
    TRY(source->read(source->context, *out_footer_at, length, reader->footer.data, err));
    reader->footer.length_bytes = length;
    enum err_code code = parquet_meta_decode(reader->footer.data, length, reader->arena, &reader->meta, err);
    return code == OK ? OK : err_wrap(err, "footer");
}

/* --- schema ------------------------------------------------------------------------------------------------------ */

static bool has_own_ids(const struct meta_file *meta)
{
    for (size_t i = 1; i < meta->element_count; i++) {
        if (meta->elements[i].field_id < 1) {
            return false;
        }
        for (size_t j = 1; j < i; j++) {
            if (meta->elements[i].field_id == meta->elements[j].field_id) {
                return false;
            }
        }
    }
    return true;
}

static enum err_code fill_column(struct parquet_reader *reader, size_t i, bool own_ids, struct schema_column *out,
                                 struct error *err)
{
    const struct meta_element *element = &reader->meta.elements[i + 1];
    char *name = arena_strndup(reader->arena, (const char *)element->name.data, element->name.length);
    if (name == NULL) {
        return err_no_memory(err, element->name.length);
    }
    if (element->name.length == 0 || strlen(name) != element->name.length) {
        return err_set(err, ERR_CORRUPT, "expected a name without NUL for column %zu", i + 1);
    }
    out->name = name;
    out->id = own_ids ? (uint32_t)element->field_id : (uint32_t)i + 1;
    return parquet_type_from_element(element, name, out, &reader->layouts[i], err);
}

/* The timestamp column is the first that is one and not null, and the sort key the one that every table has: what the
 * table really asks for is known to the catalog. */
static void fill_places(struct parquet_reader *reader)
{
    struct schema *schema = &reader->schema;
    const char *table = parquet_reader_key_value(reader, "granary.table_id");
    const char *version = parquet_reader_key_value(reader, "granary.schema_version");
    schema->timestamp_column = UINT32_MAX;
    for (size_t i = 0; i < schema->column_count && schema->timestamp_column == UINT32_MAX; i++) {
        if (schema->columns[i].type == COLUMN_TIMESTAMP && !schema->columns[i].nullable) {
            schema->timestamp_column = (uint32_t)i;
            schema->sort_key_count = 1;
            schema->sort_keys[0] = (struct sort_key){.column = (uint32_t)i};
        }
    }
    if (table != NULL && uuid_parse(table, strlen(table), &schema->table_id, NULL) != OK) {
        schema->table_id = (struct uuid){0};
    }
    schema->version = 1;
    if (version != NULL && strspn(version, "0123456789") == strlen(version)) {
        long number = strtol(version, NULL, 10);
        schema->version = number >= 1 && number <= INT32_MAX ? (int32_t)number : 1;
    }
}

static enum err_code fill_schema(struct parquet_reader *reader, struct error *err)
{
    const struct meta_file *meta = &reader->meta;
    size_t count = meta->element_count - 1;
    for (size_t i = 1; i < meta->element_count; i++) { /* nested: named before anything is said about counts */
        if (meta->elements[i].child_count > 0 || meta->elements[i].physical < 0) {
            return err_set(err, ERR_INVALID, "could not read column \"%.*s\": nested columns",
                           (int)meta->elements[i].name.length, (const char *)meta->elements[i].name.data);
        }
    }
    if (count == 0 || meta->elements[0].child_count < 0 || (size_t)meta->elements[0].child_count != count) {
        return err_set(err, ERR_CORRUPT, "expected %" PRId32 " columns in the schema but found %zu",
                       meta->elements[0].child_count, count);
    }
    if (count > SCHEMA_MAX_COLUMNS) {
        return err_set(err, ERR_INVALID, "expected at most %d columns but found %zu", SCHEMA_MAX_COLUMNS, count);
    }
    struct schema_column *columns = arena_zalloc(reader->arena, count, sizeof *columns);
    reader->layouts = arena_zalloc(reader->arena, count, sizeof *reader->layouts);
    if (columns == NULL || reader->layouts == NULL) {
        return err_no_memory(err, count * sizeof *columns);
    }
    bool own_ids = has_own_ids(meta);
    for (size_t i = 0; i < count; i++) {
        TRY(fill_column(reader, i, own_ids, &columns[i], err));
    }
    reader->schema.column_count = count;
    reader->schema.columns = columns;
    fill_places(reader);
    return OK;
}

/* --- row groups -------------------------------------------------------------------------------------------------- */

void parquet_reader_chunk_range(const struct meta_chunk *chunk, uint64_t *out_begin, uint64_t *out_end)
{
    bool dictionary_first =
        chunk->dictionary_page_offset > 0 && chunk->dictionary_page_offset < chunk->data_page_offset;
    *out_begin = (uint64_t)(dictionary_first ? chunk->dictionary_page_offset : chunk->data_page_offset);
    *out_end = *out_begin + (uint64_t)chunk->compressed_bytes;
}

static enum err_code check_chunk(const struct parquet_reader *reader, const struct meta_row_group *group, size_t column,
                                 uint64_t footer_at, struct error *err)
{
    const struct meta_chunk *chunk = &group->chunks[column];
    const char *name = reader->schema.columns[column].name;
    uint64_t begin, end;
    if (chunk->encrypted || chunk->external) {
        return err_set(err, ERR_INVALID, "could not read column \"%s\": %s", name,
                       chunk->encrypted ? "it is encrypted" : "it is in another file");
    }
    if (chunk->physical != (int32_t)reader->layouts[column].physical || chunk->value_count != group->row_count) {
        return err_set(err, ERR_CORRUPT,
                       "expected %" PRId64 " values of the schema's type in column \"%s\" but found %" PRId64,
                       group->row_count, name, chunk->value_count);
    }
    if (group->row_count == 0) {
        return OK; /* nothing will be read: some writers give such a chunk no place */
    }
    if (chunk->compressed_bytes < 0 || chunk->data_page_offset < 4 || chunk->dictionary_page_offset < 0) {
        return err_set(err, ERR_CORRUPT, "expected column \"%s\" to have a place in the file", name);
    }
    parquet_reader_chunk_range(chunk, &begin, &end);
    if (begin > footer_at || end > footer_at || end < begin) {
        return err_set(err, ERR_CORRUPT, "expected column \"%s\" within %" PRIu64 " bytes but it ends at %" PRIu64,
                       name, footer_at, end);
    }
    return OK;
}

static enum err_code check_row_groups(const struct parquet_reader *reader, uint64_t footer_at, struct error *err)
{
    const struct meta_file *meta = &reader->meta;
    uint64_t rows = 0;
    for (size_t g = 0; g < meta->row_group_count; g++) {
        const struct meta_row_group *group = &meta->row_groups[g];
        if (group->row_count < 0 || group->chunk_count != reader->schema.column_count) {
            return err_set(err, ERR_CORRUPT, "expected %zu columns in row group %zu but found %zu",
                           reader->schema.column_count, g, group->chunk_count);
        }
        for (size_t i = 0; i < group->chunk_count; i++) {
            TRY(check_chunk(reader, group, i, footer_at, err));
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
    uint64_t footer_at = 0;
    if (reader == NULL || (reader->arena = arena_new(0)) == NULL) {
        return err_no_memory(err, sizeof *reader);
    }
    reader->source = *source;
    TRY(load_footer(reader, &footer_at, err));
    if (reader->meta.encrypted) {
        return err_set(err, ERR_INVALID, "could not read the file: it is encrypted");
    }
    TRY(fill_schema(reader, err));
    TRY(check_row_groups(reader, footer_at, err));
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
    parquet_stats_decode(&reader->meta.row_groups[row_group].chunks[column].statistics, &reader->meta,
                         &reader->layouts[column], out);
}
