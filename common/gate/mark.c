#include "common/gate/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#define UPLOAD_US (60 * CLOCK_SECOND_US)
enum { PAGE = 100, MARK_BYTES = 160 };

const char *gate_mark_key(int64_t number, char key[GATE_MARK_KEY_BYTES])
{
    (void)snprintf(key, GATE_MARK_KEY_BYTES, GATE_MARK_PREFIX "%0*" PRId64, GATE_MARK_DIGITS, number);
    return key;
}

bool gate_mark_parse(const char *key, int64_t *out_number)
{
    const size_t prefix = sizeof GATE_MARK_PREFIX - 1;
    return strncmp(key, GATE_MARK_PREFIX, prefix) == 0 && strlen(key) == prefix + GATE_MARK_DIGITS &&
           strspn(key + prefix, "0123456789") == GATE_MARK_DIGITS &&
           text_parse_i64(key + prefix, 1, INT64_MAX, "a number", out_number, NULL) == OK;
}

/* A store that refuses to be asked has not said no to deleting. */
static enum err_code not_asked(enum err_code code, struct error *err)
{
    const struct error reason = err != NULL ? *err : (struct error){0};
    return code == ERR_DENIED ? err_set(err, ERR_UNAVAILABLE, "%s", reason.text) : code;
}

static enum err_code put(struct store *store, const char *key, const char *text, size_t length, struct error *err)
{
    AUTO(store_upload_abort_auto) struct store_upload *upload = NULL;
    struct store_receipt receipt;
    TRY(store_upload_open(store, key, clock_monotonic_us() + UPLOAD_US, &upload, err));
    TRY(store_upload_write(upload, text, length, err));
    return store_upload_finish(TAKE(upload), &receipt, err);
}

static size_t format(const struct uuid *deployment_id, const struct catalog_mark *mark, char text[MARK_BYTES])
{
    char deployment[UUID_TEXT_BYTES];
    char nonce[UUID_TEXT_BYTES];
    int length = snprintf(text, MARK_BYTES, "{\"deployment_id\":\"%s\",\"number\":%" PRId64 ",\"nonce\":\"%s\"}\n",
                          uuid_format(deployment_id, deployment), mark->number, uuid_format(&mark->nonce, nonce));
    return (size_t)length;
}

static enum err_code refuse(const struct store *store, int64_t number, struct error *err)
{
    return err_set(err, ERR_DENIED,
                   "expected mark %" PRId64 " of the store \"%s\" to be this catalog's but found another's; hint: two "
                   "catalogs share this store: end one of them, then granary recover",
                   number, store_url(store));
}

enum err_code gate_mark_put(struct store *store, const struct uuid *deployment_id, const struct catalog_mark *mark,
                            struct error *err)
{
    char key[GATE_MARK_KEY_BYTES];
    char text[MARK_BYTES];
    size_t length = format(deployment_id, mark, text);
    enum err_code code = put(store, gate_mark_key(mark->number, key), text, length, err);
    return code == ERR_CONFLICT ? refuse(store, mark->number, err) : not_asked(code, err);
}

enum err_code gate_mark_compare(struct store *store, const struct uuid *deployment_id, const struct catalog_mark *mark,
                                struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    char key[GATE_MARK_KEY_BYTES];
    char ours[MARK_BYTES];
    char theirs[MARK_BYTES];
    struct store_object object;
    size_t length = format(deployment_id, mark, ours);
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(not_asked(store_head(store, gate_mark_key(mark->number, key), arena, &object, err), err));
    if (object.size_bytes != length) {
        return refuse(store, mark->number, err);
    }
    TRY(not_asked(store_get(store, key, 0, length, theirs, err), err));
    return memcmp(ours, theirs, length) == 0 ? OK : refuse(store, mark->number, err);
}

/* Calls for each mark above `number`, in order; a false answer ends it. */
typedef bool each_mark(void *context, int64_t number);

static enum err_code walk(struct store *store, int64_t number, each_mark *each, void *context, struct error *err)
{
    char after[GATE_MARK_KEY_BYTES];
    (void)gate_mark_key(number, after);
    for (bool more = true; more;) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(0);
        struct store_object *objects;
        size_t count;
        if (arena == NULL) {
            return err_no_memory(err, 4096);
        }
        TRY(not_asked(store_list(store, GATE_MARK_PREFIX, after, PAGE, arena, &objects, &count, &more, err), err));
        for (size_t i = 0; i < count; i++) {
            int64_t found = 0;
            if (!gate_mark_parse(objects[i].key, &found)) {
                return err_set(err, ERR_DENIED, "expected a mark in the store \"%s\" but found \"%.200s\"",
                               store_url(store), objects[i].key);
            }
            if (!each(context, found)) {
                return OK;
            }
            (void)gate_mark_key(found, after);
        }
        more = more && count > 0;
    }
    return OK;
}

static bool take_first(void *context, int64_t number)
{
    *(int64_t *)context = number;
    return false;
}

static bool take_last(void *context, int64_t number)
{
    *(int64_t *)context = number;
    return true;
}

enum err_code gate_mark_above(struct store *store, int64_t number, int64_t *out_above, struct error *err)
{
    int64_t above = 0;
    TRY(walk(store, number, take_first, &above, err));
    *out_above = above;
    return OK;
}

enum err_code gate_mark_newest(struct store *store, int64_t *out_number, struct error *err)
{
    int64_t newest = 0;
    TRY(walk(store, 0, take_last, &newest, err));
    *out_number = newest;
    return OK;
}

struct pruning {
    int64_t below;
    size_t count;
    char keys[PAGE][GATE_MARK_KEY_BYTES];
};

static bool take_old(void *context, int64_t number)
{
    struct pruning *pruning = context;
    bool old = number < pruning->below && pruning->count < PAGE;
    if (old) {
        (void)gate_mark_key(number, pruning->keys[pruning->count++]);
    }
    return old;
}

enum err_code gate_mark_prune(struct store *store, int64_t number, struct error *err)
{
    struct pruning pruning = {.below = number - GATE_MARKS_KEPT};
    const char *keys[PAGE];
    struct store_delete_result results[PAGE];
    TRY(walk(store, 0, take_old, &pruning, err));
    for (size_t i = 0; i < pruning.count; i++) {
        keys[i] = pruning.keys[i];
    }
    return pruning.count == 0 ? OK : store_delete(store, keys, pruning.count, results, err);
}
