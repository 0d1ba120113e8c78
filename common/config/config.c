/* Loading runs in two passes: the first parses everything and gathers the faults, the second, reached only without any,
 * fills the struct. So a half-loaded config never exists. */
#include "common/config/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config/internal.h"

static const char own_prefix[] = "GRANARY_";
static const char file_suffix[] = "_FILE";

static bool is_file_name_of(const struct setting *setting, const char *name, size_t length)
{
    size_t base = strlen(setting->name);
    return setting->kind == SETTING_SECRET && length == base + sizeof file_suffix - 1 &&
           memcmp(name, setting->name, base) == 0 && memcmp(name + base, file_suffix, sizeof file_suffix - 1) == 0;
}

static bool stands_in_table(const struct setting *settings, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        bool same = strlen(settings[i].name) == length && memcmp(settings[i].name, name, length) == 0;
        if (same || is_file_name_of(&settings[i], name, length)) {
            return true;
        }
    }
    return false;
}

static enum err_code find_unknown_names(const struct setting *settings, size_t count, struct arena *arena,
                                        struct buf *faults, size_t *fault_count, struct error *err)
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, own_prefix, sizeof own_prefix - 1) != 0 ||
            stands_in_table(settings, count, *entry, length)) {
            continue;
        }
        const char *name = arena_strndup(arena, *entry, length);
        if (name == NULL) {
            return err_no_memory(err, length);
        }
        if (!config_is_known(name, settings, count)) {
            (*fault_count)++;
            TRY(buf_printf(faults, err, "%s: no setting has this name; hint: --help lists them\n", name));
        }
    }
    return OK;
}

/* The text of the setting: from its file, its variable or its default, in this order. */
static enum err_code find_text(const struct setting *setting, struct arena *arena, const char **out, struct error *err)
{
    const char *given = getenv(setting->name);
    if (setting->kind == SETTING_SECRET) {
        const char *file_name = arena_printf(arena, "%s%s", setting->name, file_suffix);
        if (file_name == NULL) {
            return err_no_memory(err, strlen(setting->name) + sizeof file_suffix);
        }
        const char *path = getenv(file_name);
        if (path != NULL && *path != '\0') {
            return given == NULL ? config_read_secret(path, arena, out, err)
                                 : err_set(err, ERR_INVALID, "expected either this or %s but found both", file_name);
        }
    }
    const char *text = given != NULL ? given : setting->default_value;
    if (text == NULL) {
        return err_set(err, ERR_INVALID, "is required but not set");
    }
    *out = text;
    return OK;
}

static enum err_code load_value(const struct setting *setting, struct arena *arena, struct config_value *out,
                                struct error *err)
{
    const char *text = NULL;
    TRY(find_text(setting, arena, &text, err));
    return config_parse_value(setting, text, arena, out, err);
}

static void store_value(const struct setting *setting, const struct config_value *value, void *config)
{
    char *field = (char *)config + setting->offset;
    switch (setting->kind) {
    case SETTING_TEXT:
    case SETTING_CHOICE:
    case SETTING_SECRET: memcpy(field, &value->text, sizeof value->text); break;
    case SETTING_INT:
    case SETTING_DURATION:
    case SETTING_BYTES: memcpy(field, &value->number, sizeof value->number); break;
    case SETTING_BOOL: memcpy(field, &value->truth, sizeof value->truth); break;
    }
}

enum err_code config_load(const struct setting *settings, size_t count, void *config, struct arena *arena,
                          struct buf *faults, struct error *err)
{
    struct config_value *values = arena_zalloc(arena, count + 1, sizeof *values);
    if (values == NULL) {
        return err_no_memory(err, (count + 1) * sizeof *values);
    }
    size_t fault_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct error fault;
        enum err_code code = load_value(&settings[i], arena, &values[i], &fault);
        if (code == ERR_NO_MEMORY) {
            return err_set(err, code, "%s", fault.text);
        }
        if (code != OK) {
            fault_count++;
            TRY(buf_printf(faults, err, "%s: %s\n", settings[i].name, fault.text));
        }
    }
    TRY(find_unknown_names(settings, count, arena, faults, &fault_count, err));
    if (fault_count > 0) {
        return err_set(err, ERR_INVALID, "expected good settings but found %zu fault%s", fault_count,
                       fault_count == 1 ? "" : "s");
    }
    for (size_t i = 0; i < count; i++) {
        store_value(&settings[i], &values[i], config);
    }
    return OK;
}
