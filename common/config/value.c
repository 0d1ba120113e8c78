/* From the text of a setting to its value. */
#include "common/config/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"

enum { LONGEST_SECRET_BYTES = 64 * 1024 };

static bool has_bounds(const struct setting *setting)
{
    return setting->min != 0 || setting->max != 0;
}

static enum err_code copy_text(const char *text, struct arena *arena, struct config_value *out, struct error *err)
{
    const char *copy = arena_strdup(arena, text);
    if (copy == NULL) {
        return err_no_memory(err, strlen(text) + 1);
    }
    out->text = copy;
    return OK;
}

static enum err_code parse_duration(const struct setting *setting, const char *text, int64_t *out, struct error *err)
{
    int64_t value;
    TRY(clock_parse_duration(text, &value, err));
    if (value == CLOCK_NEVER && setting->max != CLOCK_NEVER) {
        return err_set(err, ERR_INVALID, "expected a duration that ends but found \"never\"");
    }
    if (has_bounds(setting) && (value < setting->min || value > setting->max)) {
        char least[CLOCK_TEXT_BYTES];
        char most[CLOCK_TEXT_BYTES];
        return err_set(err, ERR_INVALID, "expected a duration from %s to %s but found \"%.64s\"",
                       clock_format_duration(setting->min, least), clock_format_duration(setting->max, most), text);
    }
    *out = value;
    return OK;
}

static enum err_code parse_bytes(const struct setting *setting, const char *text, int64_t *out, struct error *err)
{
    int64_t value;
    TRY(text_parse_bytes(text, &value, err));
    if (has_bounds(setting) && (value < setting->min || value > setting->max)) {
        char least[TEXT_SIZE_BYTES];
        char most[TEXT_SIZE_BYTES];
        return err_set(err, ERR_INVALID, "expected a size from %s to %s but found \"%.64s\"",
                       text_format_bytes(setting->min, least), text_format_bytes(setting->max, most), text);
    }
    *out = value;
    return OK;
}

static enum err_code parse_bool(const char *text, bool *out, struct error *err)
{
    static const struct {
        const char *text;
        bool value;
    } words[] = {{"true", true}, {"false", false}, {"1", true}, {"0", false}, {"yes", true}, {"no", false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i].text) == 0) {
            *out = words[i].value;
            return OK;
        }
    }
    return err_set(err, ERR_INVALID, "expected \"true\" or \"false\" but found \"%.64s\"", text);
}

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = choices; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (length > 0 && strcspn(at, "|") == length && memcmp(at, text, length) == 0) {
            return true;
        }
        if (*at == '\0') {
            break;
        }
    }
    return false;
}

enum err_code config_parse_value(const struct setting *setting, const char *text, struct arena *arena,
                                 struct config_value *out, struct error *err)
{
    switch (setting->kind) {
    case SETTING_TEXT:
    case SETTING_SECRET:
        if (*text == '\0' && setting->default_value == NULL) {
            return err_set(err, ERR_INVALID, "expected a value but found an empty text");
        }
        return copy_text(text, arena, out, err);
    case SETTING_INT:
        return text_parse_i64(text, has_bounds(setting) ? setting->min : INT64_MIN,
                              has_bounds(setting) ? setting->max : INT64_MAX, "a number", &out->number, err);
    case SETTING_BOOL: return parse_bool(text, &out->truth, err);
    case SETTING_DURATION: return parse_duration(setting, text, &out->number, err);
    case SETTING_BYTES: return parse_bytes(setting, text, &out->number, err);
    case SETTING_CHOICE:
        if (!is_choice(setting->choices, text)) {
            return err_set(err, ERR_INVALID, "expected one of \"%s\" but found \"%.64s\"", setting->choices, text);
        }
        return copy_text(text, arena, out, err);
    }
    return err_set(err, ERR_INVALID, "expected a known kind of setting but found %d", (int)setting->kind);
}

static void close_file(int *file)
{
    if (*file >= 0) {
        (void)close(*file);
    }
}

enum err_code config_read_secret(const char *path, struct arena *arena, const char **out, struct error *err)
{
    AUTO(close_file) int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return err_set(err, ERR_INVALID, "could not open \"%.256s\": %s", path, strerror(errno));
    }
    char *text = arena_alloc(arena, LONGEST_SECRET_BYTES + 1);
    if (text == NULL) {
        return err_no_memory(err, LONGEST_SECRET_BYTES + 1);
    }
    size_t length = 0;
    ssize_t got;
    while ((got = read(file, text + length, LONGEST_SECRET_BYTES + 1 - length)) > 0) {
        length += (size_t)got;
    }
    if (got < 0) {
        return err_set(err, ERR_INVALID, "could not read \"%.256s\": %s", path, strerror(errno));
    }
    if (length > LONGEST_SECRET_BYTES || memchr(text, '\0', length) != NULL) {
        return err_set(err, ERR_INVALID, "expected a text of at most %d bytes in \"%.256s\" but found more, or a NUL",
                       LONGEST_SECRET_BYTES, path);
    }
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
        length--;
    }
    text[length] = '\0';
    *out = text;
    return OK;
}
