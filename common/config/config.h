/* Settings of a process: environment variables GRANARY_*, described by one table per service. The table makes parsing,
 * --help, --print-config and docs/configuration.md. All faults are reported together. */
#ifndef GRANARY_CONFIG_CONFIG_H
#define GRANARY_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/error.h"

enum setting_kind {
    SETTING_TEXT,     /* const char * (in the arena) */
    SETTING_INT,      /* int64_t, min..max */
    SETTING_BOOL,     /* bool: true/false/1/0/yes/no */
    SETTING_DURATION, /* int64_t microseconds, min..max; "never" only where max is CLOCK_NEVER */
    SETTING_BYTES,    /* int64_t bytes, min..max: "64MiB" */
    SETTING_CHOICE,   /* const char *: one of `choices`, separated by '|' */
    SETTING_SECRET,   /* const char *: from NAME or, better, the file named by NAME_FILE; never printed */
};

struct setting {
    const char *name; /* whole: "GRANARY_REAPER_BATCH" */
    enum setting_kind kind;
    size_t offset;             /* of the field in the service's config struct */
    const char *default_value; /* text form; NULL: required ("" is an allowed default for text) */
    int64_t min, max;          /* int, duration (us), bytes; both 0: no bounds */
    const char *choices;
    const char *help; /* one sentence, with the unit where it has one */
};

/* Reads the environment into `config`, whose texts live in `arena`. Unknown GRANARY_* names are faults, unless they
 * stand in config_known_names (other services' settings). On faults: ERR_INVALID, every one of them on a line of its own
 * in `faults`, config untouched. */
MUST_CHECK enum err_code config_load(const struct setting *settings, size_t count, void *config, struct arena *arena,
                                     struct buf *faults, struct error *err);

/* The usage text: "NAME  kind  default  help", and one line per setting with its value (secrets as "(set)"). */
void config_print_help(const struct setting *settings, size_t count, FILE *out);
void config_print_values(const struct setting *settings, size_t count, const void *config, FILE *out);
/* A Markdown table of the settings, for docs/configuration.md. */
void config_print_markdown(const struct setting *settings, size_t count, FILE *out);

/* Settings shared by several services, to be spliced into their tables. Each struct is a member of the service's config. */
struct config_catalog {   /* PostgreSQL */
    const char *url;      /* GRANARY_CATALOG_URL: libpq connection string or URI, without the password */
    const char *password; /* GRANARY_CATALOG_PASSWORD(_FILE), may be "" */
};
struct config_bus {       /* RabbitMQ */
    const char *url;      /* GRANARY_BUS_URL: amqp://user@host:port/vhost, amqps:// for TLS */
    const char *password; /* GRANARY_BUS_PASSWORD(_FILE) */
    const char *ca_file;  /* GRANARY_BUS_CA_FILE */
    const char *delays;   /* GRANARY_BUS_DELAYS: the four steps of the retry ladder, the same in all services */
};
struct config_store {
    const char *url;               /* GRANARY_STORE_URL: file:///path or s3://bucket/prefix?region=... */
    const char *ca_file;           /* GRANARY_STORE_CA_FILE */
    const char *credentials_dir;   /* GRANARY_STORE_CREDENTIALS_DIR: a file for each `credentials=name` */
    const char *access_key_id;     /* GRANARY_STORE_ACCESS_KEY_ID */
    const char *secret_access_key; /* GRANARY_STORE_SECRET_ACCESS_KEY(_FILE) */
    const char *session_token;     /* GRANARY_STORE_SESSION_TOKEN(_FILE) */
    int64_t part_bytes;            /* GRANARY_STORE_PART_SIZE */
    int64_t connections;           /* GRANARY_STORE_CONNECTIONS */
    int64_t connect_timeout_us;    /* GRANARY_STORE_CONNECT_TIMEOUT */
    int64_t stall_timeout_us;      /* GRANARY_STORE_STALL_TIMEOUT */
    int64_t retry_for_us;          /* GRANARY_STORE_RETRY_FOR */
    int64_t delete_rate;           /* GRANARY_STORE_DELETE_RATE */
};
struct config_http {           /* the listener for probes, metrics and, where there is one, the API */
    const char *listen;        /* GRANARY_HTTP_LISTEN: "127.0.0.1:8080"; port 0 takes a free one */
    const char *port_file;     /* GRANARY_HTTP_PORT_FILE: the port in use is written there; "" for none */
    const char *tls_cert_file; /* GRANARY_HTTP_TLS_CERT_FILE, GRANARY_HTTP_TLS_KEY_FILE */
    const char *tls_key_file;
    const char *tokens_file; /* GRANARY_TOKENS_FILE: hashes of bearer tokens and their roles */
};
/* clang-format off */
/* CONFIG_CATALOG_SETTINGS(struct reaper_config, catalog) expands to rows of a settings table. */
#define CONFIG_CATALOG_SETTINGS(type, member)                                                                        \
    {"GRANARY_CATALOG_URL", SETTING_TEXT, offsetof(type, member.url), NULL, 0, 0, NULL,                              \
     "libpq connection string of the catalog, without the password"},                                                \
    {"GRANARY_CATALOG_PASSWORD", SETTING_SECRET, offsetof(type, member.password), "", 0, 0, NULL,                    \
     "password of the catalog role"}
#define CONFIG_BUS_SETTINGS(type, member)                                                                            \
    {"GRANARY_BUS_URL", SETTING_TEXT, offsetof(type, member.url), NULL, 0, 0, NULL,                                  \
     "RabbitMQ as amqp://user@host:port/vhost, or amqps:// for TLS"},                                                \
    {"GRANARY_BUS_PASSWORD", SETTING_SECRET, offsetof(type, member.password), "", 0, 0, NULL,                        \
     "password of the RabbitMQ user"},                                                                               \
    {"GRANARY_BUS_CA_FILE", SETTING_TEXT, offsetof(type, member.ca_file), "", 0, 0, NULL,                            \
     "CA file for amqps://; empty for the system's"},                                                                \
    {"GRANARY_BUS_DELAYS", SETTING_TEXT, offsetof(type, member.delays), "10s,1m,10m,1h", 0, 0, NULL,                 \
     "the four steps of the retry ladder; the same in all services"}
/* All but the url: a process may do without a store. */
#define CONFIG_STORE_OPTIONS(type, member)                                                                           \
    {"GRANARY_STORE_CA_FILE", SETTING_TEXT, offsetof(type, member.ca_file), "", 0, 0, NULL,                          \
     "CA file for https:// endpoints of s3:// stores; empty for the system's"},                                      \
    {"GRANARY_STORE_CREDENTIALS_DIR", SETTING_TEXT, offsetof(type, member.credentials_dir), "", 0, 0, NULL,          \
     "directory with a file for each credentials=name of a store's url"},                                            \
    {"GRANARY_STORE_ACCESS_KEY_ID", SETTING_TEXT, offsetof(type, member.access_key_id), "", 0, 0, NULL,              \
     "access key of s3:// stores; empty for the AWS environment, web identity or instance metadata"},                \
    {"GRANARY_STORE_SECRET_ACCESS_KEY", SETTING_SECRET, offsetof(type, member.secret_access_key), "", 0, 0, NULL,    \
     "secret of the access key"},                                                                                    \
    {"GRANARY_STORE_SESSION_TOKEN", SETTING_SECRET, offsetof(type, member.session_token), "", 0, 0, NULL,            \
     "session token of a temporary access key"},                                                                     \
    {"GRANARY_STORE_PART_SIZE", SETTING_BYTES, offsetof(type, member.part_bytes), "16MiB", 5 << 20, 1 << 30, NULL,   \
     "part of an upload to s3:// stores; what is larger than four of them goes up in parts"},                        \
    {"GRANARY_STORE_CONNECTIONS", SETTING_INT, offsetof(type, member.connections), "4", 1, 64, NULL,                 \
     "parts of an upload, or bulk deletes of a call, that are under way at the same time"},                          \
    {"GRANARY_STORE_CONNECT_TIMEOUT", SETTING_DURATION, offsetof(type, member.connect_timeout_us), "5s", 100000,     \
     600000000, NULL, "how long connecting to an s3:// store may take, TLS included"},                               \
    {"GRANARY_STORE_STALL_TIMEOUT", SETTING_DURATION, offsetof(type, member.stall_timeout_us), "30s", 1000000,       \
     600000000, NULL, "how long a request to an s3:// store may go on without a byte in either direction"},          \
    {"GRANARY_STORE_RETRY_FOR", SETTING_DURATION, offsetof(type, member.retry_for_us), "1m", 0, 3600000000, NULL,    \
     "how long a request to an s3:// store is tried again where that can help"},                                     \
    {"GRANARY_STORE_DELETE_RATE", SETTING_INT, offsetof(type, member.delete_rate), "3000", 1, 1000000, NULL,         \
     "keys that are deleted a second and table at most in s3:// stores; throttling lowers it for a while"}
#define CONFIG_STORE_SETTINGS(type, member)                                                                          \
    {"GRANARY_STORE_URL", SETTING_TEXT, offsetof(type, member.url), NULL, 0, 0, NULL,                                \
     "object store: file:///path, or s3://bucket/prefix?region=...&endpoint=...&addressing=...&credentials=..."},    \
    CONFIG_STORE_OPTIONS(type, member)
#define CONFIG_HTTP_SETTINGS(type, member)                                                                           \
    {"GRANARY_HTTP_LISTEN", SETTING_TEXT, offsetof(type, member.listen), "127.0.0.1:0", 0, 0, NULL,                  \
     "address and port of the HTTP listener; port 0 takes a free one"},                                              \
    {"GRANARY_HTTP_PORT_FILE", SETTING_TEXT, offsetof(type, member.port_file), "", 0, 0, NULL,                       \
     "file that receives the port in use"},                                                                          \
    {"GRANARY_HTTP_TLS_CERT_FILE", SETTING_TEXT, offsetof(type, member.tls_cert_file), "", 0, 0, NULL,               \
     "PEM certificate chain; empty for plain HTTP"},                                                                 \
    {"GRANARY_HTTP_TLS_KEY_FILE", SETTING_TEXT, offsetof(type, member.tls_key_file), "", 0, 0, NULL,                 \
     "PEM private key"},                                                                                             \
    {"GRANARY_TOKENS_FILE", SETTING_TEXT, offsetof(type, member.tokens_file), "", 0, 0, NULL,                        \
     "bearer tokens: one JSON object a line with name, sha256 (hex) and roles"}
/* clang-format on */

#endif
