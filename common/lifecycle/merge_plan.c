#include "common/lifecycle/merge_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/checked.h"
#include "common/base/clock.h"

enum {
    /* A level's own outputs are rewritten only for a file at least this many times as large: rewrites of a row within a
     * level stay below the logarithm, to this base, of the target's size over the smallest output's. */
    MIN_GAIN = 8,
    /* From three quarters of the target on, a partition is well filled. */
    FILLED_PARTS = 3,
    FILLED_OF = 4,
};

/* What the planner knows of a candidate while it works; same index as the candidate. */
enum mark {
    MARK_FREE,
    MARK_GROUPED, /* looked at in this pass: it stays where it is, or is an input now */
    MARK_PLANNED, /* an input of a task, or of one that max_tasks has cut off: its bucket is not settled */
};

struct planner {
    struct merge_candidate *candidates;
    size_t count;
    const struct merge_plan_options *options;
    struct arena *arena;
    unsigned char *marks;
    const struct merge_candidate **members; /* of the group at hand: merge.max_inputs */
    size_t *member_indexes;
    size_t member_count;
    int64_t member_bytes;
    struct merge_task *tasks;
    size_t task_count, task_capacity;
};

/* One sweep over a bucket: fresh inputs, or the level's own outputs again. */
struct pass {
    enum merge_target_id target;
    bool own_outputs;
    size_t begin, end; /* candidates of the bucket, by time */
    bool growing;      /* the bucket's end has not come yet */
    size_t tasks_left; /* of max_tasks */
};

static int compare_candidates(const void *left, const void *right)
{
    const struct merge_candidate *a = left;
    const struct merge_candidate *b = right;
    if (a->min_timestamp_us != b->min_timestamp_us) {
        return a->min_timestamp_us < b->min_timestamp_us ? -1 : 1;
    }
    if (a->max_timestamp_us != b->max_timestamp_us) {
        return a->max_timestamp_us < b->max_timestamp_us ? -1 : 1;
    }
    return uuid_compare(&a->partition_id, &b->partition_id);
}

static int64_t bucket_of(int64_t time_us, int64_t width_us)
{
    return time_us / width_us - (time_us % width_us < 0);
}

static const struct merge_target *target_of(const struct planner *planner, enum merge_target_id target)
{
    return &planner->options->settings->merge[target];
}

/* --- who may take part -------------------------------------------------------------------------------------------- */

/* An age of 0 asks for nothing, so that rows ahead of the clock are merged like all others. */
static bool age_fits(const struct planner *planner, const struct merge_target *target,
                     const struct merge_candidate *candidate)
{
    int64_t age_us = 0;
    if (!checked_sub_i64(planner->options->now_us, candidate->max_timestamp_us, &age_us)) {
        age_us = candidate->max_timestamp_us < 0 ? INT64_MAX : INT64_MIN;
    }
    return (target->min_age_us == 0 || age_us >= target->min_age_us) &&
           (target->max_age_us == CLOCK_NEVER || age_us <= target->max_age_us) &&
           candidate->max_timestamp_us >= planner->options->cutoff_us;
}

static bool size_fits(const struct planner *planner, const struct pass *pass, const struct merge_candidate *candidate)
{
    int64_t size_bytes = target_of(planner, pass->target)->size_bytes;
    int32_t own_level = (int32_t)pass->target + 1;
    return pass->own_outputs
               ? candidate->merge_level == own_level && candidate->data_bytes <= size_bytes / MIN_GAIN
               : candidate->merge_level < own_level && candidate->data_bytes < size_bytes / FILLED_OF * FILLED_PARTS;
}

static bool takes_part(const struct planner *planner, const struct pass *pass, size_t i)
{
    const struct merge_candidate *candidate = &planner->candidates[i];
    const struct merge_target *target = target_of(planner, pass->target);
    return planner->marks[i] == MARK_FREE && !candidate->busy && size_fits(planner, pass, candidate) &&
           age_fits(planner, target, candidate) &&
           bucket_of(candidate->min_timestamp_us, target->width_us) ==
               bucket_of(candidate->max_timestamp_us, target->width_us);
}

static bool same_larger_buckets(const struct planner *planner, enum merge_target_id target,
                                const struct merge_candidate *a, const struct merge_candidate *b)
{
    for (enum merge_target_id larger = target + 1; larger < MERGE_TARGET_COUNT; larger++) {
        int64_t width_us = target_of(planner, larger)->width_us;
        if (bucket_of(a->min_timestamp_us, width_us) != bucket_of(b->min_timestamp_us, width_us) ||
            bucket_of(a->max_timestamp_us, width_us) != bucket_of(b->max_timestamp_us, width_us)) {
            return false;
        }
    }
    return true;
}

/* Reconciling need not be transitive: a newcomer is asked about every version that is in the group. */
static bool schemas_fit(const struct planner *planner, const struct merge_candidate *newcomer)
{
    const struct merge_plan_options *options = planner->options;
    int32_t asked = newcomer->schema_version;
    for (size_t i = 0; i < planner->member_count; i++) {
        int32_t version = planner->members[i]->schema_version;
        if (version == newcomer->schema_version || version == asked) {
            continue;
        }
        if (options->reconcilable == NULL ||
            !options->reconcilable(options->context, version, newcomer->schema_version)) {
            return false;
        }
        asked = version;
    }
    return true;
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* Gathers from `first` on until the output is full; what does not go with the group is left for the next one. */
static void gather(struct planner *planner, const struct pass *pass, size_t first)
{
    const struct table_settings *settings = planner->options->settings;
    int64_t size_bytes = target_of(planner, pass->target)->size_bytes;
    planner->member_count = 0;
    planner->member_bytes = 0;
    for (size_t i = first; i < pass->end && planner->member_count < (size_t)settings->merge_max_inputs; i++) {
        const struct merge_candidate *candidate = &planner->candidates[i];
        if (!takes_part(planner, pass, i)) {
            continue;
        }
        if (planner->member_count > 0 && (!same_larger_buckets(planner, pass->target, planner->members[0], candidate) ||
                                          !schemas_fit(planner, candidate))) {
            continue;
        }
        if (candidate->data_bytes > size_bytes - planner->member_bytes) {
            break;
        }
        planner->members[planner->member_count] = candidate;
        planner->member_indexes[planner->member_count++] = i;
        planner->member_bytes += candidate->data_bytes;
    }
}

static bool worth_merging(const struct planner *planner, const struct pass *pass)
{
    const struct table_settings *settings = planner->options->settings;
    size_t count = planner->member_count;
    if (count < 2) {
        return false;
    }
    if (pass->own_outputs) {
        return count >= MIN_GAIN;
    }
    return !pass->growing || count >= (size_t)settings->merge_min_inputs ||
           count == (size_t)settings->merge_max_inputs ||
           planner->member_bytes >= target_of(planner, pass->target)->size_bytes / 2;
}

static MUST_CHECK enum err_code grow_tasks(struct planner *planner, struct error *err)
{
    if (planner->task_count < planner->task_capacity) {
        return OK;
    }
    size_t capacity = planner->task_capacity == 0 ? 16 : planner->task_capacity * 2;
    struct merge_task *tasks = arena_zalloc(planner->arena, capacity, sizeof *tasks);
    if (tasks == NULL) {
        return err_no_memory(err, capacity * sizeof *tasks);
    }
    if (planner->task_count > 0) {
        memcpy(tasks, planner->tasks, planner->task_count * sizeof *tasks);
    }
    planner->tasks = tasks;
    planner->task_capacity = capacity;
    return OK;
}

static MUST_CHECK enum err_code emit(struct planner *planner, const struct pass *pass, struct error *err)
{
    TRY(grow_tasks(planner, err));
    size_t bytes = planner->member_count * sizeof *planner->members;
    struct merge_task task = {
        .target = pass->target,
        .input_count = planner->member_count,
        .inputs = arena_alloc(planner->arena, bytes),
        .min_timestamp_us = planner->members[0]->min_timestamp_us,
        .max_timestamp_us = planner->members[0]->max_timestamp_us,
        .data_bytes = planner->member_bytes,
        .merge_level = (int32_t)pass->target + 1,
    };
    if (task.inputs == NULL) {
        return err_no_memory(err, bytes);
    }
    memcpy(task.inputs, planner->members, bytes);
    for (size_t i = 0; i < task.input_count; i++) {
        task.row_count += task.inputs[i]->row_count;
        if (task.inputs[i]->max_timestamp_us > task.max_timestamp_us) {
            task.max_timestamp_us = task.inputs[i]->max_timestamp_us;
        }
    }
    planner->tasks[planner->task_count++] = task;
    return OK;
}

static MUST_CHECK enum err_code sweep(struct planner *planner, struct pass *pass, struct error *err)
{
    for (size_t first = pass->begin; first < pass->end; first++) {
        if (!takes_part(planner, pass, first)) {
            continue;
        }
        gather(planner, pass, first);
        bool worth = worth_merging(planner, pass);
        for (size_t i = 0; i < planner->member_count; i++) {
            planner->marks[planner->member_indexes[i]] = worth ? MARK_PLANNED : MARK_GROUPED;
        }
        if (worth && pass->tasks_left > 0) {
            TRY(emit(planner, pass, err));
            pass->tasks_left--;
        }
    }
    for (size_t i = pass->begin; i < pass->end; i++) {
        if (planner->marks[i] == MARK_GROUPED) {
            planner->marks[i] = MARK_FREE;
        }
    }
    return OK;
}

/* --- buckets ------------------------------------------------------------------------------------------------------ */

/* A row that a smaller target is about to rewrite would be rewritten twice in vain. */
static bool settled(const struct planner *planner, const struct pass *pass)
{
    if (pass->target == MERGE_SMALL) {
        return true;
    }
    for (size_t i = pass->begin; i < pass->end; i++) {
        const struct merge_candidate *candidate = &planner->candidates[i];
        bool moving = planner->marks[i] == MARK_PLANNED || candidate->busy;
        if (moving && age_fits(planner, target_of(planner, pass->target), candidate)) {
            return false;
        }
    }
    return true;
}

static MUST_CHECK enum err_code plan_target(struct planner *planner, enum merge_target_id target, struct error *err)
{
    int64_t width_us = target_of(planner, target)->width_us;
    size_t tasks_left = planner->options->max_tasks;
    for (size_t begin = 0, end = 0; begin < planner->count; begin = end) {
        int64_t bucket = bucket_of(planner->candidates[begin].min_timestamp_us, width_us);
        while (end < planner->count && bucket_of(planner->candidates[end].min_timestamp_us, width_us) == bucket) {
            end++;
        }
        struct pass pass = {
            .target = target,
            .begin = begin,
            .end = end,
            .growing = bucket >= bucket_of(planner->options->now_us, width_us),
            .tasks_left = tasks_left,
        };
        if (settled(planner, &pass)) {
            TRY(sweep(planner, &pass, err));
            pass.own_outputs = true;
            TRY(sweep(planner, &pass, err));
        }
        tasks_left = pass.tasks_left;
    }
    return OK;
}

enum err_code merge_plan(struct merge_candidate *candidates, size_t count, const struct merge_plan_options *options,
                         struct arena *arena, struct merge_task **out, size_t *out_count, struct error *err)
{
    size_t max_inputs = (size_t)options->settings->merge_max_inputs;
    struct planner planner = {
        .candidates = candidates,
        .count = count,
        .options = options,
        .arena = arena,
        .marks = arena_zalloc(arena, count + 1, sizeof *planner.marks),
        .members = arena_zalloc(arena, max_inputs, sizeof *planner.members),
        .member_indexes = arena_zalloc(arena, max_inputs, sizeof *planner.member_indexes),
    };
    if (planner.marks == NULL || planner.members == NULL || planner.member_indexes == NULL) {
        return err_no_memory(err, count + max_inputs * (sizeof *planner.members + sizeof *planner.member_indexes));
    }
    if (count > 0) {
        qsort(candidates, count, sizeof *candidates, compare_candidates);
    }
    for (enum merge_target_id target = MERGE_SMALL; target < MERGE_TARGET_COUNT; target++) {
        TRY(plan_target(&planner, target, err));
    }
    *out = planner.tasks;
    *out_count = planner.task_count;
    return OK;
}
