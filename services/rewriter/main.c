#include "common/service/service.h"
#include "services/rewriter/config.h"
#include "services/rewriter/run.h"

int main(int argc, char **argv)
{
    const struct service_spec spec = {
        .name = "rewriter",
        .summary = "Rewrites partitions: merges the inputs of a task into its output.",
        .settings = rewriter_settings,
        .setting_count = rewriter_setting_count,
        .config_size = sizeof(struct rewriter_config),
        .run = rewriter_run,
    };
    return service_main(argc, argv, &spec);
}
