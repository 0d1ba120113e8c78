/* Schemas as JSON: the form of the catalog and of the HTTP API. */
#include <inttypes.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/json/json.h"
#include "common/rows/schema.h"

enum { MAX_TEXT_BYTES = 1 << 20 };

/* NULL where the JSON leaves it out. */
struct defaults {
    bool has_ids;
    const char *timestamp;
};

static enum err_code parse_column(const struct json *json, const struct json_place *at, size_t index,
                                  const struct defaults *defaults, struct schema_column *column, struct error *err)
{
    static const char *const members[] = {"id",        "name",           "type",   "nullable", "bloom",
                                          "bloom_fpp", "bloom_distinct", "format", NULL};
    TRY(json_check_members(json, at, members, err));
    const char *type = NULL;
    int64_t id = (int64_t)index + 1;
    TRY(json_get_string(json, at, "name", &column->name, err));
    TRY(json_get_string(json, at, "type", &type, err));
    if (column_type_parse(type, column, err) != OK) {
        return err_wrap(err, "column \"%s\"", column->name);
    }
    if (defaults->has_ids) {
        TRY(json_get_i64(json, at, "id", 1, INT32_MAX, &id, err));
    } else if (json_find(json, "id") != NULL) {
        return err_set(err, ERR_INVALID,
                       "expected an id in each column or in none, but \"%s\" is not the first with "
                       "one",
                       column->name);
    }
    column->id = (uint32_t)id;
    column->nullable = strcmp(column->name, defaults->timestamp) != 0;
    TRY(json_opt_bool(json, at, "nullable", &column->nullable, err));
    TRY(json_opt_bool(json, at, "bloom", &column->bloom, err));
    TRY(json_opt_double(json, at, "bloom_fpp", &column->bloom_fpp, err));
    TRY(json_opt_i64(json, at, "bloom_distinct", 1, INT32_MAX, &column->bloom_distinct, err));
    return json_opt_string(json, at, "format", &column->format, err);
}

static enum err_code parse_columns(const struct json *root, struct arena *arena, struct schema *schema,
                                   const struct defaults *defaults, struct error *err)
{
    struct json *list = NULL;
    TRY(json_get_array(root, NULL, "columns", &list, err));
    size_t count = json_length(list);
    if (count < 1 || count > SCHEMA_MAX_COLUMNS) {
        return err_set(err, ERR_INVALID, "expected 1 to %d columns but found %zu", SCHEMA_MAX_COLUMNS, count);
    }
    struct schema_column *columns = arena_zalloc(arena, count, sizeof *columns);
    if (columns == NULL) {
        return err_no_memory(err, count * sizeof *columns);
    }
    struct defaults all = *defaults;
    all.has_ids = json_find(json_at(list, 0), "id") != NULL;
    struct json_place place = {.member = "columns"};
    for (size_t i = 0; i < count; i++) {
        struct json_place at = {.parent = &place, .index = i};
        TRY(parse_column(json_at(list, i), &at, i, &all, &columns[i], err));
    }
    schema->columns = columns;
    schema->column_count = count;
    return OK;
}

/* By a linear look-up: the schema is not built yet. */
static enum err_code find_column(const struct schema *schema, const char *name, const char *what, uint32_t *out,
                                 struct error *err)
{
    int index = schema_find(schema, name, strlen(name));
    if (index < 0) {
        return err_set(err, ERR_INVALID, "expected the %s column \"%s\" among the columns", what, name);
    }
    *out = (uint32_t)index;
    return OK;
}

static enum err_code parse_sort(const struct json *root, struct schema *schema, struct error *err)
{
    static const char *const members[] = {"column", "descending", NULL};
    struct json *list = NULL;
    TRY(json_opt_array(root, NULL, "sort", &list, err));
    if (list == NULL) {
        schema->sort_key_count = 1;
        schema->sort_keys[0] = (struct sort_key){.column = schema->timestamp_column};
        return OK;
    }
    size_t count = json_length(list);
    if (count < 1 || count > SCHEMA_MAX_SORT_COLUMNS) {
        return err_set(err, ERR_INVALID, "expected 1 to %d sort columns but found %zu", SCHEMA_MAX_SORT_COLUMNS, count);
    }
    struct json_place place = {.member = "sort"};
    for (size_t i = 0; i < count; i++) {
        struct json_place at = {.parent = &place, .index = i};
        const struct json *json = json_at(list, i);
        const char *name = NULL;
        TRY(json_check_members(json, &at, members, err));
        TRY(json_get_string(json, &at, "column", &name, err));
        TRY(find_column(schema, name, "sort", &schema->sort_keys[i].column, err));
        TRY(json_opt_bool(json, &at, "descending", &schema->sort_keys[i].descending, err));
    }
    schema->sort_key_count = count;
    return OK;
}

enum err_code schema_parse(const char *text, size_t length, const struct uuid *table_id, struct schema **out,
                           struct error *err)
{
    static const char *const members[] = {"version", "timestamp", "columns", "sort", NULL};
    static const struct json_limits limits = {.max_bytes = MAX_TEXT_BYTES, .max_depth = 4};
    AUTO(json_free_auto) struct json *root = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    if (arena == NULL) {
        return err_no_memory(err, sizeof(struct schema));
    }
    struct schema schema = {.table_id = *table_id};
    struct defaults defaults = {0};
    int64_t version = 1;
    TRY(json_parse(text, length, &limits, &root, err));
    TRY(json_check_members(root, NULL, members, err));
    TRY(json_opt_i64(root, NULL, "version", 1, INT32_MAX, &version, err));
    TRY(json_get_string(root, NULL, "timestamp", &defaults.timestamp, err));
    TRY(parse_columns(root, arena, &schema, &defaults, err));
    TRY(find_column(&schema, defaults.timestamp, "timestamp", &schema.timestamp_column, err));
    TRY(parse_sort(root, &schema, err));
    schema.version = (int32_t)version;
    return schema_new(&schema, out, err);
}

static enum err_code format_column(const struct schema_column *column, struct json *list, struct error *err)
{
    char type[COLUMN_TYPE_TEXT_BYTES];
    AUTO(json_free_auto) struct json *json = json_new_object();
    if (json == NULL) {
        return err_no_memory(err, sizeof type);
    }
    TRY(json_set_i64(json, "id", column->id, err));
    TRY(json_set_string(json, "name", column->name, err));
    TRY(json_set_string(json, "type", column_type_format(column, type), err));
    TRY(json_set_bool(json, "nullable", column->nullable, err));
    TRY(json_set_bool(json, "bloom", column->bloom, err));
    if (column->bloom_fpp > 0) {
        TRY(json_set_double(json, "bloom_fpp", column->bloom_fpp, err));
    }
    if (column->bloom_distinct > 0) {
        TRY(json_set_i64(json, "bloom_distinct", column->bloom_distinct, err));
    }
    if (column->format != NULL) {
        TRY(json_set_string(json, "format", column->format, err));
    }
    return json_append(list, TAKE(json), err);
}

static enum err_code format_sort_key(const struct schema *schema, const struct sort_key *key, struct json *list,
                                     struct error *err)
{
    AUTO(json_free_auto) struct json *json = json_new_object();
    if (json == NULL) {
        return err_no_memory(err, sizeof *key);
    }
    TRY(json_set_string(json, "column", schema->columns[key->column].name, err));
    TRY(json_set_bool(json, "descending", key->descending, err));
    return json_append(list, TAKE(json), err);
}

enum err_code schema_format(const struct schema *schema, char **out_text, struct error *err)
{
    AUTO(json_free_auto) struct json *root = json_new_object();
    AUTO(json_free_auto) struct json *columns = json_new_array();
    AUTO(json_free_auto) struct json *sort = json_new_array();
    if (root == NULL || columns == NULL || sort == NULL) {
        return err_no_memory(err, sizeof(struct schema));
    }
    for (size_t i = 0; i < schema->column_count; i++) {
        TRY(format_column(&schema->columns[i], columns, err));
    }
    for (size_t i = 0; i < schema->sort_key_count; i++) {
        TRY(format_sort_key(schema, &schema->sort_keys[i], sort, err));
    }
    TRY(json_set_i64(root, "version", schema->version, err));
    TRY(json_set_string(root, "timestamp", schema->columns[schema->timestamp_column].name, err));
    TRY(json_set(root, "columns", TAKE(columns), err));
    TRY(json_set(root, "sort", TAKE(sort), err));
    return json_dump_text(root, JSON_STYLE_COMPACT, out_text, err);
}
