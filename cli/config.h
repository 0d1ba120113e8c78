/* Settings of the command line. */
#ifndef GRANARY_CLI_CONFIG_H
#define GRANARY_CLI_CONFIG_H

#include "common/config/config.h"

struct cli_config {
    const char *url;        /* of admin; "" when not set */
    const char *intake_url; /* "" when not set */
    const char *token;      /* "" for none */
    const char *ca_file;
    int64_t timeout_us; /* of one exchange that is not streamed */
    struct {
        const char *url;
        const char *password;
    } migrate;
};

extern const struct setting cli_settings[];
extern const size_t cli_setting_count;

#endif
