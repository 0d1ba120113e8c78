#include "common/service/service.h"
#include "services/decay/config.h"
#include "services/decay/handler.h"

int main(int argc, char **argv)
{
    const struct job_spec job = {
        .name = "decay",
        .summary = "Marks partitions inactive whose data are all older than their table's age.max_age.",
        .settings = decay_settings,
        .setting_count = decay_setting_count,
        .config_size = sizeof(struct decay_config),
        .open = decay_open,
        .run = decay_run,
        .close = decay_close,
        .http_offset = offsetof(struct decay_config, http),
    };
    return job_main(argc, argv, &job);
}
