#include <string.h>

#include "common/catalog/tables_private.h"
#include "common/json/json.h"

enum { SETTING_VALUE_BYTES = 64 };

static const char SQL_NO_STORAGE[] = "select w.name from unnest(string_to_array($1, ',')) w(name)"
                                     " where not exists (select from granary.storages s where s.name = w.name) limit 1";

enum err_code catalog_settings_overlay(struct table_settings *settings, const char *json, struct error *err)
{
    AUTO(json_free_auto) struct json *object = NULL;
    void *iterator = NULL;
    const char *name = NULL;
    struct json *value = NULL;

    enum err_code code = json_parse(json, strlen(json), NULL, &object, err);
    if (code != OK) {
        return code == ERR_NO_MEMORY ? code
                                     : err_set(err, ERR_CORRUPT,
                                               "expected settings as JSON in the catalog but "
                                               "found \"%.64s\"",
                                               json);
    }
    while (json_next(object, &iterator, &name, &value)) {
        const char *text = json_as_text(value, NULL);
        struct table_settings changed = *settings;
        if (text != NULL && table_settings_set(&changed, name, text, NULL) == OK) {
            *settings = changed;
        }
    }
    return OK;
}

static enum err_code add_setting(const struct catalog_setting *setting, struct arena *arena,
                                 struct settings_arrays *arrays, struct error *err)
{
    const char *name = NULL;
    char value[SETTING_VALUE_BYTES];

    if (setting->value == NULL) {
        /* any value will do to find the name that an alias stands for; a name unknown to us can be removed too */
        enum err_code code = table_settings_normalise(setting->name, "1", &name, value, NULL);
        arrays->removed[arrays->removed_count++] = code == OK ? name : setting->name;
        return OK;
    }
    TRY(table_settings_normalise(setting->name, setting->value, &name, value, err));
    char *copy = arena_strdup(arena, value);
    if (copy == NULL) {
        return err_no_memory(err, sizeof value);
    }
    arrays->names[arrays->put_count] = name;
    arrays->values[arrays->put_count++] = copy;
    return OK;
}

enum err_code catalog_settings_arrays(const struct catalog_setting *settings, size_t count, struct arena *arena,
                                      struct settings_arrays *out, struct error *err)
{
    const char **texts = arena_zalloc(arena, 3 * (count + 1), sizeof *texts);

    if (texts == NULL) {
        return err_no_memory(err, 3 * (count + 1) * sizeof *texts);
    }
    struct settings_arrays arrays = {.names = texts, .values = texts + count, .removed = texts + 2 * count};
    for (size_t i = 0; i < count; i++) {
        TRY(add_setting(&settings[i], arena, &arrays, err));
    }
    *out = arrays;
    return OK;
}

enum err_code catalog_settings_describe(const struct settings_arrays *arrays, char **out, struct error *err)
{
    AUTO(json_free_auto) struct json *object = json_new_object();

    if (object == NULL) {
        return err_no_memory(err, 64);
    }
    for (size_t i = 0; i < arrays->put_count; i++) {
        TRY(json_set_string(object, arrays->names[i], arrays->values[i], err));
    }
    for (size_t i = 0; i < arrays->removed_count; i++) {
        TRY(json_set_string(object, arrays->removed[i], NULL, err));
    }
    return json_dump_text(object, JSON_STYLE_SORTED, out, err);
}

static enum err_code check_storages(struct catalog *catalog, const char *names, struct error *err)
{
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    TRY(catalog_query(catalog, SQL_NO_STORAGE, CATALOG_VALUES(catalog_text(names)), &rows, err));
    if (catalog_rows_count(rows) != 0) {
        return err_set(err, ERR_INVALID, "no storage \"%s\"; hint: granary storage ls", catalog_get_text(rows, 0, 0));
    }
    return OK;
}

enum err_code catalog_settings_check_storages(struct catalog *catalog, const struct settings_arrays *arrays,
                                              struct error *err)
{
    for (size_t i = 0; i < arrays->put_count; i++) {
        if (strncmp(arrays->names[i], "storage.", strlen("storage.")) == 0) {
            TRY(check_storages(catalog, arrays->values[i], err));
        }
    }
    return OK;
}
