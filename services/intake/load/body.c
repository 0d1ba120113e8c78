#include "services/intake/load/body.h"

#include <string.h>

enum {
    HANDED_ON_BYTES = 4 << 20, /* rows that a body gathers by itself, so that bodies seldom wait for each other */
    SLICE_BYTES = 4 << 10,     /* of a compressed body: what it becomes may be thousands of times as much */
};

struct load_body {
    struct load *load;
    struct ingest *ingest;
    struct spool *spool; /* Parquet, until it is whole */
    struct load_body_options options;
    struct load_body_totals totals;
    struct shown shown;
    bool entered, finished;
    struct error failure;
};

enum err_code load_body_open(const struct load_body_options *options, struct load_body **out, struct error *err)
{
    AUTO(load_body_close_auto) struct load_body *body = calloc(1, sizeof *body);
    if (body == NULL) {
        return err_no_memory(err, sizeof *body);
    }
    body->load = options->load;
    body->options = *options;
    body->shown.most = options->shown_rejects;
    if (options->ingest.format == INGEST_PARQUET) {
        const struct spool_options spool = {.folder = options->spool_folder,
                                            .compression = options->ingest.compression,
                                            .most_bytes = options->spool_most_bytes,
                                            .total_bytes = options->spool_bytes};
        TRY(spool_open(&spool, &body->spool, err));
    } else {
        TRY(ingest_new(load_table(body->load)->schema, &options->ingest, &options->limits, &body->ingest, err));
    }
    TRY(load_enter(body->load, err));
    body->entered = true;
    *out = TAKE(body);
    return OK;
}

void load_body_close(struct load_body *body)
{
    if (body == NULL) {
        return;
    }
    if (body->entered && !body->finished) {
        if (body->failure.code == OK) {
            err_set(&body->failure, ERR_INVALID, "a body was broken off after %lld rows",
                    (long long)(body->totals.rows + body->totals.rejects));
        }
        load_leave(body->load, &body->failure);
    }
    ingest_free(body->ingest);
    spool_close(body->spool);
    shown_done(&body->shown);
    free(body);
}

struct load_body_totals load_body_totals(const struct load_body *body)
{
    return body->totals;
}

const struct shown *load_body_shown(const struct load_body *body)
{
    return &body->shown;
}

static enum err_code hand_on(struct load_body *body, struct error *err)
{
    size_t reject_count;
    struct batch *batch = ingest_batch(body->ingest);
    const struct ingest_reject *rejects = ingest_rejects(body->ingest, &reject_count);
    TRY(shown_add(&body->shown, rejects, reject_count, err));
    TRY(load_append(body->load, batch, rejects, reject_count, &body->options.body_id, err));
    body->totals.rows += batch->row_count;
    body->totals.rejects += (int64_t)reject_count;
    batch_clear(batch);
    ingest_rejects_clear(body->ingest);
    return OK;
}

static bool is_worth_handing_on(const struct load_body *body)
{
    size_t reject_count;
    (void)ingest_rejects(body->ingest, &reject_count);
    return reject_count > 0 || batch_memory_bytes(ingest_batch(body->ingest)) >= HANDED_ON_BYTES;
}

static enum err_code feed(struct load_body *body, const uint8_t *data, size_t length, struct error *err)
{
    const size_t slice_bytes = body->options.ingest.compression == INGEST_PLAIN ? length : SLICE_BYTES;
    if (body->spool != NULL) {
        return spool_write(body->spool, data, length, err);
    }
    while (length > 0) {
        size_t slice = length < slice_bytes ? length : slice_bytes;
        TRY(ingest_feed(body->ingest, data, slice, err));
        if (is_worth_handing_on(body)) {
            TRY(hand_on(body, err));
        }
        data += slice;
        length -= slice;
    }
    return OK;
}

static enum err_code read_spool(struct load_body *body, struct error *err)
{
    struct parquet_source source;
    TRY(spool_finish(body->spool, &source, err));
    TRY(ingest_new_file(load_table(body->load)->schema, &source, &body->options.limits, &body->ingest, err));
    for (bool more = true; more;) {
        TRY(ingest_read(body->ingest, &more, err));
        if (is_worth_handing_on(body)) {
            TRY(hand_on(body, err));
        }
    }
    return OK;
}

static enum err_code note_failure(struct load_body *body, enum err_code code, const struct error *err)
{
    if (code != OK) {
        body->failure = *err;
        load_fail(body->load, err);
    }
    return code;
}

enum err_code load_body_feed(struct load_body *body, const void *data, size_t length, struct error *err)
{
    struct error own;
    err = err != NULL ? err : &own;
    return note_failure(body, feed(body, data, length, err), err);
}

enum err_code load_body_finish(struct load_body *body, struct error *err)
{
    struct error own;
    err = err != NULL ? err : &own;
    TRY(note_failure(body, body->spool != NULL ? read_spool(body, err) : ingest_finish(body->ingest, err), err));
    TRY(note_failure(body, hand_on(body, err), err));
    body->finished = true;
    load_leave(body->load, NULL);
    return OK;
}
