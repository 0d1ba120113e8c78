#include "services/admin/explain.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/base/clock.h"

enum { TEXT_BYTES = 1024 };

struct explainer {
    const struct explain_input *in;
    const struct partition_record *partition;
    struct arena *arena;
    struct explanation out;
    bool out_of_memory;
};

static __attribute__((format(printf, 2, 3))) const char *text(struct explainer *explainer, const char *format, ...)
{
    char buffer[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    const char *copy = arena_strdup(explainer->arena, buffer);
    explainer->out_of_memory |= copy == NULL;
    return copy;
}

static void detail(struct explainer *explainer, const char *sentence)
{
    if (explainer->out.detail_count < EXPLAIN_MAX_DETAILS && sentence != NULL) {
        explainer->out.details[explainer->out.detail_count++] = sentence;
    }
}

static void next(struct explainer *explainer, const char *what, const char *who, int64_t when_us)
{
    explainer->out.next_what = what;
    explainer->out.next_who = who;
    explainer->out.next_when_us = when_us;
}

/* a + b, where CLOCK_NEVER and what lies beyond all time never come. */
static int64_t later(int64_t time_us, int64_t by_us)
{
    int64_t sum_us;
    if (by_us == CLOCK_NEVER || __builtin_add_overflow(time_us, by_us, &sum_us)) {
        return EXPLAIN_NO_TIME;
    }
    return sum_us;
}

/* --- details -------------------------------------------------------------------------------------------------------- */

static void tell_lock(struct explainer *explainer)
{
    const struct lock_record *lock = &explainer->in->partition->lock;
    char at[CLOCK_TEXT_BYTES];
    char until[CLOCK_TEXT_BYTES];
    if (uuid_is_nil(&lock->lock_id)) {
        return;
    }
    clock_format(lock->acquired_at_us, at);
    if (lock->expires_at_us == CLOCK_NEVER) {
        detail(explainer, text(explainer, "\"%s\" has locked it (%s: %s) since %s; the lock does not expire.",
                               lock->owner, lock_kind_name(lock->kind), lock->reason, at));
        return;
    }
    clock_format(lock->expires_at_us, until);
    bool expired = lock->expires_at_us <= explainer->in->now_us;
    detail(explainer,
           text(explainer, "\"%s\" has locked it (%s: %s) since %s; the lock %s %s.", lock->owner,
                lock_kind_name(lock->kind), lock->reason, at, expired ? "has run out at" : "lasts until", until));
}

static void tell_holds(struct explainer *explainer)
{
    const struct explain_input *in = explainer->in;
    for (size_t i = 0; i < in->hold_count && i < 3; i++) {
        const struct catalog_hold *hold = &in->holds[i];
        const char *over = !uuid_is_nil(&hold->partition_id) ? "this partition"
                           : hold->has_range                 ? "its time range"
                                                             : "its table";
        detail(explainer,
               text(explainer, "A hold over %s by \"%s\" keeps it: %s.", over, hold->placed_by, hold->reason));
    }
    if (in->hold_count > 3) {
        detail(explainer, text(explainer, "%zu more holds keep it.", in->hold_count - 3));
    }
}

static void tell_history(struct explainer *explainer)
{
    const struct explain_input *in = explainer->in;
    const struct partition_record *partition = explainer->partition;
    char at[CLOCK_TEXT_BYTES];
    if (!partition->active && partition->deactivated_at_us != 0) {
        detail(explainer,
               text(explainer, "Inactive since %s, by \"%s\".", clock_format(partition->deactivated_at_us, at),
                    partition->deactivated_by == NULL ? "" : partition->deactivated_by));
    }
    if (in->child_count > 0) {
        detail(explainer, text(explainer, "Its rows live on in %zu other partition%s: see the lineage.",
                               in->child_count, in->child_count == 1 ? "" : "s"));
    }
    if (in->parent_count > 0) {
        detail(explainer, text(explainer, "It was made of %zu others.", in->parent_count));
    }
    if (in->failure->known) {
        detail(explainer,
               text(explainer, "%s %lld time%s, last: %s.",
                    partition->active ? "Merging it failed" : "Deleting it failed", (long long)in->failure->tries,
                    in->failure->tries == 1 ? "" : "s", in->failure->last_error));
    }
    if (in->failure->set_aside) {
        detail(explainer, "Merging goes on around it after so many failures.");
    }
    if (in->table->dropped) {
        detail(explainer, "Its table is dropped.");
    }
}

static void tell_missing(struct explainer *explainer)
{
    char since[CLOCK_TEXT_BYTES];
    if (explainer->in->missing_since_us != CLOCK_NEVER) {
        detail(explainer, text(explainer,
                               "Its object is missing from the store since %s or longer: the cleaner asked for it. The "
                               "row stays until somebody has put it back, or parked the partition.",
                               clock_format(explainer->in->missing_since_us, since)));
    }
}

static void tell_pause(struct explainer *explainer)
{
    if (explainer->in->deleting_paused) {
        detail(explainer, text(explainer, "All deleting is paused by \"%s\".", explainer->in->paused_by));
    }
}

/* --- what comes next ------------------------------------------------------------------------------------------------ */

/* Says who must act first where something keeps it from going on: holds before the brake. */
static bool is_kept(struct explainer *explainer)
{
    if (explainer->in->hold_count > 0) {
        next(explainer, "Nothing, until every hold over it is released.", "operator", EXPLAIN_NO_TIME);
        return true;
    }
    if (explainer->in->deleting_paused) {
        next(explainer, "Nothing, until deleting is resumed.", "operator", EXPLAIN_NO_TIME);
        return true;
    }
    return false;
}

static void next_of_active(struct explainer *explainer)
{
    const struct table_record *table = explainer->in->table;
    int64_t old_at_us = later(explainer->partition->max_timestamp_us, table->retention_us);
    char age[CLOCK_TEXT_BYTES];
    if (table->dropped) {
        if (!is_kept(explainer)) {
            next(explainer, "The next run of decay makes it inactive, because its table is dropped.", "granary-decay",
                 EXPLAIN_NO_TIME);
        }
        return;
    }
    detail(explainer,
           text(explainer, "Rows are kept for %s (age.max_age)%s.", clock_format_duration(table->retention_us, age),
                table->retention_cooling ? ", until a shorter retention has cooled down" : ""));
    if (old_at_us == EXPLAIN_NO_TIME) {
        next(explainer, "Nothing: age.max_age is never. It may be merged.", NULL, EXPLAIN_NO_TIME);
    } else if (!is_kept(explainer)) {
        bool old = old_at_us <= explainer->in->now_us;
        next(explainer,
             old ? "All of its rows are old: the next run of decay makes it inactive, unless the breaker refuses."
                 : "It decays once all of its rows are older than age.max_age; until then it may be merged.",
             "granary-decay", old_at_us);
    }
}

static const char *grace_setting(enum deactivation_reason reason)
{
    switch (reason) {
    case REASON_ABANDONED: return "abandoned.grace";
    case REASON_MERGE: return "merge.cleanup_grace";
    case REASON_DECAY:
    case REASON_DROP:
    case REASON_PARK:
    case REASON_ALTER: return "reaper.max_age";
    case REASON_NONE:
    case REASON_COUNT: break;
    }
    return NULL;
}

static void fill_grace(struct explainer *explainer)
{
    const struct partition_record *partition = explainer->partition;
    const int64_t window_us = explainer->in->table->settings.backup_window_us;
    explainer->out.grace_setting = grace_setting(partition->reason);
    explainer->out.grace_us = reap_grace_us(&explainer->in->table->settings, partition->reason);
    explainer->out.grace_over_at_us = later(partition->deactivated_at_us, explainer->out.grace_us);
    if (window_us != 0 && window_us == explainer->out.grace_us) {
        char window[CLOCK_TEXT_BYTES];
        explainer->out.grace_setting = "reaper.backup_window";
        detail(explainer,
               text(explainer, "A catalog backup of the last %s may still name it as live (reaper.backup_window).",
                    clock_format_duration(window_us, window)));
    }
}

static void next_of_inactive(struct explainer *explainer)
{
    fill_grace(explainer);
    int64_t over_us = explainer->out.grace_over_at_us;
    if (is_kept(explainer)) {
        return;
    }
    if (over_us == EXPLAIN_NO_TIME) {
        next(explainer, text(explainer, "Nothing: %s is never.", explainer->out.grace_setting), NULL, EXPLAIN_NO_TIME);
    } else if (over_us <= explainer->in->now_us) {
        next(explainer, "Its grace is over: the next collection tells a reaper, which deletes its objects and its row.",
             "granary-reap-collection", over_us);
    } else {
        next(explainer, "A reaper deletes its objects and its row once its grace is over.", "granary-reaper", over_us);
    }
}

static void next_of_leased(struct explainer *explainer, const char *held, const char *lost, const char *who)
{
    const struct lock_record *lock = &explainer->in->partition->lock;
    if (lock->expires_at_us > explainer->in->now_us) {
        next(explainer, held, lock->owner, lock->expires_at_us == CLOCK_NEVER ? EXPLAIN_NO_TIME : lock->expires_at_us);
    } else {
        next(explainer, lost, who, EXPLAIN_NO_TIME);
    }
}

static void next_of(struct explainer *explainer, enum lifecycle_state state)
{
    switch (state) {
    case STATE_STAGED_WRITE:
    case STATE_STAGED_ALTER:
        next_of_leased(explainer, "Its writer publishes it, or gives it up; at the latest when its lease runs out.",
                       "Its lease has run out: the next cleanup gives it up.", "granary-merge-cleanup");
        return;
    case STATE_ACTIVE: next_of_active(explainer); return;
    case STATE_MERGING:
        next_of_leased(explainer, "Its merge commits, or the attempt is given up and it is unlocked.",
                       "Its attempt's lease has run out: it is unlocked.", "granary-merge-controller");
        return;
    case STATE_ALTERING:
        next_of_leased(explainer, "Its alter job commits, or is cancelled and it is unlocked.",
                       "Its lease has run out: it is unlocked.", "granary-alter");
        return;
    case STATE_PINNED:
        next(explainer, "Nothing, until it is unlocked: neither merge nor decay takes it.", "operator",
             EXPLAIN_NO_TIME);
        return;
    case STATE_ABANDONED:
    case STATE_DECAY_INACTIVE:
    case STATE_DROP_INACTIVE:
    case STATE_PARK_INACTIVE:
    case STATE_ALTER_INACTIVE:
    case STATE_MERGE_INACTIVE: next_of_inactive(explainer); return;
    case STATE_RETIRED:
        fill_grace(explainer);
        next(explainer, "The merge cleanup unlocks it once its grace is over; then it is reaped.",
             "granary-merge-cleanup", explainer->out.grace_over_at_us);
        return;
    case STATE_ABANDONED_REAPING:
    case STATE_DECAY_REAPING:
    case STATE_DROP_REAPING:
    case STATE_PARK_REAPING:
    case STATE_ALTER_REAPING:
    case STATE_MERGE_REAPING:
        if (!is_kept(explainer)) {
            next_of_leased(explainer,
                           "The reaper deletes its objects and its row; at the latest another takes over then.",
                           "The claim has run out: another reaper takes it.", "granary-reap-collection");
        }
        return;
    case STATE_PARKED: next(explainer, "Nothing, until it is unparked.", "operator", EXPLAIN_NO_TIME); return;
    case STATE_INVALID:
    case STATE_COUNT: break;
    }
    next(explainer, "Nothing: this is no state that there is.", NULL, EXPLAIN_NO_TIME);
}

/* --- all of it ------------------------------------------------------------------------------------------------------ */

static enum err_code finish(struct explainer *explainer, struct explanation *out, struct error *err)
{
    if (explainer->out_of_memory) {
        return err_no_memory(err, TEXT_BYTES);
    }
    *out = explainer->out;
    return OK;
}

enum err_code explain_partition(const struct explain_input *input, struct arena *arena, struct explanation *out,
                                struct error *err)
{
    struct explainer explainer = {.in = input, .partition = &input->partition->partition, .arena = arena};
    const struct lifecycle_key key = {explainer.partition->active, explainer.partition->lock_kind,
                                      explainer.partition->reason};
    enum lifecycle_state state = lifecycle_state_of(&key);
    explainer.out.next_when_us = EXPLAIN_NO_TIME;
    explainer.out.state = lifecycle_state_name(state);
    explainer.out.summary = lifecycle_state_description(state);
    tell_lock(&explainer);
    tell_holds(&explainer);
    tell_history(&explainer);
    tell_missing(&explainer);
    tell_pause(&explainer);
    next_of(&explainer, state);
    return finish(&explainer, out, err);
}

static const char *reason_in_words(enum deactivation_reason reason)
{
    switch (reason) {
    case REASON_ABANDONED: return "its writer had given it up";
    case REASON_DECAY: return "all of its rows were older than age.max_age";
    case REASON_DROP: return "its table was dropped";
    case REASON_PARK: return "it had been parked and released";
    case REASON_ALTER: return "an alter job had replaced it";
    case REASON_MERGE: return "a merge had replaced it";
    case REASON_NONE:
    case REASON_COUNT: break;
    }
    return "of a reason unknown";
}

enum err_code explain_deleted(const struct catalog_receipt *receipt, struct arena *arena, struct explanation *out,
                              struct error *err)
{
    struct explainer explainer = {.arena = arena};
    char at[CLOCK_TEXT_BYTES];
    explainer.out.state = "deleted";
    explainer.out.next_when_us = EXPLAIN_NO_TIME;
    explainer.out.summary = text(&explainer, "It was deleted at %s, because %s.",
                                 clock_format(receipt->deleted_at_us, at), reason_in_words(receipt->reason));
    detail(&explainer, text(&explainer, "Inactive since %s, by \"%s\"; deleted by \"%s\".",
                            clock_format(receipt->deactivated_at_us, at),
                            receipt->deactivated_by == NULL ? "" : receipt->deactivated_by, receipt->deleted_by));
    next(&explainer, "Nothing: it is gone.", NULL, EXPLAIN_NO_TIME);
    return finish(&explainer, out, err);
}
