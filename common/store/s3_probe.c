/* What this store can do. Asked with requests that change nothing but an object under granary-probe/. */
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/store/s3.h"
#include "common/store/s3_xml.h"

enum { NONCURRENT_PAGES = 10 }; /* of versions that a probe looks at: a bucket may have millions */

/* --- conditional put ---------------------------------------------------------------------------------------------- */

static enum err_code put_raw(struct s3_store *store, const char *key, const char *text, bool conditional,
                             struct s3_answer *answer, struct error *err)
{
    const struct net_header headers[] = {{"Content-Type", "application/octet-stream"}, {"If-None-Match", "*"}};
    const struct s3_request request = {
        .verb = "write",
        .method = "PUT",
        .key = key,
        .headers = headers,
        .header_count = conditional ? 2 : 1,
        .body = text,
        .body_bytes = strlen(text),
    };
    enum err_code code = store_s3_send(store, &request, answer, err);
    if (code == OK && answer->status != 412 && answer->status != 200) {
        return store_s3_error_set(store, &request, answer, ERR_UNAVAILABLE, err);
    }
    return answer->status == 501 ? OK : code;
}

/* Not through store_s3_put, which would look first. */
static enum err_code probe_writes(struct s3_store *store, const char *key, struct store_probe *out, struct error *err)
{
    AUTO(store_s3_answer_done) struct s3_answer first = {0};
    AUTO(store_s3_answer_done) struct s3_answer second = {0};
    AUTO(store_s3_answer_done) struct s3_answer head = {0};
    char whole[S3_KEY_BYTES];
    TRY(store_s3_key(store, key, whole, err));
    TRY(put_raw(store, whole, "first", false, &first, err));
    TRY(store_is_listed(&store->base, key, &out->lists_own_writes, err));
    TRY(put_raw(store, whole, "second", true, &second, err));
    out->create_if_absent = second.status == 412;
    atomic_store(&store->conditional, second.status == 412 ? S3_CONDITIONAL_WORKS : S3_CONDITIONAL_MISSING);
    TRY(store_s3_head(store, whole, &head, err));
    out->clock_skew_us = head.last_modified_us - clock_now_us();
    return OK;
}

static enum err_code probe_delete(struct s3_store *store, const char *key, struct store_probe *out, struct error *err)
{
    struct store_delete_result result = {0};
    bool still_listed = false;
    TRY(store_s3_delete(&store->base, &key, 1, &result, err));
    if (result.outcome == STORE_DELETE_FAILED) {
        return err_set(err, result.error.code, "%s", result.error.text);
    }
    TRY(store_is_listed(&store->base, key, &still_listed, err));
    out->lists_own_writes = out->lists_own_writes && !still_listed;
    out->bulk_delete = !atomic_load(&store->bulk_missing);
    return OK;
}

/* --- the bucket --------------------------------------------------------------------------------------------------- */

struct question {
    const char *parameter;
    const char *element; /* whose text is the answer */
    const char *yes[2];
    char found[32];
};

static enum err_code on_element(void *context, const char *path, const char *text, struct error *err)
{
    struct question *question = context;
    (void)err;
    if (strcmp(path, question->element) == 0) {
        (void)snprintf(question->found, sizeof question->found, "%s", text);
    }
    return OK;
}

static enum err_code read_question(void *context, const struct s3_answer *answer, struct error *err)
{
    struct question *question = context;
    question->found[0] = '\0';
    return store_s3_xml_parse((const char *)answer->body.data, answer->body.length_bytes, on_element, question, err);
}

static enum store_answer ask(struct s3_store *store, struct question *question)
{
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    const struct net_header query = {question->parameter, ""};
    const struct s3_request request = {
        .verb = "ask",
        .method = "GET",
        .query = &query,
        .query_count = 1,
        .read = read_question,
        .context = question,
    };
    if (store_s3_send(store, &request, &answer, NULL) != OK || (answer.status != 200 && answer.status != 404)) {
        return STORE_NOT_TOLD;
    }
    bool yes = answer.status == 200 &&
               (strcmp(question->found, question->yes[0]) == 0 || strcmp(question->found, question->yes[1]) == 0);
    return yes ? STORE_YES : STORE_NO;
}

/* --- what deleted objects still take ------------------------------------------------------------------------------ */

static enum err_code count_noncurrent(struct s3_store *store, struct store_probe *out, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct s3_page page = {.arena = arena, .more = true, .next_key = "", .next_id = ""};
    char prefix[S3_KEY_BYTES];
    if (arena == NULL) {
        return err_no_memory(err, sizeof page);
    }
    TRY(store_s3_key(store, "", prefix, err));
    for (unsigned pages = 0; page.more && pages < NONCURRENT_PAGES; pages++) {
        const char *after = page.next_key;
        TRY(store_s3_page(store, S3_VERSIONS, prefix, after, page.next_id, S3_BULK_KEYS, &page, err));
        for (size_t i = 0; i < page.count; i++) {
            bool probes = strstr(page.entries[i].key, STORE_PROBE_PREFIX) != NULL; /* with versions=keep they stay */
            out->noncurrent_bytes += page.entries[i].latest || probes ? 0 : page.entries[i].size_bytes;
        }
    }
    out->noncurrent_more = page.more;
    return OK;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static void set_gauge(struct metrics *metrics, const char *labels, bool yes)
{
    metric_set(metrics_gauge(metrics, "granary_store_ability", labels,
                             "1 for what the probe has found the store to do, 0 for what not."),
               yes ? 1 : 0);
}

static void tell(struct metrics *metrics, const struct store_probe *probe)
{
    if (metrics == NULL) {
        return;
    }
    set_gauge(metrics, "ability=\"create_if_absent\"", probe->create_if_absent);
    set_gauge(metrics, "ability=\"bulk_delete\"", probe->bulk_delete);
    set_gauge(metrics, "ability=\"lists_own_writes\"", probe->lists_own_writes);
    set_gauge(metrics, "ability=\"versioned\"", probe->versioned == STORE_YES);
    set_gauge(metrics, "ability=\"object_lock\"", probe->object_lock == STORE_YES);
    metric_set(metrics_gauge(metrics, "granary_store_noncurrent_bytes", NULL,
                             "Bytes of noncurrent versions that the probe has seen: at least so many."),
               (double)probe->noncurrent_bytes);
}

enum err_code store_s3_probe(struct store *base, struct store_probe *out, struct error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    struct question versioning = {
        .parameter = "versioning", .element = "VersioningConfiguration/Status", .yes = {"Enabled", "Suspended"}};
    struct question lock = {.parameter = "object-lock",
                            .element = "ObjectLockConfiguration/ObjectLockEnabled",
                            .yes = {"Enabled", "Enabled"}};
    struct uuid id = uuid_v7();
    char text[UUID_TEXT_BYTES];
    char key[sizeof STORE_PROBE_PREFIX + UUID_TEXT_BYTES];
    (void)snprintf(key, sizeof key, STORE_PROBE_PREFIX "%s", uuid_format(&id, text));
    out->versioned = ask(store, &versioning);
    out->object_lock = ask(store, &lock);
    if (out->versioned == STORE_YES) {
        atomic_store(&store->versioned, true);
    }
    enum err_code code = probe_writes(store, key, out, err);
    enum err_code deleted = probe_delete(store, key, out, code == OK ? err : NULL); /* whatever was written */
    TRY(code);
    TRY(deleted);
    if (out->versioned == STORE_YES) {
        TRY(count_noncurrent(store, out, err));
    }
    tell(store->options.metrics, out);
    return OK;
}
