/* One environment file often serves all processes, so that names of other services must pass, and misspelt ones must not.
 * A process knows the shared names exactly, and the names of other services by their prefix; its own prefix, by contrast,
 * covers nothing but what stands in its table. */
#include "common/config/internal.h"

#include <string.h>

static const char *const shared_names[] = {
    "GRANARY_CATALOG_URL",
    "GRANARY_CATALOG_PASSWORD",
    "GRANARY_CATALOG_PASSWORD_FILE",
    "GRANARY_BUS_URL",
    "GRANARY_BUS_PASSWORD",
    "GRANARY_BUS_PASSWORD_FILE",
    "GRANARY_BUS_CA_FILE",
    "GRANARY_BUS_DELAYS",
    "GRANARY_STORE_URL",
    "GRANARY_STORE_CA_FILE",
    "GRANARY_STORE_CREDENTIALS_DIR",
    "GRANARY_STORE_ACCESS_KEY_ID",
    "GRANARY_STORE_SECRET_ACCESS_KEY",
    "GRANARY_STORE_SECRET_ACCESS_KEY_FILE",
    "GRANARY_STORE_SESSION_TOKEN",
    "GRANARY_STORE_SESSION_TOKEN_FILE",
    "GRANARY_STORE_PART_SIZE",
    "GRANARY_STORE_CONNECTIONS",
    "GRANARY_STORE_CONNECT_TIMEOUT",
    "GRANARY_STORE_STALL_TIMEOUT",
    "GRANARY_STORE_RETRY_FOR",
    "GRANARY_STORE_DELETE_RATE",
    "GRANARY_HTTP_LISTEN",
    "GRANARY_HTTP_PORT_FILE",
    "GRANARY_HTTP_TLS_CERT_FILE",
    "GRANARY_HTTP_TLS_KEY_FILE",
    "GRANARY_TOKENS_FILE",
    "GRANARY_LOG_LEVEL",
    "GRANARY_URL",
    "GRANARY_INTAKE_URL",
    "GRANARY_TOKEN",
    "GRANARY_TOKEN_FILE",
    "GRANARY_CA_FILE",
    "GRANARY_TIMEOUT",
#ifdef GRANARY_FAULTS
    "GRANARY_FAULT",
    "GRANARY_FAULT_FIRED",
#endif
};

static const char *const service_prefixes[] = {
    "GRANARY_INTAKE_",     "GRANARY_WRITER_",  "GRANARY_MERGE_",   "GRANARY_REWRITER_",
    "GRANARY_ALTER_",      "GRANARY_DECAY_",   "GRANARY_CLEANUP_", "GRANARY_REAPER_",
    "GRANARY_COLLECTION_", "GRANARY_CLEANER_", "GRANARY_ADMIN_",   "GRANARY_MIGRATE_",
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_shared(const char *name)
{
    for (size_t i = 0; i < sizeof shared_names / sizeof *shared_names; i++) {
        if (strcmp(name, shared_names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A shared name in the table claims no prefix: who reads GRANARY_INTAKE_URL is not intake. */
static bool is_own_prefix(const char *prefix, const struct setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (starts_with(settings[i].name, prefix) && !is_shared(settings[i].name)) {
            return true;
        }
    }
    return false;
}

bool config_is_known(const char *name, const struct setting *settings, size_t count)
{
    if (is_shared(name)) {
        return true;
    }
    for (size_t i = 0; i < sizeof service_prefixes / sizeof *service_prefixes; i++) {
        if (starts_with(name, service_prefixes[i])) {
            return !is_own_prefix(service_prefixes[i], settings, count);
        }
    }
    return false;
}
