/* The one command that speaks to the catalog itself: it must work before any service can. */
#include "cli/groups.h"
#include "common/catalog/catalog.h"

static void show_progress(void *context, int version, const char *name, bool applied)
{
    struct cli *cli = context;
    if (cli->json) {
        printf("{\"version\":%d,\"name\":\"%s\",\"applied\":%s}\n", version, name, applied ? "true" : "false");
    } else {
        printf("%04d %-20s %s\n", version, name, applied ? "applied" : "was there");
    }
}

static enum err_code run_migrate(struct cli *cli, struct error *err)
{
    if (*cli->config.migrate.url == '\0') {
        cli->exit_code = CLI_BAD_CONFIG;
        return err_set(
            err, ERR_INVALID,
            "expected the connection string of the catalog's owner in GRANARY_MIGRATE_URL but found nothing; "
            "hint: GRANARY_MIGRATE_URL='host=db dbname=granary user=granary_owner'");
    }
    const struct catalog_options options = {
        .url = cli->config.migrate.url,
        .password = cli->config.migrate.password,
        .application_name = "granary-migrate",
    };
    AUTO(catalog_close_auto) struct catalog *catalog = NULL;
    TRY(catalog_open(&options, &catalog, err));
    return catalog_migrate(catalog, show_progress, cli, err);
}

static const struct cli_command commands[] = {
    {
        .name = "migrate",
        .usage = "",
        .summary = "Brings the catalog to the version of this program. Can be repeated; refuses a newer catalog.",
        .examples = "  GRANARY_MIGRATE_URL='host=db dbname=granary user=granary_owner' \\\n"
                    "  GRANARY_MIGRATE_PASSWORD_FILE=/run/secrets/owner granary migrate\n",
        .run = run_migrate,
    },
};
const struct cli_group cli_group_catalog = {"Catalog", commands, sizeof commands / sizeof *commands};
