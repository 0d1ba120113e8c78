#include "services/intake/load/load.h"

#include <assert.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "services/intake/load/internal.h"
#include "services/intake/writer/writer.h"

const char *load_state_name(enum load_state state)
{
    static const char *const names[LOAD_STATE_COUNT] = {
        [LOAD_OPEN] = "open",
        [LOAD_COMMITTING] = "committing",
        [LOAD_COMMITTED] = "committed",
        [LOAD_FAILED] = "failed",
    };
    return names[state];
}

const struct intake_table *load_table(const struct load *load)
{
    return load->options.table;
}

const struct load_options *load_options_of(const struct load *load)
{
    return &load->options;
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

enum err_code load_open(const struct load_options *options, struct load **out, struct error *err)
{
    struct load *load = calloc(1, sizeof *load);
    if (load == NULL) {
        return err_no_memory(err, sizeof *load);
    }
    load->options = *options;
    (void)pthread_mutex_init(&load->work, NULL);
    (void)pthread_mutex_init(&load->lock, NULL);
    load->options.table = intake_table_share(options->table);
    load->shown.most = LOAD_SHOWN_REJECTS;
    load->touched_us = clock_monotonic_us();
    enum err_code code = catalog_open(options->catalog, &load->catalog, err);
    if (code != OK) {
        load_close(load);
        return code;
    }
    *out = load;
    return OK;
}

void load_close(struct load *load)
{
    if (load == NULL) {
        return;
    }
    publish_close(load->publish);
    load_drop_rows(load);
    shown_done(&load->shown);
    catalog_close(load->catalog);
    intake_table_release(load->options.table);
    (void)pthread_mutex_destroy(&load->work);
    (void)pthread_mutex_destroy(&load->lock);
    free(load->buckets);
    free(load);
}

/* --- states --------------------------------------------------------------------------------------------------------- */

/* Under `lock`. */
static enum err_code check_open(const struct load *load, struct error *err)
{
    if (load->state == LOAD_FAILED) {
        return err_set(err, ERR_CONFLICT, "the load has failed: %s", load->failure.text);
    }
    return load->state == LOAD_OPEN
               ? OK
               : err_set(err, ERR_CONFLICT, "expected an open load but it is %s", load_state_name(load->state));
}

static enum err_code check_open_now(struct load *load, struct error *err)
{
    (void)pthread_mutex_lock(&load->lock);
    enum err_code code = check_open(load, err);
    (void)pthread_mutex_unlock(&load->lock);
    return code;
}

void load_fail(struct load *load, const struct error *why)
{
    (void)pthread_mutex_lock(&load->lock);
    if (load->state != LOAD_COMMITTED && load->state != LOAD_FAILED) {
        load->state = LOAD_FAILED;
        load->failure = *why;
    }
    (void)pthread_mutex_unlock(&load->lock);
}

enum err_code load_enter(struct load *load, struct error *err)
{
    (void)pthread_mutex_lock(&load->lock);
    enum err_code code = check_open(load, err);
    load->bodies += code == OK;
    (void)pthread_mutex_unlock(&load->lock);
    return code;
}

void load_leave(struct load *load, const struct error *failure)
{
    if (failure != NULL) {
        load_fail(load, failure);
    }
    (void)pthread_mutex_lock(&load->lock);
    assert(load->bodies > 0);
    load->bodies--;
    load->totals.bodies += failure == NULL;
    load->touched_us = clock_monotonic_us();
    (void)pthread_mutex_unlock(&load->lock);
}

void load_bury(struct load *load)
{
    (void)pthread_mutex_lock(&load->work);
    (void)pthread_mutex_lock(&load->lock);
    bool over = (load->state == LOAD_COMMITTED || load->state == LOAD_FAILED) && load->bodies == 0;
    (void)pthread_mutex_unlock(&load->lock);
    if (over) {
        publish_close(TAKE(load->publish));
        load_drop_rows(load);
        catalog_close(TAKE(load->catalog));
    }
    (void)pthread_mutex_unlock(&load->work);
}

void load_keep(struct load *load)
{
    struct error err = {0};
    if (pthread_mutex_trylock(&load->work) != 0) {
        return;
    }
    bool open = check_open_now(load, NULL) == OK;
    enum err_code code = open && load->publish != NULL ? publish_keep(load->publish, &err) : OK;
    (void)pthread_mutex_unlock(&load->work);
    if (code != OK) {
        load_fail(load, &err);
    }
}

/* --- what was there before ------------------------------------------------------------------------------------------ */

static enum err_code find_before(struct load *load, struct load_before *out, struct error *err)
{
    struct catalog_batch_state state;
    TRY(catalog_intake_find(load->catalog, &load->options.batch_id, 1, &state, err));
    *out = (struct load_before){.known = state.known, .rows = state.row_count, .rejects = state.reject_count};
    memcpy(out->body_sha256, state.body_sha256, sizeof out->body_sha256);
    return OK;
}

enum err_code load_look(struct load *load, struct load_before *out, struct error *err)
{
    (void)pthread_mutex_lock(&load->work);
    enum err_code code = OK;
    *out = (struct load_before){0};
    if (!load->looked) {
        code = writer_see_to_marker(load->catalog, load->options.storages, err);
        load->looked = code == OK;
    }
    if (code == OK && load->options.keyed) {
        code = find_before(load, out, err);
    }
    (void)pthread_mutex_unlock(&load->work);
    return code;
}

/* --- bodies --------------------------------------------------------------------------------------------------------- */

static enum err_code count_in(struct load *load, const struct batch *rows, const struct ingest_reject *rejects,
                              size_t reject_count, struct error *err)
{
    (void)pthread_mutex_lock(&load->lock);
    enum err_code code = check_open(load, err);
    if (code == OK) {
        load->totals.rows += rows->row_count;
        load->totals.rejects += (int64_t)reject_count;
        code = shown_add(&load->shown, rejects, reject_count, err);
    }
    const int64_t rejected = load->totals.rejects;
    (void)pthread_mutex_unlock(&load->lock);
    if (code == OK && rejected > load->options.max_rejects) {
        return err_set(err, ERR_INVALID, "expected at most %lld rejected rows but found %lld",
                       (long long)load->options.max_rejects, (long long)rejected);
    }
    return code;
}

static void note_written(struct load *load)
{
    (void)pthread_mutex_lock(&load->lock);
    if (load->options.dry_run) {
        load->totals.partitions = (int64_t)load->bucket_count;
    } else if (load->publish != NULL) {
        const struct publish_totals totals = publish_totals(load->publish);
        load->totals.partitions = (int64_t)totals.partitions;
        load->totals.data_bytes = (int64_t)totals.data_bytes;
    }
    (void)pthread_mutex_unlock(&load->lock);
}

enum err_code load_append(struct load *load, const struct batch *rows, const struct ingest_reject *rejects,
                          size_t reject_count, const struct uuid *body_id, struct error *err)
{
    struct error own;
    err = err != NULL ? err : &own;
    (void)pthread_mutex_lock(&load->work);
    enum err_code code = count_in(load, rows, rejects, reject_count, err);
    if (code == OK) {
        code = load_gather_rejects(load, rejects, reject_count, body_id, err);
    }
    if (code == OK) {
        code = load_gather(load, rows, err);
    }
    note_written(load);
    (void)pthread_mutex_unlock(&load->work);
    if (code != OK) {
        load_fail(load, err);
    }
    return code;
}

/* --- the end -------------------------------------------------------------------------------------------------------- */

/* From here on no body may begin, and none is under way. OK without *out_begun: it was committed before. */
static enum err_code begin_commit(struct load *load, bool *out_begun, struct error *err)
{
    (void)pthread_mutex_lock(&load->lock);
    enum err_code code = load->state == LOAD_COMMITTED ? OK : check_open(load, err);
    if (code == OK && load->bodies > 0) {
        code = err_set(err, ERR_CONFLICT, "expected all bodies to be over before the commit but %u are under way",
                       load->bodies);
    }
    *out_begun = code == OK && load->state == LOAD_OPEN;
    load->state = *out_begun ? LOAD_COMMITTING : load->state;
    (void)pthread_mutex_unlock(&load->lock);
    return code;
}

static void set_committed(struct load *load)
{
    (void)pthread_mutex_lock(&load->lock);
    load->state = LOAD_COMMITTED;
    load->touched_us = clock_monotonic_us();
    (void)pthread_mutex_unlock(&load->lock);
}

static enum err_code publish_all(struct load *load, const uint8_t body_sha256[32], struct load_before *out,
                                 struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_batch batch = {.batch_id = load->options.batch_id,
                                  .table_id = load->options.table->table_id,
                                  .keyed = load->options.keyed,
                                  .row_count = load->totals.rows,
                                  .reject_count = load->totals.rejects};
    struct uuid *known = NULL;
    size_t known_count = 0;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    memcpy(batch.body_sha256, body_sha256, sizeof batch.body_sha256);
    TRY(load_need_publish(load, err));
    TRY(load_write_rest(load, err));
    note_written(load);
    FAULT_POINT("load.before_commit");
    enum err_code code = publish_commit(load->publish, &batch, 1, arena, &known, &known_count, err);
    if (code == ERR_CONFLICT && known_count > 0) {
        TRY(find_before(load, out, err));
        return err_set(err, code, "the rows of this load's key were committed before");
    }
    TRY(code);
    FAULT_POINT("load.after_commit");
    return OK;
}

enum err_code load_commit(struct load *load, const uint8_t body_sha256[32], struct load_before *out, struct error *err)
{
    struct error own;
    err = err != NULL ? err : &own;
    *out = (struct load_before){0};
    (void)pthread_mutex_lock(&load->work);
    bool begun = false;
    enum err_code code = begin_commit(load, &begun, err);
    if (begun && !load->options.dry_run) {
        code = publish_all(load, body_sha256, out, err);
    }
    if (code == OK && begun) {
        set_committed(load);
    } else if (begun) {
        struct error why = *err;
        why.code = out->known ? ERR_STOPPED : why.code; /* its rows are there, by another's commit */
        load_fail(load, &why);
    }
    (void)pthread_mutex_unlock(&load->work);
    load_bury(load);
    return code;
}
