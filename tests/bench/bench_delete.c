/* Deletes the keys on standard input, one a line, in bulk and with nothing around it; prints the seconds that it took.
 *   bench_delete BATCH
 * with the store's settings in the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/config/config.h"
#include "common/store/store.h"

enum { LINE_BYTES = 1100, MAX_BATCH = 10000 };

struct tool_config {
    struct config_store store;
};

static const struct setting settings[] = {
    CONFIG_STORE_SETTINGS(struct tool_config, store),
};

static enum err_code delete_batch(struct store *store, const char **keys, size_t count,
                                  struct store_delete_result *results, struct error *err)
{
    TRY(store_delete(store, keys, count, results, err));
    for (size_t i = 0; i < count; i++) {
        if (results[i].outcome == STORE_DELETE_FAILED) {
            return err_set(err, results[i].error.code, "%s", results[i].error.text);
        }
    }
    return OK;
}

static enum err_code run(const struct tool_config *config, size_t batch, struct arena *arena, struct error *err)
{
    AUTO(store_close_auto) struct store *store = NULL;
    AUTO(free_auto) struct store_delete_result *results = calloc(batch, sizeof *results);
    AUTO(free_auto) const char **keys = calloc(batch, sizeof *keys);
    struct store_options options;
    struct store_probe abilities;
    char line[LINE_BYTES];
    size_t count = 0;
    if (results == NULL || keys == NULL) {
        return err_no_memory(err, batch * sizeof *results);
    }
    store_options_of(&config->store, NULL, &options);
    TRY(store_open(config->store.url, &options, &store, err));
    TRY(store_probe(store, &abilities, err));
    const int64_t started_us = clock_monotonic_us();
    for (bool more = true; more;) {
        more = fgets(line, sizeof line, stdin) != NULL;
        if (more) {
            keys[count] = arena_strndup(arena, line, strcspn(line, "\n"));
            if (keys[count++] == NULL) {
                return err_no_memory(err, sizeof line);
            }
        }
        if (count == batch || (!more && count != 0)) {
            TRY(delete_batch(store, keys, count, results, err));
            count = 0;
        }
    }
    (void)printf("%.6f\n", (double)(clock_monotonic_us() - started_us) / (double)CLOCK_SECOND_US);
    return OK;
}

int main(int argc, char **argv)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(buf_done) struct buf faults = {0};
    struct tool_config config;
    struct error err = {0};
    size_t batch = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (batch == 0 || batch > MAX_BATCH || arena == NULL) {
        (void)fprintf(stderr, "usage: %s BATCH <KEYS\n", argv[0]);
        return 78;
    }
    enum err_code code = config_load(settings, sizeof settings / sizeof *settings, &config, arena, &faults, &err);
    if (code == OK) {
        code = run(&config, batch, arena, &err);
    }
    if (code != OK) {
        (void)fprintf(stderr, "bench_delete: %s\n", err.text);
    }
    return code == OK ? 0 : 1;
}
