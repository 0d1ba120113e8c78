#include "services/admin/fsck_job.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/catalog/admin_orphans.h"
#include "common/fsck/fsck.h"
#include "common/log/log.h"
#include "services/admin/fsck_lines.h"
#include "services/admin/scan_place.h"

enum { GONE_PAGE = 500, SHOWN_FOREIGN = 10 };

struct fsck_job {
    struct admin *admin; /* of whose scans under way this is one; NULL: not counted yet */
    struct connection *connection;
    struct arena *arena; /* of the job */
    struct arena *step_arena;
    struct fsck_wish wish;
    struct uuid table_id;
    const char *prefix; /* of the keys compared */

    struct catalog_storage *storages;
    size_t storage_count, storage; /* which one is being compared */
    struct fsck_place place;
    struct fsck *fsck; /* NULL: the next storage is to be begun */

    struct fsck_totals totals; /* of the storages before */
    int64_t shown_foreign;
    struct uuid plan_id;
    struct catalog_orphans_sum planned;
    struct fsck_tally gone;
    int64_t gone_after, receipts_since_us;
    bool receipts_read;
};

void fsck_job_free(struct fsck_job *job)
{
    if (job == NULL) {
        return;
    }
    fsck_close(job->fsck);
    connections_give(job->connection);
    arena_free(job->step_arena);
    arena_free(job->arena);
    scan_place_give(job->admin);
    free(job);
}

/* --- opening ------------------------------------------------------------------------------------------------------- */

static enum err_code read_scope(struct fsck_job *job, const struct fsck_wish *wish, struct error *err)
{
    char id[UUID_TEXT_BYTES];
    job->wish = *wish;
    job->prefix = "";
    if (wish->table_id != NULL) {
        job->table_id = *wish->table_id;
        job->wish.table_id = &job->table_id;
        job->prefix = arena_printf(job->arena, "%s/", uuid_format(&job->table_id, id));
    }
    return job->prefix == NULL ? err_no_memory(err, sizeof id) : OK;
}

enum err_code fsck_job_open(struct call *call, const struct fsck_wish *wish, struct fsck_job **out, struct error *err)
{
    AUTO(fsck_job_free_auto) struct fsck_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return err_no_memory(err, sizeof *job);
    }
    job->arena = arena_new(0);
    job->step_arena = arena_new(0);
    if (job->arena == NULL || job->step_arena == NULL) {
        return err_no_memory(err, 4096);
    }
    fsck_totals_init(&job->totals);
    job->gone.oldest_us = CLOCK_NEVER;
    job->receipts_since_us = CLOCK_NEVER;
    TRY(scan_place_take(call, &job->admin, err));
    TRY(read_scope(job, wish, err));
    TRY(storages_refresh(call->admin->storages, call->catalog, err));
    TRY(catalog_storages_load(call->catalog, job->arena, &job->storages, &job->storage_count, err));
    if (wish->plan) {
        job->plan_id = uuid_v7();
        TRY(catalog_admin_orphans_begin(call->catalog, &job->plan_id, job->wish.table_id, call->actor, err));
    }
    job->connection = TAKE(call->connection);
    *out = TAKE(job);
    return OK;
}

/* --- what a restore would miss ------------------------------------------------------------------------------------- */

static void tally_gone(struct fsck_job *job, int64_t bytes, int64_t at_us)
{
    job->gone.count++;
    job->gone.bytes += bytes;
    job->gone.oldest_us = at_us < job->gone.oldest_us ? at_us : job->gone.oldest_us;
}

static enum err_code read_receipts(struct fsck_job *job, struct buf *out, struct error *err)
{
    struct catalog *catalog = job->connection->catalog;
    struct catalog_gone *gone;
    size_t count;
    arena_reset(job->step_arena);
    TRY(catalog_objects_gone(catalog, job->wish.against_us, job->wish.table_id, job->gone_after, GONE_PAGE,
                             job->step_arena, &gone, &count, err));
    for (size_t i = 0; i < count; i++) {
        tally_gone(job, gone[i].data_bytes, gone[i].deleted_at_us);
        job->gone_after = gone[i].receipt_id;
        TRY(fsck_line_gone(&gone[i], out, err));
    }
    if (count < GONE_PAGE) {
        job->receipts_read = true;
        TRY(catalog_objects_receipts_since(catalog, &job->receipts_since_us, err));
    }
    return fsck_line_progress("", &job->totals, "", out, err);
}

static bool was_live(const struct fsck_finding *finding, int64_t at_us)
{
    return finding->created_at_us <= at_us && finding->deactivated_at_us > at_us;
}

/* --- comparing ----------------------------------------------------------------------------------------------------- */

static enum err_code begin_storage(struct fsck_job *job, struct error *err)
{
    const struct catalog_storage *storage = &job->storages[job->storage];
    struct store_probe probe;
    job->place = (struct fsck_place){
        .catalog = job->connection->catalog, .storage_id = storage->storage_id, .prefix = job->prefix};
    TRY(storages_get(job->admin->storages, job->connection->catalog, storage->storage_id, &job->place.store, err));
    TRY(store_probe(job->place.store, &probe, err));
    const struct fsck_options options = {
        .world = fsck_world_of(&job->place),
        .store_now_us = clock_now_us() + probe.clock_skew_us,
        .grace_us = job->admin->config->orphan_grace_us,
        .after = "",
    };
    return fsck_open(&options, &job->fsck, err);
}

/* Names that are none of ours are shown as examples: there may be as many as of ours. */
static bool is_shown(struct fsck_job *job, const struct fsck_finding *finding)
{
    switch (finding->class) {
    case FSCK_FOREIGN: return job->shown_foreign++ < SHOWN_FOREIGN;
    case FSCK_YOUNG:
    case FSCK_ORPHAN:
    case FSCK_MISSING:
    case FSCK_SIZE: return true;
    case FSCK_OK:
    case FSCK_MARK:
    case FSCK_FOLDER:
    case FSCK_CLASS_COUNT: break;
    }
    return false;
}

static enum err_code put_finding(struct fsck_job *job, const struct fsck_finding *finding, struct buf *out,
                                 struct error *err)
{
    const char *storage = job->storages[job->storage].name;
    if (job->wish.against_us == CLOCK_NEVER) {
        return is_shown(job, finding) ? fsck_line_finding(storage, finding, out, err) : OK;
    }
    if (finding->class != FSCK_MISSING || !was_live(finding, job->wish.against_us)) {
        return OK;
    }
    tally_gone(job, finding->bytes, finding->at_us);
    return fsck_line_finding(storage, finding, out, err);
}

static enum err_code plan_orphans(struct fsck_job *job, const struct fsck_step *step, struct error *err)
{
    struct catalog_orphan *orphans = arena_zalloc(job->step_arena, step->count + 1, sizeof *orphans);
    size_t count = 0;
    if (orphans == NULL) {
        return err_no_memory(err, step->count * sizeof *orphans);
    }
    for (size_t i = 0; i < step->count; i++) {
        const struct fsck_finding *finding = &step->findings[i];
        if (finding->class != FSCK_ORPHAN) {
            continue;
        }
        if (job->planned.objects == CATALOG_MAX_PLAN_ORPHANS) {
            job->planned.cut = true;
            break;
        }
        job->planned.objects++;
        job->planned.bytes += finding->bytes;
        orphans[count++] = (struct catalog_orphan){
            .storage_id = job->place.storage_id,
            .path = finding->path,
            .data_bytes = finding->bytes,
            .modified_at_us = finding->at_us,
            .owner = fsck_owner_name(finding->owner),
            .table_id = finding->table_id,
            .partition_id = finding->partition_id,
        };
    }
    return count == 0 ? OK : catalog_admin_orphans_add(job->connection->catalog, &job->plan_id, orphans, count, err);
}

static enum err_code compare(struct fsck_job *job, struct buf *out, struct error *err)
{
    struct fsck_step step;
    struct fsck_totals so_far = job->totals;
    if (job->fsck == NULL) {
        TRY(begin_storage(job, err));
    }
    TRY(fsck_next(job->fsck, &step, err));
    arena_reset(job->step_arena);
    for (size_t i = 0; i < step.count; i++) {
        TRY(put_finding(job, &step.findings[i], out, err));
    }
    if (job->wish.plan) {
        TRY(plan_orphans(job, &step, err));
    }
    fsck_totals_add(&so_far, fsck_totals_of(job->fsck));
    TRY(fsck_line_progress(job->storages[job->storage].name, &so_far, fsck_position(job->fsck), out, err));
    if (step.done) {
        job->totals = so_far;
        fsck_close(TAKE(job->fsck));
        job->storage++;
    }
    return OK;
}

/* --- the stream ---------------------------------------------------------------------------------------------------- */

static enum err_code finish(struct fsck_job *job, struct buf *out, struct error *err)
{
    const struct fsck_summary summary = {
        .totals = &job->totals,
        .plan_id = job->wish.plan ? &job->plan_id : NULL,
        .plan_objects = job->planned.objects,
        .plan_cut = job->planned.cut,
        .against = job->wish.against_us != CLOCK_NEVER,
        .gone = job->gone,
        .receipts_since_us = job->receipts_since_us,
    };
    if (job->wish.plan) {
        TRY(catalog_admin_orphans_finish(job->connection->catalog, &job->plan_id, &job->planned,
                                         job->admin->config->plan_life_us, err));
    }
    return fsck_line_summary(&summary, out, err);
}

static enum err_code fill(struct fsck_job *job, struct buf *out, bool *done, struct error *err)
{
    if (service_stopping(job->admin->service)) {
        return err_set(err, ERR_STOPPED, "shutting down; hint: try again");
    }
    if (job->wish.against_us != CLOCK_NEVER && !job->receipts_read) {
        return read_receipts(job, out, err);
    }
    if (job->storage < job->storage_count) {
        return compare(job, out, err);
    }
    *done = true;
    return finish(job, out, err);
}

enum err_code fsck_job_fill(struct fsck_job *job, struct buf *out, bool *done, struct error *err)
{
    struct error fault = {0};
    if (fill(job, out, done, &fault) == OK) {
        return OK;
    }
    log_warn("a comparison of store and catalog broke off", LOG_ERR(&fault));
    *done = true;
    return fsck_line_error(&fault, out, err);
}
