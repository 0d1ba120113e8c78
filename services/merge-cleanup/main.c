#include "common/service/service.h"
#include "services/merge-cleanup/config.h"
#include "services/merge-cleanup/handler.h"

int main(int argc, char **argv)
{
    const struct job_spec job = {
        .name = "merge-cleanup",
        .summary = "Unlocks merged partitions, sweeps locks that ran out, prunes what grows, publishes reap events.",
        .settings = merge_cleanup_settings,
        .setting_count = merge_cleanup_setting_count,
        .config_size = sizeof(struct merge_cleanup_config),
        .open = merge_cleanup_open,
        .run = merge_cleanup_run,
        .close = merge_cleanup_close,
        .http_offset = offsetof(struct merge_cleanup_config, http),
    };
    return job_main(argc, argv, &job);
}
