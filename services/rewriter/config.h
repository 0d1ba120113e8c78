/* Settings of granary-rewriter. */
#ifndef GRANARY_REWRITER_CONFIG_H
#define GRANARY_REWRITER_CONFIG_H

#include "common/config/config.h"

struct rewriter_config {
    struct config_catalog catalog;
    struct config_bus bus;
    struct config_store store;
    struct config_http http;
    const char *pools; /* separated by commas */
};

extern const struct setting rewriter_settings[];
extern const size_t rewriter_setting_count;

#endif
