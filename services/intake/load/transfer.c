#include "services/intake/load/transfer.h"

#include <string.h>

#include "common/digest/digest.h"
#include "services/intake/decoder.h"
#include "services/intake/load/body.h"
#include "services/intake/load/http.h"

enum { BODY_SHOWN_REJECTS = 10, STATUS_BAD_REQUEST = 400, STATUS_UNPROCESSABLE = 422 };

/* A request with a body. */
struct transfer {
    struct loads *loads;
    struct http_request *http;
    const struct intake_table *table;
    struct load_handle *handle;
    struct load_body *body;
    struct uuid body_id;
    bool whole; /* the load is this request's alone */
    bool looked;
    struct load_before before;
    struct digest_sha256_stream *sha256; /* of a keyed one */
};

/* Bad bytes are the client's. */
static enum err_code blame(struct http_request *http, enum err_code code)
{
    if (code == ERR_CORRUPT) {
        http_set_error_status(http, STATUS_BAD_REQUEST);
    }
    return code;
}

/* --- its life ------------------------------------------------------------------------------------------------------- */

static void transfer_free(struct transfer *transfer)
{
    if (transfer == NULL) {
        return;
    }
    load_body_close(transfer->body);
    if (transfer->whole) {
        loads_end(transfer->handle);
    } else {
        loads_release(transfer->handle);
    }
    digest_sha256_stream_free(transfer->sha256);
    intake_table_release(transfer->table);
    free(transfer);
}
DEFINE_AUTO(struct transfer, transfer_free)

static enum err_code open_body(struct transfer *transfer, struct http_request *http, size_t shown_rejects,
                               struct error *err)
{
    const struct loads_options *own = loads_options_of(transfer->loads);
    struct load_body_options options = {
        .load = loads_get(transfer->handle),
        .body_id = transfer->body_id,
        .shown_rejects = shown_rejects,
        .spool_folder = own->config->load_spool,
        .spool_most_bytes = own->config->load_spool_max_bytes,
        .spool_bytes = loads_spool_bytes(transfer->loads),
    };
    TRY(decoder_read_options(http, &options.ingest, err));
    decoder_limits(own->config, transfer->table, load_options_of(options.load)->received_at_us, &options.limits);
    return load_body_open(&options, &transfer->body, err);
}

static enum err_code new_transfer(struct loads *loads, struct http_request *http, struct transfer **out,
                                  struct error *err)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (transfer == NULL) {
        return err_no_memory(err, sizeof *transfer);
    }
    transfer->loads = loads;
    transfer->http = http;
    *out = transfer;
    return OK;
}

enum err_code load_transfer_begin_rows(void *context, struct http_request *http, void **out, struct error *err)
{
    AUTO(transfer_free_auto) struct transfer *transfer = NULL;
    TRY(new_transfer(context, http, &transfer, err));
    TRY(load_http_find(context, http, &transfer->table, &transfer->handle, err));
    transfer->body_id = uuid_v7();
    TRY(open_body(transfer, http, BODY_SHOWN_REJECTS, err));
    *out = TAKE(transfer);
    return OK;
}

enum err_code load_transfer_begin_whole(void *context, struct http_request *http, void **out, struct error *err)
{
    AUTO(transfer_free_auto) struct transfer *transfer = NULL;
    struct loads_begin begin;
    TRY(new_transfer(context, http, &transfer, err));
    TRY(load_http_find_table(context, http, &transfer->table, err));
    TRY(load_http_read_begin(http, transfer->table, &begin, err));
    TRY(loads_begin(context, &begin, &transfer->handle, err));
    transfer->whole = true;
    transfer->body_id = begin.load_id;
    if (begin.keyed && (transfer->sha256 = digest_sha256_stream_new()) == NULL) {
        return err_no_memory(err, sizeof *transfer);
    }
    TRY(open_body(transfer, http, 0, err));
    *out = TAKE(transfer);
    return OK;
}

/* Whose the store is, and whether the key is known, is asked once, before anything is written. */
static enum err_code look_once(struct transfer *transfer, struct error *err)
{
    if (!transfer->looked) {
        TRY(load_look(loads_get(transfer->handle), &transfer->before, err));
        transfer->looked = true;
    }
    return OK;
}

enum err_code load_transfer_take(void *context, void *state, const void *data, size_t length, struct error *err)
{
    struct transfer *transfer = state;
    (void)context;
    TRY(look_once(transfer, err));
    if (transfer->sha256 != NULL) {
        digest_sha256_stream_update(transfer->sha256, data, length);
    }
    if (transfer->before.known) {
        return OK; /* only its digest counts */
    }
    return blame(transfer->http, load_body_feed(transfer->body, data, length, err));
}

void load_transfer_end(void *context, void *state)
{
    (void)context;
    transfer_free(state);
}

enum err_code load_transfer_handle_rows(void *context, struct http_request *http, struct error *err)
{
    AUTO(buf_done) struct buf json = {0};
    struct transfer *transfer = http_state(http);
    char load_id[UUID_TEXT_BYTES];
    char body_id[UUID_TEXT_BYTES];
    (void)context;
    TRY(look_once(transfer, err));
    TRY(blame(http, load_body_finish(transfer->body, err)));
    const struct load_body_totals totals = load_body_totals(transfer->body);
    TRY(buf_printf(&json, err, "{\"load_id\":\"%s\",\"body_id\":\"%s\",\"rows\":%lld,\"rejected\":%lld",
                   uuid_format(&load_options_of(loads_get(transfer->handle))->load_id, load_id),
                   uuid_format(&transfer->body_id, body_id), (long long)totals.rows, (long long)totals.rejects));
    TRY(shown_format(load_body_shown(transfer->body), &json, err));
    return load_http_reply(http, 200, &json, err);
}

/* The key came before: with the same body, or not. */
static enum err_code answer_known(struct transfer *transfer, struct http_request *http,
                                  const uint8_t sha256[DIGEST_SHA256_BYTES], struct error *err)
{
    if (memcmp(transfer->before.body_sha256, sha256, DIGEST_SHA256_BYTES) != 0) {
        http_set_error_status(http, STATUS_UNPROCESSABLE);
        return err_set(err, ERR_CONFLICT,
                       "this Idempotency-Key came before with another body; hint: a key names one body for ever");
    }
    return load_http_reply_known(http, loads_get(transfer->handle), &transfer->before, err);
}

enum err_code load_transfer_handle_whole(void *context, struct http_request *http, struct error *err)
{
    struct transfer *transfer = http_state(http);
    struct load *load = loads_get(transfer->handle);
    uint8_t sha256[DIGEST_SHA256_BYTES] = {0};
    (void)context;
    TRY(look_once(transfer, err));
    if (transfer->sha256 != NULL) {
        digest_sha256_stream_finish(transfer->sha256, sha256);
    }
    if (transfer->before.known) {
        return answer_known(transfer, http, sha256, err);
    }
    TRY(blame(http, load_body_finish(transfer->body, err)));
    enum err_code code = load_http_commit(http, load, sha256, &transfer->before, err);
    return code == ERR_CONFLICT && transfer->before.known ? answer_known(transfer, http, sha256, err) : code;
}
