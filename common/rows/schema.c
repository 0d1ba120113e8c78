#include "common/rows/schema.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/text.h"
#include "common/rows/timestamp.h"

/* Open addressing, slots hold column index + 1; at most half full. */
struct schema_index {
    struct arena *arena; /* holds the schema, its columns, names and this */
    size_t mask;
    uint16_t *by_name;
    uint16_t *by_id;
};

static size_t hash_name(const char *name, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
    }
    return (size_t)(hash ^ hash >> 32);
}

static size_t hash_id(uint32_t id)
{
    return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static bool name_is(const struct schema_column *column, const char *name, size_t length)
{
    return strncmp(column->name, name, length) == 0 && column->name[length] == '\0';
}

int schema_find(const struct schema *schema, const char *name, size_t name_length)
{
    if (memchr(name, '\0', name_length) != NULL) {
        return -1;
    }
    const struct schema_index *index = schema->index;
    if (index == NULL) {
        for (size_t i = 0; i < schema->column_count; i++) {
            if (name_is(&schema->columns[i], name, name_length)) {
                return (int)i;
            }
        }
        return -1;
    }
    for (size_t slot = hash_name(name, name_length) & index->mask; index->by_name[slot] != 0;
         slot = (slot + 1) & index->mask) {
        if (name_is(&schema->columns[index->by_name[slot] - 1], name, name_length)) {
            return index->by_name[slot] - 1;
        }
    }
    return -1;
}

int schema_find_id(const struct schema *schema, uint32_t id)
{
    const struct schema_index *index = schema->index;
    if (index == NULL) {
        for (size_t i = 0; i < schema->column_count; i++) {
            if (schema->columns[i].id == id) {
                return (int)i;
            }
        }
        return -1;
    }
    for (size_t slot = hash_id(id) & index->mask; index->by_id[slot] != 0; slot = (slot + 1) & index->mask) {
        if (schema->columns[index->by_id[slot] - 1].id == id) {
            return index->by_id[slot] - 1;
        }
    }
    return -1;
}

static void index_put(uint16_t *slots, size_t mask, size_t hash, size_t column)
{
    size_t slot = hash & mask;
    while (slots[slot] != 0) {
        slot = (slot + 1) & mask;
    }
    slots[slot] = (uint16_t)(column + 1);
}

/* Indexes column i after checking that neither its name nor its id is known yet. */
static enum err_code index_add(struct schema *schema, size_t i, struct error *err)
{
    const struct schema_column *column = &schema->columns[i];
    if (schema_find(schema, column->name, strlen(column->name)) >= 0) {
        return err_set(err, ERR_INVALID, "expected column names to differ but found \"%s\" twice", column->name);
    }
    int twin = schema_find_id(schema, column->id);
    if (twin >= 0) {
        return err_set(err, ERR_INVALID, "expected column ids to differ but found %" PRIu32 " at \"%s\" and \"%s\"",
                       column->id, schema->columns[twin].name, column->name);
    }
    index_put(schema->index->by_name, schema->index->mask, hash_name(column->name, strlen(column->name)), i);
    index_put(schema->index->by_id, schema->index->mask, hash_id(column->id), i);
    return OK;
}

static enum err_code check_format(const struct schema_column *column, struct error *err)
{
    struct timestamp_format format;
    if (column->format == NULL) {
        return OK;
    }
    if (column->type != COLUMN_TIMESTAMP && column->type != COLUMN_DATE) {
        return err_set(err, ERR_INVALID, "expected a format at timestamps and dates only but found one at \"%s\"",
                       column->name);
    }
    if (timestamp_format_parse(column->format, &format, err) != OK) {
        return err_wrap(err, "column \"%s\"", column->name);
    }
    if (column->type == COLUMN_DATE && timestamp_format_has_time(&format)) {
        return err_set(err, ERR_INVALID,
                       "expected the format of the date \"%s\" to be a pattern without a time of day but found \"%s\"; "
                       "hint: strftime:%%d.%%m.%%Y",
                       column->name, column->format);
    }
    return OK;
}

static enum err_code check_bloom(const struct schema_column *column, struct error *err)
{
    bool is_set = column->bloom_fpp != 0 || column->bloom_distinct != 0;
    if (is_set && !column->bloom) {
        return err_set(
            err, ERR_INVALID,
            "expected bloom_fpp and bloom_distinct at columns with a bloom filter only but found one at \"%s\"",
            column->name);
    }
    if (!(column->bloom_fpp >= 0 && column->bloom_fpp < 1) || column->bloom_distinct < 0) {
        return err_set(err, ERR_INVALID, "expected the bloom_fpp of \"%s\" above 0 and below 1 but found %g",
                       column->name, column->bloom_fpp);
    }
    return OK;
}

static enum err_code check_column(const struct schema_column *column, size_t i, struct error *err)
{
    const char *name = column->name == NULL ? "" : column->name;
    if (!text_is_identifier(name, strlen(name))) {
        return err_set(err, ERR_INVALID,
                       "expected the name of column %zu to be 1 to 63 letters, digits or \"_\", not starting with a "
                       "digit, but found \"%s\"",
                       i + 1, name);
    }
    if (column->id == 0 || column->id > INT32_MAX) {
        return err_set(err, ERR_INVALID, "expected the id of column \"%s\" in 1 to %d but found %" PRIu32, name,
                       INT32_MAX, column->id);
    }
    if ((unsigned)column->type >= COLUMN_TYPE_COUNT) {
        return err_set(err, ERR_INVALID, "expected a type for column \"%s\" but found number %d", name,
                       (int)column->type);
    }
    if (column->type == COLUMN_DECIMAL &&
        (column->precision < 1 || column->precision > 18 || column->scale > column->precision)) {
        return err_set(err, ERR_INVALID,
                       "expected column \"%s\" to have a precision of 1 to 18 and a scale of 0 to the precision but "
                       "found decimal(%d,%d)",
                       name, column->precision, column->scale);
    }
    TRY(check_bloom(column, err));
    return check_format(column, err);
}

static enum err_code check_timestamp(const struct schema *schema, struct error *err)
{
    if (schema->timestamp_column >= schema->column_count) {
        return err_set(err, ERR_INVALID, "expected a timestamp column");
    }
    const struct schema_column *column = &schema->columns[schema->timestamp_column];
    if (column->type != COLUMN_TIMESTAMP || column->nullable) {
        char type[COLUMN_TYPE_TEXT_BYTES];
        return err_set(err, ERR_INVALID,
                       "expected the timestamp column \"%s\" to be of type timestamp and not null but found %s%s",
                       column->name, column_type_format(column, type), column->nullable ? ", nullable" : "");
    }
    return OK;
}

static enum err_code check_sort_keys(const struct schema *schema, struct error *err)
{
    if (schema->sort_key_count < 1 || schema->sort_key_count > SCHEMA_MAX_SORT_COLUMNS) {
        return err_set(err, ERR_INVALID, "expected 1 to %d sort columns but found %zu", SCHEMA_MAX_SORT_COLUMNS,
                       schema->sort_key_count);
    }
    for (size_t i = 0; i < schema->sort_key_count; i++) {
        uint32_t column = schema->sort_keys[i].column;
        if (column >= schema->column_count) {
            return err_set(err, ERR_INVALID, "expected a sort column below %zu but found index %" PRIu32,
                           schema->column_count, column);
        }
        enum column_type type = schema->columns[column].type;
        if (type == COLUMN_FLOAT || type == COLUMN_DOUBLE || type == COLUMN_JSON || type == COLUMN_BYTES) {
            char text[COLUMN_TYPE_TEXT_BYTES];
            return err_set(err, ERR_INVALID, "expected a sort column with a plain order but found \"%s\" of type %s",
                           schema->columns[column].name, column_type_format(&schema->columns[column], text));
        }
        for (size_t j = 0; j < i; j++) {
            if (schema->sort_keys[j].column == column) {
                return err_set(err, ERR_INVALID, "expected sort columns to differ but found \"%s\" twice",
                               schema->columns[column].name);
            }
        }
    }
    return OK;
}

static enum err_code index_new(struct arena *arena, size_t column_count, struct schema_index **out, struct error *err)
{
    size_t slots = 8;
    while (slots < column_count * 2) {
        slots *= 2;
    }
    struct schema_index *index = arena_alloc(arena, sizeof *index);
    uint16_t *by_name = arena_zalloc(arena, slots, sizeof *by_name);
    uint16_t *by_id = arena_zalloc(arena, slots, sizeof *by_id);
    if (index == NULL || by_name == NULL || by_id == NULL) {
        return err_no_memory(err, slots * sizeof *by_name);
    }
    *index = (struct schema_index){.arena = arena, .mask = slots - 1, .by_name = by_name, .by_id = by_id};
    *out = index;
    return OK;
}

static enum err_code copy_columns(struct schema *schema, const struct schema_column *from, struct error *err)
{
    struct arena *arena = schema->index->arena;
    struct schema_column *columns = arena_zalloc(arena, schema->column_count, sizeof *columns);
    if (columns == NULL) {
        return err_no_memory(err, schema->column_count * sizeof *columns);
    }
    schema->columns = columns;
    for (size_t i = 0; i < schema->column_count; i++) {
        TRY(check_column(&from[i], i, err));
        columns[i] = from[i];
        columns[i].name = arena_strdup(arena, from[i].name);
        columns[i].format = from[i].format == NULL ? NULL : arena_strdup(arena, from[i].format);
        if (columns[i].name == NULL || (columns[i].format == NULL && from[i].format != NULL)) {
            return err_no_memory(err, strlen(from[i].name));
        }
        TRY(index_add(schema, i, err));
    }
    return OK;
}

enum err_code schema_new(const struct schema *from, struct schema **out, struct error *err)
{
    if (from->column_count < 1 || from->column_count > SCHEMA_MAX_COLUMNS) {
        return err_set(err, ERR_INVALID, "expected 1 to %d columns but found %zu", SCHEMA_MAX_COLUMNS,
                       from->column_count);
    }
    if (from->version < 1) {
        return err_set(err, ERR_INVALID, "expected a schema version of at least 1 but found %" PRId32, from->version);
    }
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct schema *schema = arena == NULL ? NULL : arena_alloc(arena, sizeof *schema);
    if (schema == NULL) {
        return err_no_memory(err, sizeof *schema);
    }
    *schema = *from;
    TRY(index_new(arena, from->column_count, &schema->index, err));
    TRY(copy_columns(schema, from->columns, err));
    TRY(check_timestamp(schema, err));
    TRY(check_sort_keys(schema, err));
    (void)TAKE(arena); /* the schema's index holds it from here */
    *out = schema;
    return OK;
}

void schema_free(struct schema *schema)
{
    if (schema != NULL) {
        arena_free(schema->index->arena);
    }
}

static bool type_widens(const struct schema_column *from, const struct schema_column *to)
{
    if (from->type == to->type) {
        return from->type != COLUMN_DECIMAL || (from->scale == to->scale && from->precision <= to->precision);
    }
    return (from->type == COLUMN_INT32 && to->type == COLUMN_INT64) ||
           (from->type == COLUMN_FLOAT && to->type == COLUMN_DOUBLE);
}

static enum err_code reconcile_column(const struct schema *from, const struct schema_column *to, int index,
                                      struct error *err)
{
    if (index < 0) {
        return to->nullable ? OK
                            : err_set(err, ERR_INVALID,
                                      "expected column \"%s\" (id %" PRIu32 "), which must not be null, but the rows "
                                      "of schema version %" PRId32 " lack it",
                                      to->name, to->id, from->version);
    }
    const struct schema_column *source = &from->columns[index];
    char from_type[COLUMN_TYPE_TEXT_BYTES];
    char to_type[COLUMN_TYPE_TEXT_BYTES];
    if (!type_widens(source, to)) {
        return err_set(err, ERR_INVALID, "expected column \"%s\" to be readable as %s but found %s", to->name,
                       column_type_format(to, to_type), column_type_format(source, from_type));
    }
    if (source->nullable && !to->nullable) {
        return err_set(err, ERR_INVALID,
                       "expected column \"%s\" never to be null but schema version %" PRId32 " allows it", to->name,
                       from->version);
    }
    return OK;
}

enum err_code schema_reconcile(const struct schema *from, const struct schema *to, int *map, struct error *err)
{
    for (size_t i = 0; i < to->column_count; i++) {
        TRY(reconcile_column(from, &to->columns[i], schema_find_id(from, to->columns[i].id), err));
    }
    for (size_t i = 0; map != NULL && i < to->column_count; i++) {
        map[i] = schema_find_id(from, to->columns[i].id);
    }
    return OK;
}
