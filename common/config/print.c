/* The settings table for people: usage, values in use, and the page of the documentation. */
#include "common/config/config.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

enum { KIND_TEXT_BYTES = 160 };

static const char *kind_name(enum setting_kind kind)
{
    switch (kind) {
    case SETTING_TEXT: return "text";
    case SETTING_INT: return "number";
    case SETTING_BOOL: return "true or false";
    case SETTING_DURATION: return "duration";
    case SETTING_BYTES: return "size";
    case SETTING_CHOICE: return "one of";
    case SETTING_SECRET: return "secret, or in the file NAME_FILE";
    }
    return "";
}

/* The shortest exact form: "64MiB". */
static const char *format_size(int64_t bytes, char text[TEXT_SIZE_BYTES])
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(text, TEXT_SIZE_BYTES, "%" PRId64 "%s", bytes, units[unit]);
    return text;
}

static void describe_bounds(const struct setting *setting, const char *least, const char *most, char *out)
{
    (void)snprintf(out, KIND_TEXT_BYTES, "%s, %s to %s", kind_name(setting->kind), least, most);
}

/* "duration, 1s to 1h". Returns out. */
static const char *describe_kind(const struct setting *setting, char out[KIND_TEXT_BYTES])
{
    char least[CLOCK_TEXT_BYTES];
    char most[CLOCK_TEXT_BYTES];
    (void)snprintf(out, KIND_TEXT_BYTES, "%s", kind_name(setting->kind));
    if (setting->kind == SETTING_CHOICE) {
        (void)snprintf(out, KIND_TEXT_BYTES, "one of %s", setting->choices);
    } else if (setting->min == 0 && setting->max == 0) {
        return out;
    } else if (setting->kind == SETTING_INT) {
        (void)snprintf(least, sizeof least, "%" PRId64, setting->min);
        (void)snprintf(most, sizeof most, "%" PRId64, setting->max);
        describe_bounds(setting, least, most, out);
    } else if (setting->kind == SETTING_DURATION) {
        describe_bounds(setting, clock_format_duration(setting->min, least), clock_format_duration(setting->max, most),
                        out);
    } else if (setting->kind == SETTING_BYTES) {
        describe_bounds(setting, format_size(setting->min, least), format_size(setting->max, most), out);
    }
    return out;
}

void config_print_help(const struct setting *settings, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct setting *setting = &settings[i];
        char kind[KIND_TEXT_BYTES];
        (void)fprintf(out, "  %s  (%s; %s%s)\n      %s\n", setting->name, describe_kind(setting, kind),
                      setting->default_value == NULL ? "required" : "default ",
                      setting->default_value == NULL    ? ""
                      : *setting->default_value == '\0' ? "empty"
                                                        : setting->default_value,
                      setting->help);
    }
}

static void print_value(const struct setting *setting, const char *field, FILE *out)
{
    const char *text = NULL;
    int64_t number = 0;
    bool truth = false;
    char formatted[CLOCK_TEXT_BYTES];
    switch (setting->kind) {
    case SETTING_TEXT:
    case SETTING_CHOICE:
        memcpy(&text, field, sizeof text);
        (void)fprintf(out, "%s", text);
        break;
    case SETTING_SECRET:
        memcpy(&text, field, sizeof text);
        (void)fprintf(out, "%s", *text == '\0' ? "(not set)" : "(set)");
        break;
    case SETTING_INT:
        memcpy(&number, field, sizeof number);
        (void)fprintf(out, "%" PRId64, number);
        break;
    case SETTING_BOOL:
        memcpy(&truth, field, sizeof truth);
        (void)fprintf(out, "%s", truth ? "true" : "false");
        break;
    case SETTING_DURATION:
        memcpy(&number, field, sizeof number);
        (void)fprintf(out, "%s", clock_format_duration(number, formatted));
        break;
    case SETTING_BYTES:
        memcpy(&number, field, sizeof number);
        (void)fprintf(out, "%s", format_size(number, formatted));
        break;
    }
}

void config_print_values(const struct setting *settings, size_t count, const void *config, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "%s=", settings[i].name);
        print_value(&settings[i], (const char *)config + settings[i].offset, out);
        (void)fputc('\n', out);
    }
}

/* A bar would end the cell. */
static void print_cell(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        (void)fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
    }
}

void config_print_markdown(const struct setting *settings, size_t count, FILE *out)
{
    (void)fputs("| setting | kind | default | meaning |\n| --- | --- | --- | --- |\n", out);
    for (size_t i = 0; i < count; i++) {
        const struct setting *setting = &settings[i];
        char kind[KIND_TEXT_BYTES];
        (void)fprintf(out, "| `%s` | ", setting->name);
        print_cell(describe_kind(setting, kind), out);
        if (setting->default_value == NULL) {
            (void)fputs(" | required | ", out);
        } else {
            (void)fputs(*setting->default_value == '\0' ? " | empty" : " | `", out);
            print_cell(setting->default_value, out);
            (void)fputs(*setting->default_value == '\0' ? " | " : "` | ", out);
        }
        print_cell(setting->help, out);
        (void)fputs(" |\n", out);
    }
}
