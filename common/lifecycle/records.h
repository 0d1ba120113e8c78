/* The catalog's records as plain structs: shared by planners (pure) and the catalog (I/O). Texts live in an arena. */
#ifndef GRANARY_LIFECYCLE_RECORDS_H
#define GRANARY_LIFECYCLE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/uuid.h"
#include "common/lifecycle/settings.h"
#include "common/lifecycle/state.h"

struct table_record {
    struct uuid table_id;
    const char *project;
    const char *name; /* "events", "events$rejects" */
    bool is_rejects;
    struct uuid parent_id; /* of a rejects table */
    int32_t schema_version;
    const char *settings_json;      /* the table's own, as stored */
    struct table_settings settings; /* effective: built-in < deployment < table */
    int64_t retention_us;           /* age.max_age that counts now, cooling considered */
    bool retention_cooling;
    int64_t retention_effective_at_us; /* when the new one counts; only while cooling */
    int64_t created_at_us;
    bool dropped;
    int64_t dropped_at_us;
    int64_t version;
};

enum { STORAGE_OWN = 1 }; /* the storage that each process is configured with; the urls of others are in the catalog */

struct partition_record {
    struct uuid partition_id;
    struct uuid table_id;
    int32_t schema_version;
    int64_t min_timestamp_us, max_timestamp_us;
    int32_t storage_id;
    const char *path;
    int64_t row_count, data_bytes, memory_bytes;
    bool published;
    uint8_t sha256[32];
    const char *etag;
    bool active;
    struct uuid lock_id; /* nil: unlocked */
    enum lock_kind lock_kind;
    enum partition_origin origin;
    struct uuid attempt_id; /* nil: none */
    int32_t merge_level;
    int64_t created_at_us, modified_at_us;
    int64_t deactivated_at_us; /* 0: none */
    enum deactivation_reason reason;
    const char *deactivated_by;
    int64_t version;
};

struct lock_record {
    struct uuid lock_id;
    enum lock_kind kind;
    const char *owner;
    const char *reason;
    int64_t token;
    int64_t acquired_at_us;
    int64_t expires_at_us; /* CLOCK_NEVER: does not */
};

/* "<table_id>/<yyyy-mm-dd of min>/<partition_id>.parquet"; years beyond 9999 or before 1 do not occur. */
enum { PARTITION_PATH_BYTES = 37 + 12 + 37 + 8 };
char *partition_path(const struct uuid *table_id, int64_t min_timestamp_us, const struct uuid *partition_id,
                     char path[PARTITION_PATH_BYTES]);

#endif
