#include "common/service/service.h"
#include "services/partition-cleaner/config.h"
#include "services/partition-cleaner/handler.h"

int main(int argc, char **argv)
{
    const struct job_spec job = {
        .name = "partition-cleaner",
        .summary = "Compares store and catalog; deletes, when told to, objects that no row names.",
        .settings = partition_cleaner_settings,
        .setting_count = partition_cleaner_setting_count,
        .config_size = sizeof(struct partition_cleaner_config),
        .open = partition_cleaner_open,
        .run = partition_cleaner_run,
        .close = partition_cleaner_close,
        .http_offset = offsetof(struct partition_cleaner_config, http),
    };
    return job_main(argc, argv, &job);
}
