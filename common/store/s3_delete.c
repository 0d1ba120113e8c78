/* Deletes. 1,000 keys go into a request, several requests are under way at a time, and each key gets the answer that the
 * store gave for it. Where the bucket keeps versions, a delete without one only hides the object: the markers in the answer
 * show that, and from then on every version of a key is looked up and deleted by its id. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault.h"
#include "common/store/s3.h"
#include "common/store/s3_retry.h"
#include "common/store/s3_xml.h"

struct target {
    const char *key; /* whole */
    const char *id;  /* of the version; "" for the current one */
    size_t result;
};

struct bulk {
    struct s3_store *store;
    struct arena *arena; /* of the batch: one thread */
    const struct target *targets;
    size_t count;
    struct store_delete_result *results;
    bool *answered; /* for each target */
    /* the entry of the answer whose elements come now */
    char key[S3_KEY_BYTES], id[1024], code[64], message[256];
    bool marker; /* a delete marker was made: the bucket keeps versions */
    bool whole;  /* the answer is the one to a bulk delete, and all of it has come */
};

/* --- the pace ----------------------------------------------------------------------------------------------------- */

/* Deletes of a table share a slot; tables whose hashes meet share it too, and are then slower than they could be. */
static size_t slot_of(const struct s3_store *store, const char *whole_key)
{
    const char *key = whole_key + strlen(store->url.prefix) + (store->url.prefix[0] != '\0');
    return digest_xxh64(key, strcspn(key, "/"), 0) % S3_RATES;
}

/* --- one bulk delete ---------------------------------------------------------------------------------------------- */

static enum err_code build_document(const struct bulk *bulk, struct buf *out, struct error *err)
{
    TRY(buf_append_text(out, "<Delete>", err));
    for (size_t i = 0; i < bulk->count; i++) {
        const struct target *target = &bulk->targets[i];
        TRY(buf_append_text(out, "<Object><Key>", err));
        TRY(store_s3_xml_escape(target->key, out, err));
        TRY(buf_append_text(out, "</Key>", err));
        if (target->id[0] != '\0') {
            TRY(buf_append_text(out, "<VersionId>", err));
            TRY(store_s3_xml_escape(target->id, out, err));
            TRY(buf_append_text(out, "</VersionId>", err));
        }
        TRY(buf_append_text(out, "</Object>", err));
    }
    return buf_append_text(out, "</Delete>", err);
}

static int compare_targets(const void *a, const void *b)
{
    const struct target *x = a;
    const struct target *y = b;
    int order = strcmp(x->key, y->key);
    return order != 0 ? order : strcmp(x->id, y->id);
}

/* The targets of that key and version, side by side since they are sorted; asked twice, they are two. */
static size_t find_targets(const struct bulk *bulk, const char *key, const char *id, size_t *out_first)
{
    const struct target wanted = {.key = key, .id = id};
    const struct target *found = bsearch(&wanted, bulk->targets, bulk->count, sizeof *found, compare_targets);
    if (found == NULL) {
        return 0;
    }
    size_t first = (size_t)(found - bulk->targets);
    size_t end = first + 1;
    while (first > 0 && compare_targets(&bulk->targets[first - 1], &wanted) == 0) {
        first--;
    }
    while (end < bulk->count && compare_targets(&bulk->targets[end], &wanted) == 0) {
        end++;
    }
    *out_first = first;
    return end - first;
}

static void note_result(const struct bulk *bulk, struct store_delete_result *result)
{
    if (strcmp(bulk->code, "NoSuchKey") == 0 || strcmp(bulk->code, "NoSuchVersion") == 0) {
        result->outcome = result->outcome == STORE_DELETED ? STORE_WAS_ABSENT : result->outcome;
        return;
    }
    bool denied = strcmp(bulk->code, "AccessDenied") == 0;
    result->outcome = STORE_DELETE_FAILED;
    (void)err_set(&result->error, denied ? ERR_DENIED : ERR_UNAVAILABLE, "could not delete \"s3://%s/%.300s\": %s: %s",
                  bulk->store->url.bucket, bulk->key, bulk->code, bulk->message);
}

/* An answer that names nothing we asked for is left alone: what is not answered has failed. */
static void note(struct bulk *bulk, bool failed)
{
    size_t first = 0;
    size_t count = find_targets(bulk, bulk->key, bulk->id, &first);
    if (count == 0) { /* the id is that of a marker that was made, or was not asked for */
        count = find_targets(bulk, bulk->key, "", &first);
    }
    for (size_t i = first; i < first + count; i++) {
        bulk->answered[i] = true;
        if (failed) {
            note_result(bulk, &bulk->results[bulk->targets[i].result]);
        }
    }
}

static enum err_code on_element(void *context, const char *path, const char *text, struct error *err)
{
    struct bulk *bulk = context;
    const struct {
        const char *name;
        char *out;
        size_t capacity;
    } fields[] = {
        {"Key", bulk->key, sizeof bulk->key},
        {"VersionId", bulk->id, sizeof bulk->id},
        {"Code", bulk->code, sizeof bulk->code},
        {"Message", bulk->message, sizeof bulk->message},
    };
    (void)err;
    const char *name = strrchr(path, '/');
    if (strcmp(path, "DeleteResult/Deleted") == 0 || strcmp(path, "DeleteResult/Error") == 0) {
        note(bulk, strcmp(name, "/Error") == 0);
        bulk->key[0] = bulk->id[0] = bulk->code[0] = bulk->message[0] = '\0';
        return OK;
    }
    for (size_t i = 0; name != NULL && i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(name + 1, fields[i].name) == 0) {
            (void)snprintf(fields[i].out, fields[i].capacity, "%s", text);
        }
    }
    bulk->whole = bulk->whole || strcmp(path, "DeleteResult") == 0;
    if (strcmp(path, "DeleteResult/Deleted/DeleteMarker") == 0 && strcmp(text, "true") == 0) {
        bulk->marker = true;
    }
    return OK;
}

static enum err_code read_document(void *context, const struct s3_answer *answer, struct error *err)
{
    struct bulk *bulk = context;
    memset(bulk->answered, 0, bulk->count * sizeof *bulk->answered);
    bulk->marker = bulk->whole = false;
    TRY(store_s3_xml_parse((const char *)answer->body.data, answer->body.length_bytes, on_element, bulk, err));
    return bulk->whole ? OK
                       : err_set(err, ERR_CORRUPT, "expected the answer to a bulk delete but found another document");
}

static enum err_code send_bulk(struct bulk *bulk, struct s3_answer *answer, struct error *err)
{
    AUTO(buf_done) struct buf document = {0};
    AUTO(buf_done) struct buf md5_text = {0};
    uint8_t md5[DIGEST_MD5_BYTES];
    TRY(build_document(bulk, &document, err));
    digest_md5(document.data, document.length_bytes, md5);
    TRY(buf_append_base64(&md5_text, md5, sizeof md5, err));
    const char *md5_value = buf_text(&md5_text);
    if (md5_value == NULL) {
        return err_no_memory(err, md5_text.length_bytes);
    }
    const struct net_header query = {"delete", ""};
    const struct net_header headers[] = {{"Content-Type", "application/xml"}, {"Content-MD5", md5_value}};
    const struct s3_request request = {
        .verb = "delete from",
        .method = "POST",
        .query = &query,
        .query_count = 1,
        .headers = headers,
        .header_count = 2,
        .body = document.data,
        .body_bytes = document.length_bytes,
        .paced_keys = bulk->count,
        .rate_slot = slot_of(bulk->store, bulk->targets[0].key),
        .read = read_document,
        .context = bulk,
    };
    TRY(store_s3_send(bulk->store, &request, answer, err));
    return answer->status == 200 ? OK : store_s3_error_set(bulk->store, &request, answer, ERR_UNAVAILABLE, err);
}

/* --- one single delete -------------------------------------------------------------------------------------------- */

static void delete_single(struct s3_store *store, const struct target *target, struct store_delete_result *result)
{
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    const struct net_header query = {"versionId", target->id};
    const struct s3_request request = {
        .verb = "delete",
        .method = "DELETE",
        .key = target->key,
        .query = &query,
        .query_count = target->id[0] == '\0' ? 0 : 1,
        .paced_keys = 1,
        .rate_slot = slot_of(store, target->key),
    };
    enum err_code code = store_s3_send(store, &request, &answer, &result->error);
    if (code == OK && answer.status == 404 && strcmp(answer.code, "NoSuchBucket") == 0) {
        code = store_s3_error_set(store, &request, &answer, ERR_UNAVAILABLE, &result->error);
    }
    if (code != OK) {
        result->outcome = STORE_DELETE_FAILED;
    } else if (answer.status == 404 && result->outcome == STORE_DELETED) {
        result->outcome = STORE_WAS_ABSENT;
    }
}

/* --- a batch of either kind --------------------------------------------------------------------------------------- */

static void fail_unanswered(const struct bulk *bulk, enum err_code code, const char *text)
{
    for (size_t i = 0; i < bulk->count; i++) {
        struct store_delete_result *result = &bulk->results[bulk->targets[i].result];
        if (!bulk->answered[i]) {
            result->outcome = STORE_DELETE_FAILED;
            (void)err_set(&result->error, code, "%s", text);
        }
    }
}

/* targets: sorted, at most S3_BULK_KEYS. */
static void delete_targets(struct bulk *bulk)
{
    struct s3_store *store = bulk->store;
    if (!atomic_load(&store->bulk_missing)) {
        AUTO(store_s3_answer_done) struct s3_answer answer = {0};
        struct error err = {0};
        enum err_code code = send_bulk(bulk, &answer, &err);
        if (code == OK) {
            fail_unanswered(bulk, ERR_UNAVAILABLE, "the store's answer to a bulk delete left this key out");
            return;
        }
        bool missing = answer.status == 501 || answer.status == 405;
        bool unspeakable = code == ERR_INVALID && answer.status == 0; /* a key that no XML document can hold */
        if (!missing && !unspeakable) {
            memset(bulk->answered, 0, bulk->count * sizeof *bulk->answered);
            fail_unanswered(bulk, code, err.text);
            return;
        }
        atomic_store(&store->bulk_missing, missing);
    }
    for (size_t i = 0; i < bulk->count; i++) {
        delete_single(store, &bulk->targets[i], &bulk->results[bulk->targets[i].result]);
    }
}

/* --- versions ----------------------------------------------------------------------------------------------------- */

/* All versions and markers of just this key: others may begin with it. */
static enum err_code find_versions(struct bulk *bulk, const struct target *of, struct target *out, size_t max,
                                   size_t *count, struct error *err)
{
    struct s3_page page = {.arena = bulk->arena};
    *count = 0;
    TRY(store_s3_page(bulk->store, S3_VERSIONS, of->key, "", "", max, &page, err));
    for (size_t i = 0; i < page.count && strcmp(page.entries[i].key, of->key) == 0; i++) {
        out[(*count)++] = (struct target){.key = of->key, .id = page.entries[i].id, .result = of->result};
    }
    return OK;
}

/* A key is written once, so that one version, and a marker of an earlier delete, are what there is. */
enum { VERSIONS_OF_KEY = 8 };

static size_t collect_versions(struct bulk *bulk, const struct target *wanted, size_t wanted_count,
                               struct target *targets)
{
    size_t total = 0;
    for (size_t i = 0; i < wanted_count; i++) {
        struct store_delete_result *result = &bulk->results[wanted[i].result];
        size_t count = 0;
        if (find_versions(bulk, &wanted[i], targets + total, VERSIONS_OF_KEY, &count, &result->error) != OK) {
            result->outcome = STORE_DELETE_FAILED;
        } else if (count == 0) {
            result->outcome = STORE_WAS_ABSENT;
        } else if (count == VERSIONS_OF_KEY) { /* there may be more: these go now, the rest at the next try */
            result->outcome = STORE_DELETE_FAILED;
            (void)err_set(&result->error, ERR_UNAVAILABLE, "\"%.300s\" has many versions: some are left",
                          wanted[i].key);
        }
        total += count;
    }
    return total;
}

static enum err_code delete_versions(struct bulk *bulk, struct error *err)
{
    const struct target *wanted = bulk->targets;
    size_t wanted_count = bulk->count;
    struct target *targets = arena_zalloc(bulk->arena, wanted_count * VERSIONS_OF_KEY, sizeof *targets);
    if (targets == NULL) {
        return err_no_memory(err, wanted_count * VERSIONS_OF_KEY * sizeof *targets);
    }
    size_t total = collect_versions(bulk, wanted, wanted_count, targets);
    qsort(targets, total, sizeof *targets, compare_targets);
    for (size_t i = 0; i < total; i += bulk->count) {
        bulk->targets = targets + i;
        bulk->count = total - i < wanted_count ? total - i : wanted_count; /* as many as `answered` has room for */
        memset(bulk->answered, 0, bulk->count * sizeof *bulk->answered);
        delete_targets(bulk);
    }
    return OK;
}

/* --- store_delete ------------------------------------------------------------------------------------------------- */

struct deletion {
    struct s3_store *store;
    struct target *targets; /* all, sorted */
    size_t count;
    struct store_delete_result *results;
};

static enum err_code delete_batch(struct deletion *deletion, size_t first, size_t count, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(free_auto) struct bulk *bulk = calloc(1, sizeof *bulk);
    AUTO(free_auto) bool *answered = calloc(count, sizeof *answered);
    struct s3_store *store = deletion->store;
    if (arena == NULL || bulk == NULL || answered == NULL) {
        return err_no_memory(err, sizeof *bulk + count);
    }
    *bulk = (struct bulk){
        .store = store,
        .arena = arena,
        .targets = deletion->targets + first,
        .count = count,
        .results = deletion->results,
        .answered = answered,
    };
    FAULT_POINT("s3.before_delete");
    if (store->url.keep_versions || !atomic_load(&store->versioned)) {
        delete_targets(bulk);
        if (!bulk->marker || store->url.keep_versions) {
            FAULT_POINT("s3.after_delete");
            return OK;
        }
        atomic_store(&store->versioned, true);
    }
    return delete_versions(bulk, err);
}

static void run_batch(void *context, size_t index)
{
    struct deletion *deletion = context;
    struct error err = {0};
    size_t first = index * S3_BULK_KEYS;
    size_t left = deletion->count - first;
    size_t count = left < S3_BULK_KEYS ? left : S3_BULK_KEYS;
    enum err_code code = delete_batch(deletion, first, count, &err);
    for (size_t i = 0; code != OK && i < count; i++) {
        deletion->results[deletion->targets[first + i].result] =
            (struct store_delete_result){.outcome = STORE_DELETE_FAILED, .error = err};
    }
}

enum err_code store_s3_delete(struct store *base, const char *const *keys, size_t count,
                              struct store_delete_result *results, struct error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(free_auto) struct target *targets = calloc(count + 1, sizeof *targets);
    struct deletion deletion = {.store = store, .targets = targets, .results = results};
    if (arena == NULL || targets == NULL) {
        return err_no_memory(err, count * sizeof *targets);
    }
    for (size_t i = 0; i < count; i++) {
        char whole[S3_KEY_BYTES];
        results[i] = (struct store_delete_result){.outcome = STORE_DELETED};
        if (store_s3_key(store, keys[i], whole, &results[i].error) != OK) {
            results[i].outcome = STORE_DELETE_FAILED;
            continue;
        }
        struct target *target = &targets[deletion.count++];
        *target = (struct target){.key = arena_strdup(arena, whole), .id = "", .result = i};
        if (target->key == NULL) {
            return err_no_memory(err, strlen(whole));
        }
    }
    qsort(targets, deletion.count, sizeof *targets, compare_targets);
    store_s3_parallel(store, (deletion.count + S3_BULK_KEYS - 1) / S3_BULK_KEYS, run_batch, &deletion);
    return OK;
}
