#include "services/reaper/plan.h"

#include "common/base/buf.h"
#include "common/base/quote.h"

static void add_key(struct reap_keys *keys, int32_t storage_id, const char *key)
{
    struct reap_run *last = keys->run_count == 0 ? NULL : &keys->runs[keys->run_count - 1];
    if (last == NULL || last->storage_id != storage_id) {
        last = &keys->runs[keys->run_count++];
        *last = (struct reap_run){.storage_id = storage_id, .first = keys->count};
    }
    last->count++;
    keys->keys[keys->count++] = key;
}

enum err_code reap_plan_keys(const struct catalog_claimed *claimed, size_t count, struct arena *arena,
                             struct reap_keys *out, struct error *err)
{
    size_t total = count;
    for (size_t i = 0; i < count; i++) {
        total += claimed[i].extra_count;
    }
    struct reap_keys keys = {
        .keys = arena_zalloc(arena, total + 1, sizeof *keys.keys),
        .runs = arena_zalloc(arena, count + 1, sizeof *keys.runs),
    };
    if (keys.keys == NULL || keys.runs == NULL) {
        return err_no_memory(err, total * sizeof *keys.keys);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < claimed[i].extra_count; k++) {
            add_key(&keys, claimed[i].storage_id, claimed[i].extra_paths[k]);
        }
        add_key(&keys, claimed[i].storage_id, claimed[i].path);
    }
    *out = keys;
    return OK;
}

static enum err_code format_answers(const struct catalog_claimed *one, const struct store_delete_result *results,
                                    struct arena *arena, const char **out, struct error *err)
{
    AUTO(buf_done) struct buf text = {0};
    for (size_t k = 0; k <= one->extra_count; k++) {
        const char *path = k < one->extra_count ? one->extra_paths[k] : one->path;
        TRY(buf_append_byte(&text, k == 0 ? '{' : ',', err));
        TRY(quote_json(path, __builtin_strlen(path), &text, err));
        TRY(buf_append_text(&text, results[k].outcome == STORE_WAS_ABSENT ? ":\"absent\"" : ":\"deleted\"", err));
    }
    TRY(buf_append_byte(&text, '}', err));
    char *copy = arena_strndup(arena, (const char *)text.data, text.length_bytes);
    if (copy == NULL) {
        return err_no_memory(err, text.length_bytes);
    }
    *out = copy;
    return OK;
}

static const struct store_delete_result *first_failure(const struct store_delete_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (results[i].outcome == STORE_DELETE_FAILED) {
            return &results[i];
        }
    }
    return NULL;
}

enum err_code reap_plan_split(const struct catalog_claimed *claimed, size_t count,
                              const struct store_delete_result *results, struct arena *arena, struct reap_split *out,
                              struct error *err)
{
    struct reap_split split = {
        .confirmed = arena_zalloc(arena, count + 1, sizeof *split.confirmed),
        .confirmed_ids = arena_zalloc(arena, count + 1, sizeof *split.confirmed_ids),
        .failed = arena_zalloc(arena, count + 1, sizeof *split.failed),
        .failed_items = arena_zalloc(arena, count + 1, sizeof *split.failed_items),
    };
    if (split.confirmed == NULL || split.confirmed_ids == NULL || split.failed == NULL || split.failed_items == NULL) {
        return err_no_memory(err, count * sizeof *split.confirmed);
    }
    for (size_t i = 0; i < count; i++) {
        const struct catalog_claimed *one = &claimed[i];
        size_t objects = one->extra_count + 1;
        const struct store_delete_result *failure = first_failure(results, objects);
        if (failure != NULL) {
            const char *text = arena_strdup(arena, failure->error.text);
            if (text == NULL) {
                return err_no_memory(err, ERROR_TEXT_BYTES);
            }
            split.failed_items[split.failed_count] =
                (struct catalog_reap_item){one->partition_id, one->deactivated_at_us};
            split.failed[split.failed_count++] = (struct catalog_reap_failure){one->partition_id, text};
        } else {
            struct catalog_reaped *reaped = &split.confirmed[split.confirmed_count];
            reaped->partition_id = one->partition_id;
            TRY(format_answers(one, results, arena, &reaped->answers_json, err));
            split.confirmed_ids[split.confirmed_count++] = one->partition_id;
        }
        for (size_t k = 0; k < objects; k++) {
            split.absent += results[k].outcome == STORE_WAS_ABSENT;
        }
        results += objects;
    }
    *out = split;
    return OK;
}

bool reap_plan_is_sampled(size_t position, size_t total, uint64_t one_in, uint64_t seed)
{
    if (one_in == 0 || position >= total) {
        return false;
    }
    uint64_t first = seed % (total < one_in ? total : one_in);
    return position >= first && (position - first) % one_in == 0;
}
