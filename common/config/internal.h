/* What the files of this module share. */
#ifndef GRANARY_CONFIG_INTERNAL_H
#define GRANARY_CONFIG_INTERNAL_H

#include "common/config/config.h"

/* A parsed value, before it goes into the config struct. */
struct config_value {
    union {
        const char *text;
        int64_t number;
        bool truth;
    };
};

/* Checks text against kind, bounds and choices. Texts are copied into the arena. ERR_INVALID never quotes a secret. */
MUST_CHECK enum err_code config_parse_value(const struct setting *setting, const char *text, struct arena *arena,
                                            struct config_value *out, struct error *err);
/* Whole content of the file named by NAME_FILE, without trailing newlines. */
MUST_CHECK enum err_code config_read_secret(const char *path, struct arena *arena, const char **out, struct error *err);

/* Whether `name` belongs to Granary, though not to this table: a setting of another service or of the command line. */
bool config_is_known(const char *name, const struct setting *settings, size_t count);

#endif
