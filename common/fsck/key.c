#include "common/fsck/key.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/gate/mark.h"
#include "common/lifecycle/records.h"
#include "common/publish/marker.h"

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Takes the parts by their lengths and names the partition again: only what comes out the same is one. Upper case, other
 * dates for the same day, anything before or behind: not ours. */
static bool read_partition(const char *key, struct fsck_key *out)
{
    enum { ID = UUID_TEXT_BYTES - 1, DAY = 10, DAY_AT = ID + 1, PARTITION_AT = DAY_AT + DAY + 1 };
    struct fsck_key found = {.kind = FSCK_KEY_PARTITION};
    char again[PARTITION_PATH_BYTES];
    int64_t day_us;
    if (strlen(key) != PARTITION_AT + ID + strlen(".parquet") || uuid_parse(key, ID, &found.table_id, NULL) != OK ||
        uuid_parse(key + PARTITION_AT, ID, &found.partition_id, NULL) != OK ||
        clock_parse(key + DAY_AT, DAY, &day_us, NULL) != OK ||
        strcmp(partition_path(&found.table_id, day_us, &found.partition_id, again), key) != 0) {
        return false;
    }
    *out = found;
    return true;
}

struct fsck_key fsck_key_of(const char *key)
{
    struct fsck_key found = {.kind = FSCK_KEY_FOREIGN};
    struct uuid id;
    int64_t number;
    if (read_partition(key, &found)) {
        return found;
    }
    if (strcmp(key, PUBLISH_MARKER_KEY) == 0) {
        found.kind = FSCK_KEY_MARK;
    } else if (key[0] != '\0' && key[strlen(key) - 1] == '/') {
        found.kind = FSCK_KEY_FOLDER;
    } else if (gate_mark_parse(key, &number)) {
        found.kind = FSCK_KEY_MARK;
    } else if (starts_with(key, STORE_PROBE_PREFIX)) {
        const char *name = key + strlen(STORE_PROBE_PREFIX);
        found.kind = uuid_parse(name, strlen(name), &id, NULL) == OK ? FSCK_KEY_PROBE : FSCK_KEY_FOREIGN;
    }
    return found;
}

int64_t fsck_key_made_at_us(const struct uuid *id)
{
    int64_t milliseconds = 0;
    if (id->bytes[6] >> 4 != 7) {
        return INT64_MIN;
    }
    for (int i = 0; i < 6; i++) {
        milliseconds = milliseconds << 8 | id->bytes[i];
    }
    return milliseconds * 1000;
}
