#include "services/intake/config.h"

#include "common/base/clock.h"

#define MIB           (INT64_C(1) << 20)
#define FIELD(member) offsetof(struct intake_config, member)

const struct setting intake_settings[] = {
    CONFIG_CATALOG_SETTINGS(struct intake_config, catalog),
    CONFIG_BUS_SETTINGS(struct intake_config, bus),
    {"GRANARY_STORE_URL", SETTING_TEXT, FIELD(store.url), "", 0, 0, NULL,
     "object store: file:///path or s3://bucket/prefix; needed by the writer"},
    CONFIG_STORE_OPTIONS(struct intake_config, store),
    CONFIG_HTTP_SETTINGS(struct intake_config, http),
    {"GRANARY_INTAKE_ROLE", SETTING_CHOICE, FIELD(role), "all", 0, 0, "all|head|writer",
     "head takes rows over HTTP, writer makes partitions of them, all does both"},
    {"GRANARY_INTAKE_MAX_BODY", SETTING_BYTES, FIELD(max_body_bytes), "64MiB", 1024, 1024 * MIB, NULL,
     "largest request body as sent"},
    {"GRANARY_INTAKE_MAX_DECODED", SETTING_BYTES, FIELD(max_decoded_bytes), "256MiB", 1024, 4096 * MIB, NULL,
     "largest request body after decompression"},
    {"GRANARY_INTAKE_MAX_ROW", SETTING_BYTES, FIELD(max_row_bytes), "8MiB", 64, 64 * MIB, NULL,
     "largest row; a longer one is rejected"},
    {"GRANARY_INTAKE_MAX_IN_FLIGHT", SETTING_BYTES, FIELD(max_in_flight_bytes), "512MiB", MIB, 65536 * MIB, NULL,
     "bytes of requests not yet answered, beyond which new ones get 503"},
    {"GRANARY_INTAKE_LINGER", SETTING_DURATION, FIELD(linger_us), "2ms", 0, CLOCK_SECOND_US, NULL,
     "how long a small request waits for others to share its message"},
    {"GRANARY_INTAKE_SCHEMA_TTL", SETTING_DURATION, FIELD(schema_ttl_us), "1s", 1000, CLOCK_HOUR_US, NULL,
     "how long a table's schema and settings are taken for current"},
    {"GRANARY_INTAKE_QUEUE_MAX", SETTING_BYTES, FIELD(queue_max_bytes), "4GiB", MIB, 1048576 * MIB, NULL,
     "bytes waiting in the queue beyond which posts get 429; the same for all heads and writers"},
    {"GRANARY_WRITER_WORKERS", SETTING_INT, FIELD(workers), "2", 1, 32, NULL,
     "flushes gathered and written at the same time"},
    {"GRANARY_WRITER_MAX_ROWS", SETTING_INT, FIELD(max_rows), "1000000", 1, 8 << 20, NULL, "rows in one flush"},
    {"GRANARY_WRITER_MAX_BYTES", SETTING_BYTES, FIELD(max_bytes), "256MiB", 1024, 2048 * MIB, NULL,
     "bytes of values in one flush"},
    {"GRANARY_WRITER_MAX_OPEN", SETTING_DURATION, FIELD(max_open_us), "1s", 1000, CLOCK_HOUR_US, NULL,
     "longest time that rows are gathered before they are written"},
    {"GRANARY_WRITER_PREFETCH", SETTING_INT, FIELD(prefetch), "1000", 1, 10000, NULL,
     "messages taken from the queue and not yet committed"},
    {"GRANARY_WRITER_THREADS", SETTING_INT, FIELD(threads), "2", 1, 32, NULL,
     "threads that write the files of one flush"},
    {"GRANARY_WRITER_LEASE", SETTING_DURATION, FIELD(lease_us), "5m", CLOCK_SECOND_US, CLOCK_DAY_US, NULL,
     "lease of staged partitions; renewed while they are written, and while their load goes on"},
    {"GRANARY_WRITER_LOAD_SESSIONS", SETTING_INT, FIELD(load_sessions), "4", 1, 64, NULL, "loads at the same time"},
    {"GRANARY_WRITER_LOAD_MEMORY", SETTING_BYTES, FIELD(load_memory_bytes), "128MiB", MIB, 2048 * MIB, NULL,
     "bytes of values that one load has in memory; up to three times as much while it sorts and writes"},
    {"GRANARY_WRITER_LOAD_IDLE", SETTING_DURATION, FIELD(load_idle_us), "10m", CLOCK_SECOND_US, CLOCK_DAY_US, NULL,
     "how long a load may be without a body before it is given up; also how long a finished one is remembered"},
    {"GRANARY_WRITER_LOAD_SPOOL", SETTING_TEXT, FIELD(load_spool), "/var/tmp", 0, 0, NULL,
     "folder for Parquet bodies of loads, which are read when they are whole; the files have no names"},
    {"GRANARY_WRITER_LOAD_SPOOL_MAX", SETTING_BYTES, FIELD(load_spool_max_bytes), "16GiB", MIB, 1048576 * MIB, NULL,
     "bytes of Parquet bodies in that folder at the same time"},
};
const size_t intake_setting_count = sizeof intake_settings / sizeof intake_settings[0];
