#include "common/lifecycle/records.h"

#include <stdio.h>

#include "common/base/clock.h"

char *partition_path(const struct uuid *table_id, int64_t min_timestamp_us, const struct uuid *partition_id,
                     char path[PARTITION_PATH_BYTES])
{
    char table[UUID_TEXT_BYTES];
    char date[CLOCK_TEXT_BYTES];
    char partition[UUID_TEXT_BYTES];
    (void)snprintf(path, PARTITION_PATH_BYTES, "%s/%.10s/%s.parquet", uuid_format(table_id, table),
                   clock_format_date(min_timestamp_us, date), uuid_format(partition_id, partition));
    return path;
}
