#include "common/service/service.h"
#include "services/intake/config.h"
#include "services/intake/run.h"

int main(int argc, char **argv)
{
    const struct service_spec spec = {
        .name = "intake",
        .summary = "Takes rows over HTTP (head) and makes partitions of them (writer).",
        .settings = intake_settings,
        .setting_count = intake_setting_count,
        .config_size = sizeof(struct intake_config),
        .run = intake_run,
    };
    return service_main(argc, argv, &spec);
}
