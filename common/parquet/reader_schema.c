/* From the tree of the footer to columns: a leaf right under the root is one, unless it is of a kind that is not read.
 * Those, and everything with branches, are kept aside with the reason, for whoever asks for them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/parquet/reader_internal.h"

/* A child of the root. */
struct branch {
    const struct meta_element *element;
    size_t first_chunk, chunk_count;
};

/* *at moves behind the element and all that is under it. False when the tree says more than there is. */
static bool skip_branch(const struct meta_file *meta, size_t *at, size_t *out_leaves)
{
    size_t leaves = 0;
    for (uint64_t wanted = 1; wanted > 0; wanted--) {
        if (*at >= meta->element_count || meta->elements[*at].child_count < 0) {
            return false;
        }
        const struct meta_element *element = &meta->elements[(*at)++];
        wanted += (uint64_t)element->child_count;
        leaves += element->physical >= 0 && element->child_count == 0;
    }
    *out_leaves = leaves;
    return true;
}

static enum err_code find_branches(const struct parquet_reader *reader, struct branch *out, size_t *out_count,
                                   size_t *out_leaves, struct error *err)
{
    const struct meta_file *meta = &reader->meta;
    size_t at = 1, count = 0, leaves = 0;
    while (at < meta->element_count) {
        struct branch *branch = &out[count++];
        *branch = (struct branch){.element = &meta->elements[at], .first_chunk = leaves};
        if (!skip_branch(meta, &at, &branch->chunk_count)) {
            return err_set(err, ERR_CORRUPT, "expected %zu elements in the schema but it names more",
                           meta->element_count);
        }
        leaves += branch->chunk_count;
    }
    if (count == 0 || meta->elements[0].child_count < 0 || (size_t)meta->elements[0].child_count != count) {
        return err_set(err, ERR_CORRUPT, "expected %" PRId32 " columns in the schema but found %zu",
                       meta->elements[0].child_count, count);
    }
    *out_count = count;
    *out_leaves = leaves;
    return OK;
}

/* What about the pages of a column is not read, in any row group. */
static const char *refuse_chunks(const struct meta_file *meta, size_t chunk)
{
    enum codec_kind kind;
    for (size_t g = 0; g < meta->row_group_count; g++) {
        const struct meta_chunk *one = &meta->row_groups[g].chunks[chunk];
        const char *why = one->encrypted  ? "it is encrypted"
                          : one->external ? "it is in another file"
                                          : parquet_codec_kind(one->codec, &kind);
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

static enum err_code add_column(struct parquet_reader *reader, const struct branch *branch, size_t number,
                                struct schema_column *columns, struct error *err)
{
    const struct meta_element *element = branch->element;
    size_t count = reader->schema.column_count;
    char *name = arena_strndup(reader->arena, (const char *)element->name.data, element->name.length);
    if (name == NULL) {
        return err_no_memory(err, element->name.length);
    }
    if (strlen(name) != element->name.length) {
        return err_set(err, ERR_CORRUPT, "expected a name without NUL for column %zu", number);
    }
    struct schema_column *column = &columns[count];
    const char *why = parquet_type_from_element(element, column, &reader->layouts[count]);
    why = why == NULL ? refuse_chunks(&reader->meta, branch->first_chunk) : why;
    if (why != NULL) {
        *column = (struct schema_column){0};
        reader->unread[reader->unread_count++] = (struct unread_column){.name = name,
                                                                        .why = why,
                                                                        .element = element,
                                                                        .first_chunk = branch->first_chunk,
                                                                        .chunk_count = branch->chunk_count};
        return OK;
    }
    column->name = name;
    column->id = element->field_id > 0 ? (uint32_t)element->field_id : 0;
    reader->layouts[count].chunk = branch->first_chunk;
    reader->schema.column_count++;
    return OK;
}

/* Field ids where every column has one of its own, else 1.. in order. */
static void fill_ids(struct schema_column *columns, size_t count)
{
    bool own = true;
    for (size_t i = 0; i < count && own; i++) {
        own = columns[i].id > 0;
        for (size_t j = 0; j < i && own; j++) {
            own = columns[i].id != columns[j].id;
        }
    }
    for (size_t i = 0; i < count && !own; i++) {
        columns[i].id = (uint32_t)i + 1;
    }
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

static enum err_code check_chunk_counts(const struct meta_file *meta, size_t leaves, struct error *err)
{
    for (size_t g = 0; g < meta->row_group_count; g++) {
        if (meta->row_groups[g].chunk_count != leaves) {
            return err_set(err, ERR_CORRUPT, "expected %zu columns in row group %zu but found %zu", leaves, g,
                           meta->row_groups[g].chunk_count);
        }
    }
    return OK;
}

enum err_code parquet_reader_fill_schema(struct parquet_reader *reader, struct error *err)
{
    const struct meta_file *meta = &reader->meta;
    size_t count = 0, leaves = 0, most = meta->element_count;
    struct branch *branches = arena_zalloc(reader->arena, most, sizeof *branches);
    if (branches == NULL) {
        return err_no_memory(err, most * sizeof *branches);
    }
    TRY(find_branches(reader, branches, &count, &leaves, err));
    TRY(check_chunk_counts(meta, leaves, err));
    if (count > SCHEMA_MAX_COLUMNS) {
        return err_set(err, ERR_INVALID, "expected at most %d columns but found %zu", SCHEMA_MAX_COLUMNS, count);
    }
    struct schema_column *columns = arena_zalloc(reader->arena, count, sizeof *columns);
    reader->layouts = arena_zalloc(reader->arena, count, sizeof *reader->layouts);
    reader->unread = arena_zalloc(reader->arena, count, sizeof *reader->unread);
    if (columns == NULL || reader->layouts == NULL || reader->unread == NULL) {
        return err_no_memory(err, count * sizeof *columns);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(add_column(reader, &branches[i], i + 1, columns, err));
    }
    fill_ids(columns, reader->schema.column_count);
    reader->schema.columns = columns;
    fill_places(reader);
    return OK;
}
