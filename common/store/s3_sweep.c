/* Uploads in parts that nobody will finish. There may be any number of them, and what stands in a page is not ours to trust:
 * one page is held at a time, and each must lead on from where it began. */
#include <string.h>

#include "common/store/s3.h"

/* Uploads of one key follow each other in an order that stores disagree about, so that their ids do not show whether a
 * listing goes round in circles. Nobody has begun a million uploads of one key. */
enum { MAX_PAGES_OF_KEY = 1000 };

struct sweep {
    struct s3_store *store;
    int64_t before_us;
    store_sweep_fn *wanted;
    void *context;
    struct buf key, id; /* where the next page begins, with their NULs; "" for the first */
    unsigned pages_of_key;
    size_t ended;
};

static void sweep_done(struct sweep *sweep)
{
    buf_done(&sweep->key);
    buf_done(&sweep->id);
}

static enum err_code end_old(struct sweep *sweep, const struct s3_page *page, struct error *err)
{
    const char *prefix = sweep->store->url.prefix;
    const size_t skip = strlen(prefix) + (prefix[0] != '\0');
    for (size_t i = 0; i < page->count; i++) {
        const struct s3_entry *upload = &page->entries[i];
        if (upload->time_us < sweep->before_us && sweep->wanted(sweep->context, upload->key + skip)) {
            TRY(store_s3_multipart_abort(sweep->store, upload->key, upload->id, err));
            sweep->ended++;
        }
    }
    return OK;
}

static enum err_code move_on(struct sweep *sweep, const struct s3_page *page, struct error *err)
{
    int order = strcmp(page->next_key, buf_held_text(&sweep->key));
    sweep->pages_of_key = order == 0 ? sweep->pages_of_key + 1 : 0;
    bool stands = order == 0 && strcmp(page->next_id, buf_held_text(&sweep->id)) == 0;
    if (order < 0 || stands || sweep->pages_of_key > MAX_PAGES_OF_KEY) {
        return err_set(err, ERR_CORRUPT, "expected uploads behind \"%.200s\" but the listing leads back to \"%.200s\"",
                       buf_held_text(&sweep->key), page->next_key);
    }
    TRY(buf_set_text(&sweep->key, page->next_key, err));
    return buf_set_text(&sweep->id, page->next_id, err);
}

static enum err_code sweep_pages(struct sweep *sweep, const char *prefix, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct s3_page page = {.arena = arena, .more = true};
    if (arena == NULL) {
        return err_no_memory(err, sizeof page);
    }
    while (page.more) {
        arena_reset(arena);
        TRY(store_s3_page(sweep->store, S3_UPLOADS, prefix, buf_held_text(&sweep->key), buf_held_text(&sweep->id),
                          S3_BULK_KEYS, &page, err));
        TRY(end_old(sweep, &page, err));
        if (page.more) {
            TRY(move_on(sweep, &page, err));
        }
    }
    return OK;
}

enum err_code store_s3_sweep(struct store *base, int64_t older_than_us, store_sweep_fn *wanted, void *context,
                             size_t *out_ended, struct error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    AUTO(sweep_done) struct sweep sweep = {.store = store, .wanted = wanted, .context = context};
    char prefix[S3_KEY_BYTES];
    TRY(store_s3_key(store, "", prefix, err));
    TRY(store_s3_head(store, prefix[0] == '\0' ? "granary-clock" : prefix, &answer, err)); /* for its Date */
    if (answer.date_us == 0) {
        return err_set(err, ERR_UNAVAILABLE, "expected the store to say what time it is but found no Date");
    }
    sweep.before_us = answer.date_us - older_than_us;
    TRY(sweep_pages(&sweep, prefix, err));
    *out_ended = sweep.ended;
    return OK;
}
