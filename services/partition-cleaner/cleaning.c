/* Nothing is deleted before the comparison is whole: only then is it known how many orphans there are, and whether the
 * catalog can be believed. What is found stands in the catalog by then, so that memory does not grow with it and a run that
 * is killed goes on behind what it saved last.
 *
 *   killed while comparing     the next run goes on behind the position that was saved with its findings
 *   killed before the verdict  the same; comparing nothing more, it judges
 *   killed while deleting      the comparison is finished: the next run is a new one, and finds what is left
 */
#include "services/partition-cleaner/cleaning.h"

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/fsck/remove.h"
#include "common/log/log.h"
#include "services/partition-cleaner/plan.h"
#include "services/partition-cleaner/sweep.h"
#include "services/partition-cleaner/windows.h"

#define SAVE_EVERY_US (5 * CLOCK_SECOND_US)
#define TELL_EVERY_US (10 * CLOCK_SECOND_US)

struct cleaning {
    struct cleaner *cleaner;
    struct arena *arena;      /* of the run */
    struct arena *step_arena; /* of what is done again and again */
    struct fsck_place place;
    struct catalog_cleaner_run run;
    struct fsck *fsck;
    int64_t store_now_us, skew_us;
    int64_t saved_us, told_us; /* monotonic */
};

static void cleaning_done(struct cleaning *cleaning)
{
    fsck_close(cleaning->fsck);
    arena_free(cleaning->arena);
    arena_free(cleaning->step_arena);
}

/* --- beginning ----------------------------------------------------------------------------------------------------- */

static enum err_code ask_clocks(struct cleaning *cleaning, struct error *err)
{
    struct store_probe probe;
    int64_t catalog_now_us;
    TRY(store_probe(cleaning->place.store, &probe, err));
    TRY(catalog_now(cleaning->cleaner->catalog, &catalog_now_us, err));
    cleaning->store_now_us = clock_now_us() + probe.clock_skew_us;
    cleaning->skew_us = cleaning->store_now_us - catalog_now_us;
    return OK;
}

static enum err_code begin(struct cleaning *cleaning, struct cleaner_progress *progress, struct error *err)
{
    struct cleaner *cleaner = cleaning->cleaner;
    const struct partition_cleaner_config *config = cleaner->config;
    TRY(ask_clocks(cleaning, err));
    TRY(catalog_cleaner_run_open(cleaner->catalog, cleaning->place.storage_id, service_instance(cleaner->service),
                                 config->resume_within_us, cleaning->arena, &cleaning->run, err));
    const struct fsck_options options = {
        .world = fsck_world_of(&cleaning->place),
        .store_now_us = cleaning->store_now_us,
        .grace_us = config->grace_us,
        .page = (size_t)config->page,
        .after = cleaning->run.position,
    };
    TRY(fsck_open(&options, &cleaning->fsck, err));
    TRY(fsck_totals_decode(cleaning->run.counts_json, fsck_totals_of(cleaning->fsck), err));
    if (cleaning->run.resumed) {
        progress->resumed++;
        log_info("a comparison goes on where it was interrupted", LOG_INT("storage_id", cleaning->place.storage_id),
                 LOG_INT("run_id", cleaning->run.run_id), LOG_TEXT("position", cleaning->run.position));
    }
    return OK;
}

/* --- comparing ----------------------------------------------------------------------------------------------------- */

static void tell_foreign(struct cleaner *cleaner, const struct fsck_step *step)
{
    for (size_t i = 0; i < step->count && !cleaner->told_foreign; i++) {
        if (step->findings[i].class == FSCK_FOREIGN) {
            cleaner->told_foreign = true;
            log_info("names in the store that are none of ours are left alone",
                     LOG_TEXT("first", step->findings[i].path));
        }
    }
}

static void tell_progress(struct cleaning *cleaning)
{
    const struct fsck_totals *totals = fsck_totals_of(cleaning->fsck);
    int64_t now_us = clock_monotonic_us();
    if (now_us - cleaning->told_us >= TELL_EVERY_US) {
        cleaning->told_us = now_us;
        log_info("comparing", LOG_INT("storage_id", cleaning->place.storage_id), LOG_INT("objects", totals->objects),
                 LOG_INT("rows", totals->rows), LOG_INT("orphans", totals->classes[FSCK_ORPHAN].count),
                 LOG_TEXT("position", fsck_position(cleaning->fsck)));
    }
}

static enum err_code gather(struct cleaning *cleaning, const struct fsck_step *step, struct catalog_cleaner_save *save,
                            struct error *err)
{
    struct catalog_orphan *orphans = arena_zalloc(cleaning->step_arena, step->count + 1, sizeof *orphans);
    struct catalog_missing *missing = arena_zalloc(cleaning->step_arena, step->count + 1, sizeof *missing);
    if (orphans == NULL || missing == NULL) {
        return err_no_memory(err, step->count * sizeof *orphans);
    }
    for (size_t i = 0; i < step->count; i++) {
        const struct fsck_finding *finding = &step->findings[i];
        if (finding->class == FSCK_ORPHAN) {
            orphans[save->orphan_count++] = (struct catalog_orphan){
                .path = finding->path,
                .data_bytes = finding->bytes,
                .modified_at_us = finding->at_us,
                .owner = fsck_owner_name(finding->owner),
                .table_id = finding->table_id,
                .partition_id = finding->partition_id,
            };
        } else if (finding->class == FSCK_MISSING) {
            missing[save->missing_count++] = (struct catalog_missing){finding->path, finding->partition_id};
        }
    }
    save->orphans = orphans;
    save->missing = missing;
    return OK;
}

static enum err_code describe(struct cleaning *cleaning, struct catalog_cleaner_save *save, struct error *err)
{
    AUTO(json_free_auto) struct json *counts = json_new_object();
    AUTO(buf_done) struct buf text = {0};
    if (counts == NULL) {
        return err_no_memory(err, 64);
    }
    TRY(fsck_totals_encode(fsck_totals_of(cleaning->fsck), counts, err));
    TRY(json_dump(counts, JSON_STYLE_COMPACT, &text, err));
    save->counts_json = arena_strndup(cleaning->step_arena, (const char *)text.data, text.length_bytes);
    save->run_id = cleaning->run.run_id;
    save->storage_id = cleaning->place.storage_id;
    save->instance = service_instance(cleaning->cleaner->service);
    save->position = fsck_position(cleaning->fsck);
    return save->counts_json == NULL ? err_no_memory(err, text.length_bytes) : OK;
}

/* Findings go with the position behind them, at once; a position alone can wait a moment. */
static enum err_code save_step(struct cleaning *cleaning, const struct fsck_step *step, struct error *err)
{
    struct catalog_cleaner_save save = {0};
    int64_t now_us = clock_monotonic_us();
    arena_reset(cleaning->step_arena);
    TRY(gather(cleaning, step, &save, err));
    if (save.orphan_count == 0 && save.missing_count == 0 && now_us - cleaning->saved_us < SAVE_EVERY_US) {
        return OK;
    }
    cleaning->saved_us = now_us;
    TRY(describe(cleaning, &save, err));
    TRY(catalog_cleaner_save(cleaning->cleaner->catalog, &save, err));
    FAULT_POINT("cleaner.after_save");
    return OK;
}

static enum err_code compare(struct cleaning *cleaning, struct error *err)
{
    struct cleaner *cleaner = cleaning->cleaner;
    const struct fsck_totals *totals = fsck_totals_of(cleaning->fsck);
    for (struct fsck_step step = {0}; !step.done;) {
        int64_t before = totals->objects;
        if (service_stopping(cleaner->service)) {
            return err_set(err, ERR_STOPPED, "shutting down");
        }
        TRY(fsck_next(cleaning->fsck, &step, err));
        metric_add(cleaner->compared, totals->objects - before);
        tell_foreign(cleaner, &step);
        TRY(save_step(cleaning, &step, err));
        tell_progress(cleaning);
    }
    return OK;
}

/* --- judging ------------------------------------------------------------------------------------------------------- */

static enum err_code judge(struct cleaning *cleaning, struct error *out_verdict, struct error *err)
{
    struct cleaner *cleaner = cleaning->cleaner;
    struct catalog_cleaner_past past;
    struct fsck_totals past_totals;
    struct catalog_cleaner_save save = {0};
    TRY(catalog_cleaner_run_past(cleaner->catalog, cleaning->place.storage_id, cleaning->arena, &past, err));
    if (past.found) {
        TRY(fsck_totals_decode(past.counts_json, &past_totals, err));
    }
    const struct cleaner_evidence evidence = {
        .now = fsck_totals_of(cleaning->fsck),
        .past = past.found ? &past_totals : NULL,
        .receipts_since = past.receipts_since,
        .skew_us = cleaning->skew_us,
    };
    const struct cleaner_limits limits = {
        .max_orphan_percent = cleaner->config->max_orphan_percent,
        .max_shrink_percent = cleaner->config->max_shrink_percent,
        .max_skew_us = cleaner->config->max_skew_us,
    };
    bool allowed = cleaner_plan_verdict(&evidence, &limits, out_verdict) == OK;
    arena_reset(cleaning->step_arena);
    TRY(describe(cleaning, &save, err));
    FAULT_POINT("cleaner.before_finish");
    return catalog_cleaner_run_finish(cleaner->catalog, &save, allowed ? NULL : out_verdict->text, err);
}

static void tell_verdict(const struct cleaning *cleaning, bool may_delete, const struct error *verdict,
                         struct cleaner_progress *progress)
{
    if (verdict->code == OK) {
        return;
    }
    if (may_delete) {
        log_error("deleting orphans is refused by a rule", LOG_INT("storage_id", cleaning->place.storage_id),
                  LOG_ERR(verdict));
        progress->refused++;
    } else {
        log_warn("a rule would refuse to delete orphans", LOG_INT("storage_id", cleaning->place.storage_id),
                 LOG_ERR(verdict));
    }
    progress->verdict = progress->verdict.code == OK ? *verdict : progress->verdict;
}

static void tally_findings(const struct cleaning *cleaning, struct cleaner_progress *progress)
{
    const struct fsck_totals *totals = fsck_totals_of(cleaning->fsck);
    progress->storages++;
    progress->objects += totals->objects;
    progress->rows += totals->rows;
    progress->orphans += totals->classes[FSCK_ORPHAN].count;
    progress->orphan_bytes += totals->classes[FSCK_ORPHAN].bytes;
    progress->missing += totals->classes[FSCK_MISSING].count;
    progress->missing_live += totals->missing_active;
    progress->wrong_size += totals->classes[FSCK_SIZE].count;
    progress->foreign += totals->classes[FSCK_FOREIGN].count;
}

/* --- deleting ------------------------------------------------------------------------------------------------------ */

static void tally_batch(struct cleaner *cleaner, const struct catalog_orphan *orphans, size_t count,
                        const enum fsck_removal *outcomes, const char *const *errors, struct cleaner_progress *progress)
{
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i] == FSCK_REMOVED || outcomes[i] == FSCK_WAS_ABSENT) {
            progress->deleted++;
            progress->deleted_bytes += orphans[i].data_bytes;
            metric_add(cleaner->deleted, 1);
            metric_add(cleaner->deleted_bytes, orphans[i].data_bytes);
        } else {
            progress->kept++;
        }
        if (outcomes[i] == FSCK_KEPT_FAILED) {
            if (progress->failed++ == 0) {
                log_warn("the store did not delete an orphan; the next run tries again",
                         LOG_TEXT("path", orphans[i].path), LOG_TEXT("error", errors[i]));
            }
            metric_add(cleaner->failed, 1);
        }
    }
}

static enum err_code delete_batch(struct cleaning *cleaning, const struct catalog_condemned_page *page,
                                  const struct catalog_orphan **out_last, size_t *out_count,
                                  struct cleaner_progress *progress, struct error *err)
{
    struct cleaner *cleaner = cleaning->cleaner;
    struct arena *arena = cleaning->step_arena;
    struct catalog_orphan *orphans;
    const struct fsck_remover remover = {
        .catalog = cleaner->catalog,
        .store = cleaning->place.store,
        .storage_id = cleaning->place.storage_id,
        .gate = cleaner->gate,
        .actor = service_instance(cleaner->service),
    };
    TRY(catalog_cleaner_condemned(cleaner->catalog, page, arena, &orphans, out_count, err));
    if (*out_count == 0) {
        return OK;
    }
    enum fsck_removal *outcomes = arena_zalloc(arena, *out_count, sizeof *outcomes);
    const char **errors = arena_zalloc(arena, *out_count, sizeof *errors);
    if (outcomes == NULL || errors == NULL) {
        return err_no_memory(err, *out_count * sizeof *outcomes);
    }
    TRY(fsck_remove(&remover, orphans, *out_count, arena, outcomes, errors, err));
    tally_batch(cleaner, orphans, *out_count, outcomes, errors, progress);
    *out_last = &orphans[*out_count - 1];
    return OK;
}

static enum err_code delete_all(struct cleaning *cleaning, struct cleaner_progress *progress, struct error *err)
{
    const struct partition_cleaner_config *config = cleaning->cleaner->config;
    AUTO(buf_done) struct buf after = {0};
    AUTO(buf_done) struct buf windows = {0};
    TRY(cleaner_windows_load(cleaning->cleaner->catalog, &windows, err));
    struct catalog_condemned_page page = {
        .storage_id = cleaning->place.storage_id,
        .run_id = cleaning->run.run_id,
        .quarantine_us = config->quarantine_us,
        .modified_before_us = cleaner_plan_modified_before_us(cleaning->store_now_us, config->grace_us),
        .keep_owner = fsck_owner_name(FSCK_OWNER_OTHER_DEPLOYMENT), /* theirs to delete, or an operator's */
        .windows = (const struct catalog_table_window *)(const void *)windows.data,
        .window_count = windows.length_bytes / sizeof(struct catalog_table_window),
        .after = "",
        .limit = (size_t)config->batch,
    };
    for (size_t count = page.limit; count == page.limit;) {
        const struct catalog_orphan *last = NULL;
        if (service_stopping(cleaning->cleaner->service)) {
            return err_set(err, ERR_STOPPED, "shutting down");
        }
        arena_reset(cleaning->step_arena);
        TRY(delete_batch(cleaning, &page, &last, &count, progress, err));
        if (count == page.limit) {
            TRY(buf_set_text(&after, last->path, err));
            page.after = buf_held_text(&after);
        }
    }
    return OK;
}

/* --- one storage --------------------------------------------------------------------------------------------------- */

static enum err_code clean(struct cleaning *cleaning, bool may_delete, struct cleaner_progress *progress,
                           struct error *err)
{
    struct cleaner *cleaner = cleaning->cleaner;
    struct error verdict = {0};
    TRY(storages_get(cleaner->storages, cleaner->catalog, cleaning->place.storage_id, &cleaning->place.store, err));
    TRY(begin(cleaning, progress, err));
    TRY(compare(cleaning, err));
    FAULT_POINT("cleaner.after_compare");
    TRY(judge(cleaning, &verdict, err));
    tally_findings(cleaning, progress);
    tell_verdict(cleaning, may_delete, &verdict, progress);
    FAULT_POINT("cleaner.after_finish");
    const bool deletes = verdict.code == OK && may_delete;
    TRY(sweep_uploads(cleaner, &cleaning->place, deletes, progress, err));
    return deletes ? delete_all(cleaning, progress, err) : OK;
}

enum err_code cleaning_run(struct cleaner *cleaner, int32_t storage_id, bool may_delete,
                           struct cleaner_progress *progress, struct error *err)
{
    AUTO(cleaning_done)
    struct cleaning cleaning = {
        .cleaner = cleaner,
        .arena = arena_new(0),
        .step_arena = arena_new(0),
        .place = {.catalog = cleaner->catalog, .storage_id = storage_id, .prefix = ""},
        .saved_us = clock_monotonic_us(),
        .told_us = clock_monotonic_us(),
    };
    bool ours;
    if (cleaning.arena == NULL || cleaning.step_arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_cleaner_lock(cleaner->catalog, storage_id, &ours, err));
    if (!ours) {
        log_info("another cleaner is at work in a storage", LOG_INT("storage_id", storage_id));
        return OK;
    }
    enum err_code code = clean(&cleaning, may_delete, progress, err);
    (void)!catalog_cleaner_unlock(cleaner->catalog, storage_id, NULL); /* a lost session has given it back */
    return code;
}
