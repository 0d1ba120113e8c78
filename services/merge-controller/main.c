#include "common/service/service.h"
#include "services/merge-controller/config.h"
#include "services/merge-controller/run.h"

int main(int argc, char **argv)
{
    const struct service_spec spec = {
        .name = "merge-controller",
        .summary = "Plans merges of small partitions, hands them to rewriters, and commits what they wrote.",
        .settings = merge_settings,
        .setting_count = merge_setting_count,
        .config_size = sizeof(struct merge_config),
        .run = merge_run,
    };
    return service_main(argc, argv, &spec);
}
