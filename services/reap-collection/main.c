#include "common/service/service.h"
#include "services/reap-collection/config.h"
#include "services/reap-collection/handler.h"

int main(int argc, char **argv)
{
    const struct job_spec job = {
        .name = "reap-collection",
        .summary = "Finds partitions whose grace is over and publishes reap events; changes nothing in the catalog.",
        .settings = reap_collection_settings,
        .setting_count = reap_collection_setting_count,
        .config_size = sizeof(struct reap_collection_config),
        .open = reap_collection_open,
        .run = reap_collection_run,
        .close = reap_collection_close,
        .http_offset = offsetof(struct reap_collection_config, http),
    };
    return job_main(argc, argv, &job);
}
