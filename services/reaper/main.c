#include "common/service/service.h"
#include "services/reaper/config.h"
#include "services/reaper/run.h"

int main(int argc, char **argv)
{
    const struct service_spec spec = {
        .name = "reaper",
        .summary = "Deletes the objects of partitions whose grace is over, then their rows, and leaves receipts.",
        .settings = reaper_settings,
        .setting_count = reaper_setting_count,
        .config_size = sizeof(struct reaper_config),
        .run = reaper_run,
    };
    return service_main(argc, argv, &spec);
}
