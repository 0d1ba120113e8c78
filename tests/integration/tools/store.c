/* The store, one call at a time, with the services' settings: what tests in Python drive against servers that misbehave.
 *
 *   store put KEY BYTES SEED [DEADLINE_MS]   creates an object of bytes that follow from the seed
 *   store put KEY BYTES SEED DEADLINE_MS AT  the same; after AT bytes the deadline is moved, and the first one waited for
 *   store get KEY OFFSET LENGTH              "<sha256>"
 *   store head KEY                           "<size> <etag>"
 *   store list PREFIX AFTER MAX [PAGES]      "<size> <key as JSON>" for each, "more" or "end" last; PAGES > 1 goes on
 *   store delete                             keys from standard input: "<deleted|absent|failed> <key> <error>" for each
 *   store sweep AGE_MS                       "<uploads ended>"
 *   store probe                              "<name> <value>" for each ability
 *
 * A failure is "<code>: <text>" on standard error, and exit code 1. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/quote.h"
#include "common/base/text.h"
#include "common/config/config.h"
#include "common/digest/digest.h"
#include "common/store/store.h"

enum { PIECE_BYTES = 1 << 20, MAX_LINE = 4096 };

struct tool_config {
    struct config_store store;
};

static const struct setting settings[] = {
    CONFIG_STORE_SETTINGS(struct tool_config, store),
};

static int64_t number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* --- writing and reading ------------------------------------------------------------------------------------------ */

/* xorshift64: the same bytes for the same seed, whatever the size. */
static void fill(uint8_t *out, size_t length, uint64_t *state)
{
    for (size_t i = 0; i < length; i++) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        out[i] = (uint8_t)*state;
    }
}

static enum err_code put(struct store *store, char **arguments, int count, struct error *err)
{
    AUTO(store_upload_abort_auto) struct store_upload *upload = NULL;
    AUTO(free_auto) uint8_t *piece = malloc(PIECE_BYTES);
    int64_t left = number(arguments[1]);
    uint64_t state = (uint64_t)number(arguments[2]) * 2 + 1;
    int64_t deadline_us = count > 3 ? number(arguments[3]) * 1000 : 10 * CLOCK_MINUTE_US;
    struct store_receipt receipt;
    char sha256[DIGEST_SHA256_TEXT_BYTES];
    if (piece == NULL) {
        return err_no_memory(err, PIECE_BYTES);
    }
    const int64_t first_us = clock_monotonic_us() + deadline_us;
    _Atomic int64_t moving_us = first_us;
    const int64_t move_at = count > 4 ? left - number(arguments[4]) : -1;
    TRY(store_upload_open(store, arguments[0], first_us, &upload, err));
    store_upload_follow_deadline(upload, &moving_us);
    while (left > 0) {
        size_t length = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        fill(piece, length, &state);
        TRY(store_upload_write(upload, piece, length, err));
        left -= (int64_t)length;
        if (left == move_at) {
            moving_us = first_us + 10 * CLOCK_MINUTE_US;
            clock_pause_us(first_us - clock_monotonic_us());
        }
    }
    TRY(store_upload_finish(TAKE(upload), &receipt, err));
    text_hex_encode(receipt.sha256, sizeof receipt.sha256, sha256);
    (void)printf("%s %" PRIu64 " %s\n", sha256, receipt.size_bytes, receipt.etag);
    return OK;
}

static enum err_code get(struct store *store, char **arguments, int count, struct error *err)
{
    size_t length = (size_t)number(arguments[2]);
    AUTO(free_auto) void *data = malloc(length + 1);
    uint8_t hash[DIGEST_SHA256_BYTES];
    char text[DIGEST_SHA256_TEXT_BYTES];
    (void)count;
    if (data == NULL) {
        return err_no_memory(err, length);
    }
    TRY(store_get(store, arguments[0], (uint64_t)number(arguments[1]), length, data, err));
    digest_sha256(data, length, hash);
    text_hex_encode(hash, sizeof hash, text);
    (void)puts(text);
    return OK;
}

static enum err_code head(struct store *store, char **arguments, int count, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store_object object;
    (void)count;
    TRY(store_head(store, arguments[0], arena, &object, err));
    (void)printf("%" PRIu64 " %s\n", object.size_bytes, object.etag);
    return OK;
}

static enum err_code list(struct store *store, char **arguments, int count, struct error *err)
{
    char after[MAX_LINE];
    bool more = true;
    (void)snprintf(after, sizeof after, "%s", arguments[1]);
    for (int64_t page = 0; more && page < (count > 3 ? number(arguments[3]) : 1); page++) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(0);
        struct store_object *objects = NULL;
        size_t found = 0;
        TRY(store_list(store, arguments[0], after, (size_t)number(arguments[2]), arena, &objects, &found, &more, err));
        for (size_t i = 0; i < found; i++) {
            AUTO(buf_done) struct buf key = {0};
            TRY(quote_json(objects[i].key, strlen(objects[i].key), &key, err));
            (void)printf("%" PRIu64 " %s\n", objects[i].size_bytes, buf_text(&key));
        }
        if (found > 0) {
            (void)snprintf(after, sizeof after, "%s", objects[found - 1].key);
        }
    }
    (void)puts(more ? "more" : "end");
    return OK;
}

/* --- deleting ----------------------------------------------------------------------------------------------------- */

struct keys {
    char **list;
    size_t count;
};

static void keys_done(struct keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        free(keys->list[i]);
    }
    free(keys->list);
}

static enum err_code read_keys(struct keys *keys, struct error *err)
{
    char line[MAX_LINE];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char **grown = realloc(keys->list, (keys->count + 1) * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, sizeof line);
        }
        keys->list = grown;
        keys->list[keys->count++] = strdup(line);
    }
    return OK;
}

static enum err_code delete_keys(struct store *store, char **arguments, int count, struct error *err)
{
    static const char *const names[] = {"deleted", "absent", "failed"};
    AUTO(keys_done) struct keys keys = {0};
    (void)arguments;
    (void)count;
    TRY(read_keys(&keys, err));
    AUTO(free_auto) struct store_delete_result *results = calloc(keys.count + 1, sizeof *results);
    if (results == NULL) {
        return err_no_memory(err, keys.count * sizeof *results);
    }
    TRY(store_delete(store, (const char *const *)keys.list, keys.count, results, err));
    for (size_t i = 0; i < keys.count; i++) {
        const struct store_delete_result *result = &results[i];
        bool failed = result->outcome == STORE_DELETE_FAILED;
        (void)printf("%s %s%s%s\n", names[result->outcome], keys.list[i], failed ? " " : "",
                     failed ? result->error.text : "");
    }
    return OK;
}

static enum err_code sweep(struct store *store, char **arguments, int count, struct error *err)
{
    size_t ended = 0;
    (void)count;
    TRY(store_sweep_uploads(store, number(arguments[0]) * 1000, NULL, NULL, &ended, err));
    (void)printf("%zu\n", ended);
    return OK;
}

static enum err_code probe(struct store *store, char **arguments, int count, struct error *err)
{
    static const char *const answers[] = {"no", "yes", "not told"};
    struct store_probe found;
    (void)arguments;
    (void)count;
    TRY(store_probe(store, &found, err));
    (void)printf("create_if_absent %s\nbulk_delete %s\nlists_own_writes %s\nversioned %s\nobject_lock %s\n"
                 "noncurrent_bytes %" PRIu64 "\nclock_skew_ms %" PRId64 "\n",
                 answers[found.create_if_absent], answers[found.bulk_delete], answers[found.lists_own_writes],
                 answers[found.versioned], answers[found.object_lock], found.noncurrent_bytes,
                 found.clock_skew_us / 1000);
    return OK;
}

/* --- which -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int least, most;
    enum err_code (*run)(struct store *store, char **arguments, int count, struct error *err);
} commands[] = {
    {"put", 3, 5, put},
    {"get", 3, 3, get},
    {"head", 1, 1, head},
    {"list", 3, 4, list},
    {"delete", 0, 0, delete_keys},
    {"sweep", 1, 1, sweep},
    {"probe", 0, 0, probe},
};

static enum err_code run(int argc, char **argv, const struct tool_config *config, struct error *err)
{
    AUTO(store_close_auto) struct store *store = NULL;
    struct store_options options;
    store_options_of(&config->store, NULL, &options);
    TRY(store_open(config->store.url, &options, &store, err));
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0 && argc - 2 >= commands[i].least && argc - 2 <= commands[i].most) {
            return commands[i].run(store, argv + 2, argc - 2, err);
        }
    }
    return err_set(err, ERR_INVALID, "expected a command and its arguments; hint: they stand at the top of store.c");
}

int main(int argc, char **argv)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(buf_done) struct buf faults = {0};
    struct tool_config config;
    struct error err = {0};
    enum err_code code = config_load(settings, sizeof settings / sizeof *settings, &config, arena, &faults, &err);
    if (code == OK) {
        code = run(argc, argv, &config, &err);
    }
    if (code != OK) {
        (void)fprintf(stderr, "%s: %s\n%s", err_code_name(code), err.text,
                      faults.data == NULL ? "" : buf_text(&faults));
    }
    return code == OK ? 0 : 1;
}
