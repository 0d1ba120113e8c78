/* What a store can do, found out by doing it. A driver whose store may be anything asks more, in its own way. */
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/store/internal.h"

enum err_code store_probe(struct store *store, struct store_probe *out, struct error *err)
{
    struct store_probe probe = {0};
    TRY(store->driver->probe(store, &probe, err));
    *out = probe;
    return OK;
}

char *store_probe_format(const struct store_probe *probe, char text[STORE_PROBE_TEXT_BYTES])
{
    static const char *const versions[] = {"no versions", "keeps versions", "versions not told"};
    static const char *const locks[] = {"no object lock", "object lock", "object lock not told"};
    (void)snprintf(text, STORE_PROBE_TEXT_BYTES, "%s, %s, %s, %s, %s",
                   probe->create_if_absent ? "creates if absent" : "does not create if absent: looks before it writes",
                   probe->bulk_delete ? "deletes in bulk" : "deletes one by one",
                   probe->lists_own_writes ? "lists own writes" : "lists behind its writes", versions[probe->versioned],
                   locks[probe->object_lock]);
    return text;
}

/* --- by doing ----------------------------------------------------------------------------------------------------- */

static enum err_code put_small(struct store *store, const char *key, const char *text, struct error *err)
{
    AUTO(store_upload_abort_auto) struct store_upload *upload = NULL;
    struct store_receipt receipt;
    TRY(store_upload_open(store, key, clock_monotonic_us() + CLOCK_MINUTE_US, &upload, err));
    TRY(store_upload_write(upload, text, strlen(text), err));
    return store_upload_finish(TAKE(upload), &receipt, err);
}

enum err_code store_is_listed(struct store *store, const char *key, bool *out, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store_object *objects = NULL;
    size_t count = 0;
    bool more = false;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(store_list(store, key, "", 1, arena, &objects, &count, &more, err));
    *out = count == 1 && strcmp(objects[0].key, key) == 0;
    return OK;
}

/* Puts the key twice with other bytes: the second must find the first. */
static enum err_code probe_object(struct store *store, const char *key, struct store_probe *out, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store_object object;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(put_small(store, key, "first", err));
    enum err_code second = put_small(store, key, "second", err);
    if (second != OK && second != ERR_CONFLICT) {
        return second;
    }
    out->create_if_absent = second == ERR_CONFLICT;
    TRY(store_head(store, key, arena, &object, err));
    out->clock_skew_us = object.modified_at_us - clock_now_us();
    return store_is_listed(store, key, &out->lists_own_writes, err);
}

enum err_code store_probe_by_doing(struct store *store, struct store_probe *out, struct error *err)
{
    struct uuid id = uuid_v7();
    char text[UUID_TEXT_BYTES];
    char key[sizeof STORE_PROBE_PREFIX + UUID_TEXT_BYTES];
    (void)snprintf(key, sizeof key, STORE_PROBE_PREFIX "%s", uuid_format(&id, text));

    struct store_delete_result result = {0};
    enum err_code code = probe_object(store, key, out, err);
    enum err_code deleted = store_delete(store, &(const char *){key}, 1, &result, code == OK ? err : NULL);
    TRY(code);
    TRY(deleted);
    if (result.outcome == STORE_DELETE_FAILED) {
        return err_set(err, result.error.code, "%s", result.error.text);
    }
    bool still_listed = false;
    TRY(store_is_listed(store, key, &still_listed, err));
    out->lists_own_writes = out->lists_own_writes && !still_listed;
    return OK;
}
