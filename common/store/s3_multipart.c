/* Uploads in parts. `connections` slots, each with a thread while its part is under way; part n goes into slot n modulo the
 * slots, so that whoever wants the slot next waits for the oldest part. Nothing is visible before the store puts the parts
 * together, and that it does only where the key is absent. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/store/s3.h"
#include "common/store/s3_xml.h"

enum { MAX_PARTS = 10000, MAX_SLOTS = 64, UPLOAD_ID_BYTES = 1024 };

struct part {
    struct s3_multipart *multipart;
    pthread_t thread;
    bool running;
    unsigned number;
    struct buf data;
    enum err_code code;
    struct error err;
};

struct s3_multipart {
    struct s3_store *store;
    char key[S3_KEY_BYTES];
    char upload_id[UPLOAD_ID_BYTES];
    const _Atomic int64_t *deadline_us;
    bool done; /* put together, or given back */
    unsigned count;
    char (*etags)[80]; /* of part n at n - 1 */
    size_t etag_capacity;
    size_t slot_count;
    struct part slots[MAX_SLOTS];
};

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static enum err_code on_begun(void *context, const char *path, const char *text, struct error *err)
{
    (void)err;
    if (strcmp(path, "InitiateMultipartUploadResult/UploadId") == 0) {
        (void)snprintf(context, UPLOAD_ID_BYTES, "%s", text);
    }
    return OK;
}

static enum err_code read_begun(void *context, const struct s3_answer *answer, struct error *err)
{
    char *upload_id = context;
    *upload_id = '\0';
    TRY(store_s3_xml_parse((const char *)answer->body.data, answer->body.length_bytes, on_begun, upload_id, err));
    return *upload_id != '\0' ? OK : err_set(err, ERR_CORRUPT, "expected the id of an upload but found none");
}

enum err_code store_s3_multipart_begin(struct s3_store *store, const char *whole_key,
                                       const _Atomic int64_t *deadline_us, struct s3_multipart **out, struct error *err)
{
    AUTO(free_auto) struct s3_multipart *multipart = calloc(1, sizeof *multipart);
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    if (multipart == NULL) {
        return err_no_memory(err, sizeof *multipart);
    }
    multipart->store = store;
    multipart->deadline_us = deadline_us;
    multipart->slot_count =
        (size_t)store->options.connections < MAX_SLOTS ? (size_t)store->options.connections : MAX_SLOTS;
    (void)snprintf(multipart->key, sizeof multipart->key, "%s", whole_key);
    const struct net_header query = {"uploads", ""};
    const struct net_header header = {"Content-Type", "application/octet-stream"};
    const struct s3_request request = {
        .verb = "begin to write",
        .method = "POST",
        .key = multipart->key,
        .query = &query,
        .query_count = 1,
        .headers = &header,
        .header_count = 1,
        .deadline_us = deadline_us,
        .read = read_begun,
        .context = multipart->upload_id,
    };
    TRY(store_s3_send(store, &request, &answer, err));
    if (answer.status != 200) {
        return store_s3_error_set(store, &request, &answer, ERR_UNAVAILABLE, err);
    }
    *out = TAKE(multipart);
    return OK;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

static enum err_code upload_part(struct part *part)
{
    struct s3_multipart *multipart = part->multipart;
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    char number[16];
    (void)snprintf(number, sizeof number, "%u", part->number);
    const struct net_header query[] = {{"partNumber", number}, {"uploadId", multipart->upload_id}};
    const struct net_header header = {"Content-Type", "application/octet-stream"};
    const struct s3_request request = {
        .verb = "write a part of",
        .method = "PUT",
        .key = multipart->key,
        .query = query,
        .query_count = 2,
        .headers = &header,
        .header_count = 1,
        .body = part->data.data,
        .body_bytes = part->data.length_bytes,
        .deadline_us = multipart->deadline_us,
    };
    TRY(store_s3_send(multipart->store, &request, &answer, &part->err));
    if (answer.status != 200 || answer.etag[0] == '\0') {
        return store_s3_error_set(multipart->store, &request, &answer, ERR_UNAVAILABLE, &part->err);
    }
    memcpy(multipart->etags[part->number - 1], answer.etag, sizeof answer.etag);
    return OK;
}

static void *run_part(void *context)
{
    struct part *part = context;
    part->code = upload_part(part);
    return NULL;
}

static enum err_code wait_for(struct part *part, struct error *err)
{
    if (part->running) {
        (void)pthread_join(part->thread, NULL);
        part->running = false;
    }
    return part->code == OK ? OK : err_set(err, part->code, "%s", part->err.text);
}

static enum err_code wait_for_all(struct s3_multipart *multipart, struct error *err)
{
    enum err_code code = OK;
    for (size_t i = 0; i < multipart->slot_count; i++) {
        enum err_code one = wait_for(&multipart->slots[i], code == OK ? err : NULL);
        code = code == OK ? one : code;
    }
    return code;
}

/* The table of etags is written by the parts: it moves only while none is under way. */
static enum err_code reserve_etag(struct s3_multipart *multipart, struct error *err)
{
    if (multipart->count < multipart->etag_capacity) {
        return OK;
    }
    TRY(wait_for_all(multipart, err));
    size_t capacity = multipart->etag_capacity == 0 ? 64 : 4 * multipart->etag_capacity;
    char(*grown)[80] = realloc(multipart->etags, capacity * sizeof *grown);
    if (grown == NULL) {
        return err_no_memory(err, capacity * sizeof *grown);
    }
    multipart->etags = grown;
    multipart->etag_capacity = capacity;
    return OK;
}

enum err_code store_s3_multipart_add(struct s3_multipart *multipart, const void *data, size_t length, struct error *err)
{
    struct part *part = &multipart->slots[multipart->count % multipart->slot_count];
    TRY(wait_for(part, err));
    if (multipart->count == MAX_PARTS) {
        return err_set(err, ERR_INVALID, "expected at most %d parts of \"s3://%s/%s\" but found more", MAX_PARTS,
                       multipart->store->url.bucket, multipart->key);
    }
    TRY(reserve_etag(multipart, err));
    buf_clear(&part->data);
    TRY(buf_append(&part->data, data, length, err));
    part->multipart = multipart;
    part->number = ++multipart->count;
    if (pthread_create(&part->thread, NULL, run_part, part) == 0) {
        part->running = true;
        return OK;
    }
    (void)run_part(part); /* no thread to be had: then one after the other */
    return wait_for(part, err);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static enum err_code build_list(const struct s3_multipart *multipart, struct buf *out, struct error *err)
{
    TRY(buf_append_text(out, "<CompleteMultipartUpload>", err));
    for (unsigned i = 0; i < multipart->count; i++) {
        TRY(buf_printf(out, err, "<Part><PartNumber>%u</PartNumber><ETag>", i + 1));
        TRY(store_s3_xml_escape(multipart->etags[i], out, err));
        TRY(buf_append_text(out, "</ETag></Part>", err));
    }
    return buf_append_text(out, "</CompleteMultipartUpload>", err);
}

struct finished {
    bool is;
    char etag[80];
};

static enum err_code on_finished(void *context, const char *path, const char *text, struct error *err)
{
    struct finished *finished = context;
    (void)err;
    if (strcmp(path, "CompleteMultipartUploadResult/ETag") == 0) {
        size_t quote = text[0] == '"';
        (void)snprintf(finished->etag, sizeof finished->etag, "%.*s", (int)strcspn(text + quote, "\""), text + quote);
    }
    finished->is = finished->is || strcmp(path, "CompleteMultipartUploadResult") == 0;
    return OK;
}

/* A connection that was kept open with blanks and then cut ends as a 200 with nothing in it. */
static enum err_code read_finished(void *context, const struct s3_answer *answer, struct error *err)
{
    struct finished *finished = context;
    *finished = (struct finished){0};
    TRY(store_s3_xml_parse((const char *)answer->body.data, answer->body.length_bytes, on_finished, finished, err));
    return finished->is ? OK : err_set(err, ERR_CORRUPT, "expected the result of an upload but found another document");
}

static enum err_code complete(struct s3_multipart *multipart, bool conditional, struct s3_answer *out,
                              struct error *err)
{
    AUTO(buf_done) struct buf body = {0};
    struct finished finished = {0};
    const struct net_header query = {"uploadId", multipart->upload_id};
    const struct net_header headers[] = {{"Content-Type", "application/xml"}, {"If-None-Match", "*"}};
    TRY(build_list(multipart, &body, err));
    const struct s3_request request = {
        .verb = "finish",
        .method = "POST",
        .key = multipart->key,
        .query = &query,
        .query_count = 1,
        .headers = headers,
        .header_count = conditional ? 2 : 1,
        .body = body.data,
        .body_bytes = body.length_bytes,
        .deadline_us = multipart->deadline_us,
        .read = read_finished,
        .context = &finished,
    };
    TRY(store_s3_send(multipart->store, &request, out, err));
    if (out->status != 200 && out->status != 412 && strcmp(out->code, "NoSuchUpload") != 0) {
        return store_s3_error_set(multipart->store, &request, out, ERR_UNAVAILABLE, err);
    }
    memcpy(out->etag, finished.etag, sizeof out->etag);
    return OK;
}

static enum err_code complete_somehow(struct s3_multipart *multipart, struct s3_answer *answer, struct error *err)
{
    struct s3_store *store = multipart->store;
    bool conditional = atomic_load(&store->conditional) != S3_CONDITIONAL_MISSING;
    enum err_code code = complete(multipart, conditional, answer, err);
    if (code != OK && conditional && answer->status == 501) {
        atomic_store(&store->conditional, S3_CONDITIONAL_MISSING);
        code = complete(multipart, false, answer, err);
    }
    return code;
}

/* Few stores take a condition here, and those that do not say nothing: so a look comes before it, always. An upload that is
 * gone was finished by a try whose answer was lost, if anything is there: then the bytes tell. */
enum err_code store_s3_multipart_finish(struct s3_multipart *multipart, uint64_t size_bytes,
                                        const uint8_t sha256[DIGEST_SHA256_BYTES], struct store_receipt *out,
                                        struct error *err)
{
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    struct s3_store *store = multipart->store;
    TRY(wait_for_all(multipart, err));
    enum err_code code = store_s3_compare(store, multipart->key, size_bytes, sha256, out, err);
    if (code != ERR_NOT_FOUND) {
        return code;
    }
    TRY(complete_somehow(multipart, &answer, err));
    if (answer.status != 200) {
        code = store_s3_compare(store, multipart->key, size_bytes, sha256, out, err);
        return code == ERR_NOT_FOUND
                   ? err_set(err, ERR_UNAVAILABLE,
                             "could not finish \"s3://%s/%s\": its parts are gone, and it is not there",
                             store->url.bucket, multipart->key)
                   : code;
    }
    multipart->done = true;
    *out = (struct store_receipt){.size_bytes = size_bytes};
    memcpy(out->sha256, sha256, sizeof out->sha256);
    memcpy(out->etag, answer.etag, sizeof out->etag);
    return OK;
}

enum err_code store_s3_multipart_abort(struct s3_store *store, const char *whole_key, const char *upload_id,
                                       struct error *err)
{
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    const struct net_header query = {"uploadId", upload_id};
    const struct s3_request request = {
        .verb = "give up the upload of",
        .method = "DELETE",
        .key = whole_key,
        .query = &query,
        .query_count = 1,
    };
    return store_s3_send(store, &request, &answer, err);
}

/* If the store cannot be told now, the sweep tells it later. */
void store_s3_multipart_close(struct s3_multipart *multipart)
{
    if (multipart == NULL) {
        return;
    }
    (void)!wait_for_all(multipart, NULL);
    if (!multipart->done) {
        (void)!store_s3_multipart_abort(multipart->store, multipart->key, multipart->upload_id, NULL);
    }
    for (size_t i = 0; i < multipart->slot_count; i++) {
        buf_done(&multipart->slots[i].data);
    }
    free(multipart->etags);
    free(multipart);
}
