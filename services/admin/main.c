#include "common/service/service.h"
#include "services/admin/config.h"
#include "services/admin/run.h"

int main(int argc, char **argv)
{
    const struct service_spec spec = {
        .name = "admin",
        .summary = "Serves the admin HTTP API: tables, partitions, scans, holds, plans, dead letters, status.",
        .settings = admin_settings,
        .setting_count = admin_setting_count,
        .config_size = sizeof(struct admin_config),
        .run = admin_run,
    };
    return service_main(argc, argv, &spec);
}
