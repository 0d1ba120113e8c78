#include "common/storages/storages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    int32_t storage_id;
    char *url;           /* NULL: storage 1 */
    struct store *store; /* NULL: not opened yet */
};

struct storages {
    struct store_options options;
    bool has_options;
    struct store *own; /* of the first entry, which never changes */
    pthread_mutex_t lock;
    struct entry *entries;
    size_t count;
    struct store **former; /* of storages whose url has changed: somebody may be using them */
    size_t former_count;
};

enum err_code storages_open(const char *url, const struct store_options *options, struct storages **out,
                            struct error *err)
{
    AUTO(storages_close_auto) struct storages *storages = calloc(1, sizeof *storages);
    if (storages == NULL) {
        return err_no_memory(err, sizeof *storages);
    }
    (void)pthread_mutex_init(&storages->lock, NULL); /* does not fail on Linux */
    storages->has_options = options != NULL;
    storages->options = options != NULL ? *options : (struct store_options){0};
    storages->entries = calloc(1, sizeof *storages->entries);
    if (storages->entries == NULL) {
        return err_no_memory(err, sizeof *storages->entries);
    }
    TRY(store_open(url, options, &storages->entries[0].store, err));
    storages->entries[0].storage_id = STORAGE_OWN;
    storages->own = storages->entries[0].store;
    storages->count = 1;
    *out = TAKE(storages);
    return OK;
}

void storages_close(struct storages *storages)
{
    if (storages == NULL) {
        return;
    }
    for (size_t i = 0; i < storages->count; i++) {
        store_close(storages->entries[i].store);
        free(storages->entries[i].url);
    }
    for (size_t i = 0; i < storages->former_count; i++) {
        store_close(storages->former[i]);
    }
    free(storages->entries);
    free(storages->former);
    (void)pthread_mutex_destroy(&storages->lock);
    free(storages);
}

struct store *storages_own(struct storages *storages)
{
    return storages->own;
}

/* The following run under the lock. */

static struct entry *find(struct storages *storages, int32_t storage_id)
{
    for (size_t i = 0; i < storages->count; i++) {
        if (storages->entries[i].storage_id == storage_id) {
            return &storages->entries[i];
        }
    }
    return NULL;
}

static enum err_code add(struct storages *storages, int32_t storage_id, const char *url, struct error *err)
{
    struct entry *grown = realloc(storages->entries, (storages->count + 1) * sizeof *grown);
    char *copy = strdup(url);
    if (grown != NULL) {
        storages->entries = grown;
    }
    if (grown == NULL || copy == NULL) {
        free(copy);
        return err_no_memory(err, (storages->count + 1) * sizeof *grown);
    }
    storages->entries[storages->count++] = (struct entry){.storage_id = storage_id, .url = copy};
    return OK;
}

static enum err_code change(struct storages *storages, struct entry *entry, const char *url, struct error *err)
{
    struct store **grown = realloc(storages->former, (storages->former_count + 1) * sizeof(struct store *));
    char *copy = strdup(url);
    if (grown != NULL) {
        storages->former = grown;
    }
    if (grown == NULL || copy == NULL) {
        free(copy);
        return err_no_memory(err, strlen(url));
    }
    if (entry->store != NULL) {
        storages->former[storages->former_count++] = TAKE(entry->store);
    }
    free(entry->url);
    entry->url = copy;
    return OK;
}

static enum err_code declare(struct storages *storages, int32_t storage_id, const char *url, struct error *err)
{
    struct entry *entry = find(storages, storage_id);
    if (entry == NULL) {
        return add(storages, storage_id, url, err);
    }
    return strcmp(entry->url, url) == 0 ? OK : change(storages, entry, url, err);
}

static enum err_code open_entry(struct storages *storages, struct entry *entry, struct store **out, struct error *err)
{
    if (entry->store == NULL) {
        const struct store_options *options = storages->has_options ? &storages->options : NULL;
        struct error reason = {0};
        if (store_open(entry->url, options, &entry->store, &reason) != OK) {
            /* whatever it says, it is this process that lacks something: what it was to do there can wait */
            return err_set(err, ERR_UNAVAILABLE, "could not open storage %d: %s", entry->storage_id, reason.text);
        }
    }
    *out = entry->store;
    return OK;
}

enum err_code storages_declare(struct storages *storages, int32_t storage_id, const char *url, struct error *err)
{
    if (storage_id == STORAGE_OWN) {
        return OK;
    }
    (void)pthread_mutex_lock(&storages->lock);
    enum err_code code = declare(storages, storage_id, url, err);
    (void)pthread_mutex_unlock(&storages->lock);
    return code;
}

enum err_code storages_refresh(struct storages *storages, struct catalog *catalog, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_storage *known;
    size_t count;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_storages_load(catalog, arena, &known, &count, err));
    for (size_t i = 0; i < count; i++) {
        TRY(storages_declare(storages, known[i].storage_id, known[i].url, err));
    }
    return OK;
}

static enum err_code get_declared(struct storages *storages, int32_t storage_id, struct store **out, struct error *err)
{
    (void)pthread_mutex_lock(&storages->lock);
    struct entry *entry = find(storages, storage_id);
    enum err_code code = entry == NULL ? ERR_NOT_FOUND : open_entry(storages, entry, out, err);
    (void)pthread_mutex_unlock(&storages->lock);
    return code;
}

enum err_code storages_get(struct storages *storages, struct catalog *catalog, int32_t storage_id, struct store **out,
                           struct error *err)
{
    enum err_code code = get_declared(storages, storage_id, out, err);
    if (code == ERR_NOT_FOUND && catalog != NULL) {
        TRY(storages_refresh(storages, catalog, err));
        code = get_declared(storages, storage_id, out, err);
    }
    return code == ERR_NOT_FOUND ? err_set(err, ERR_UNAVAILABLE, "storage %d is not known", storage_id) : code;
}
