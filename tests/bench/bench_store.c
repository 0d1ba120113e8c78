/* Objects into a store and out of it, on one thread; prints the seconds that it took.
 *   bench_store put PREFIX COUNT BYTES     <PREFIX>/0, <PREFIX>/1, ...
 *   bench_store get PREFIX COUNT BYTES     each in one read
 * with the store's settings in the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/config/config.h"
#include "common/store/store.h"

enum { PIECE_BYTES = 1 << 20 };

struct tool_config {
    struct config_store store;
};

static const struct setting settings[] = {
    CONFIG_STORE_SETTINGS(struct tool_config, store),
};

static enum err_code put(struct store *store, const char *key, uint8_t *data, size_t length, struct error *err)
{
    AUTO(store_upload_abort_auto) struct store_upload *upload = NULL;
    struct store_receipt receipt;
    TRY(store_upload_open(store, key, INT64_MAX, &upload, err));
    for (size_t done = 0; done < length; done += PIECE_BYTES) {
        size_t left = length - done;
        TRY(store_upload_write(upload, data + done, left < PIECE_BYTES ? left : PIECE_BYTES, err));
    }
    return store_upload_finish(TAKE(upload), &receipt, err);
}

static enum err_code run(const struct tool_config *config, char **argv, struct error *err)
{
    AUTO(store_close_auto) struct store *store = NULL;
    struct store_options options;
    struct store_probe abilities;
    const size_t length = strtoull(argv[4], NULL, 10);
    AUTO(free_auto) uint8_t *data = malloc(length);
    if (data == NULL) {
        return err_no_memory(err, length);
    }
    memset(data, 'x', length);
    store_options_of(&config->store, NULL, &options);
    TRY(store_open(config->store.url, &options, &store, err));
    TRY(store_probe(store, &abilities, err));
    const int64_t started_us = clock_monotonic_us();
    for (unsigned i = 0; i < strtoul(argv[3], NULL, 10); i++) {
        char key[256];
        (void)snprintf(key, sizeof key, "%.200s/%u", argv[2], i);
        TRY(strcmp(argv[1], "put") == 0 ? put(store, key, data, length, err)
                                        : store_get(store, key, 0, length, data, err));
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
    if (argc != 5) {
        (void)fprintf(stderr, "usage: %s put|get PREFIX COUNT BYTES\n", argv[0]);
        return 78;
    }
    enum err_code code = config_load(settings, sizeof settings / sizeof *settings, &config, arena, &faults, &err);
    if (code == OK) {
        code = run(&config, argv, &err);
    }
    if (code != OK) {
        (void)fprintf(stderr, "bench_store: %s\n", err.text);
    }
    return code == OK ? 0 : 1;
}
