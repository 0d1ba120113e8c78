/* All rows of a table that a query would see, as NDJSON: what tests compare. It goes round the services, straight to the
 * catalog and the store, so that it can look while any of them lies dead.
 *
 *   scan PROJECT TABLE     with GRANARY_CATALOG_URL, GRANARY_CATALOG_PASSWORD(_FILE), GRANARY_STORE_URL */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/catalog/tables.h"
#include "common/config/config.h"
#include "common/rows/format.h"
#include "common/scan/scan.h"

struct tool_config {
    struct config_catalog catalog;
    struct config_store store;
};

static const struct setting settings[] = {
    CONFIG_CATALOG_SETTINGS(struct tool_config, catalog),
    CONFIG_STORE_SETTINGS(struct tool_config, store),
};

static enum err_code print_rows(struct scan *scan, struct error *err)
{
    AUTO(buf_done) struct buf text = {0};
    const struct batch *batch = NULL;
    TRY(scan_next(scan, &batch, err));
    while (batch != NULL) {
        buf_clear(&text);
        TRY(rows_format_rows(batch, 0, batch->row_count, ROWS_FORMAT_NDJSON, &text, err));
        if (fwrite(text.data, 1, text.length_bytes, stdout) != text.length_bytes) {
            return err_set(err, ERR_UNAVAILABLE, "could not write to standard output");
        }
        TRY(scan_next(scan, &batch, err));
    }
    return OK;
}

static enum err_code scan_table(const struct tool_config *config, const char *project, const char *name,
                                struct arena *arena, struct error *err)
{
    AUTO(catalog_close_auto) struct catalog *catalog = NULL;
    AUTO(storages_close_auto) struct storages *storages = NULL;
    AUTO(schema_free_auto) struct schema *schema = NULL;
    AUTO(scan_free_auto) struct scan *scan = NULL;
    const struct catalog_options options = {
        .url = config->catalog.url, .password = config->catalog.password, .application_name = "scan-tool"};
    struct store_options store_options;
    struct table_record table;
    const char *json = NULL;
    int32_t version = 0;
    TRY(catalog_open(&options, &catalog, err));
    store_options_of(&config->store, NULL, &store_options);
    TRY(storages_open(config->store.url, &store_options, &storages, err));
    TRY(catalog_table_find(catalog, project, name, arena, &table, err));
    TRY(catalog_table_load_schema(catalog, &table.table_id, 0, arena, &json, &version, err));
    TRY(schema_parse(json, strlen(json), &table.table_id, &schema, err));
    const struct scan_options wanted = {
        .catalog = catalog,
        .storages = storages,
        .schema = schema,
        .min_timestamp_us = INT64_MIN,
        .max_timestamp_us = INT64_MAX,
    };
    TRY(scan_open(&wanted, &scan, err));
    return print_rows(scan, err);
}

int main(int argc, char **argv)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(buf_done) struct buf faults = {0};
    struct tool_config config = {0};
    struct error err = {0};
    if (argc != 3 || arena == NULL) {
        (void)fprintf(stderr, "usage: scan PROJECT TABLE\n");
        return 78;
    }
    enum err_code code = config_load(settings, sizeof settings / sizeof *settings, &config, arena, &faults, &err);
    if (code == OK) {
        code = scan_table(&config, argv[1], argv[2], arena, &err);
    }
    if (code != OK) {
        (void)fprintf(stderr, "%.*s%s\n", (int)faults.length_bytes, (const char *)faults.data, err.text);
    }
    return code == OK ? 0 : 1;
}
