/* Look, announce, delete, answer: killed in between, a receipt without an answer is left, and the object is found by the
 * next comparison or is gone. No transaction is open while the store works.
 *
 * The look comes last before the delete, and cannot be overtaken: keys are never used twice, a row is written before its
 * object, and this object was there already, so that no row for it is still to come. */
#include "common/fsck/remove.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/catalog/objects.h"

/* Whatever cannot be asked keeps it shut (safety rule 1). */
static enum err_code ask_gate(const struct fsck_remover *remover, struct error *err)
{
    struct error reason = {0};
    if (gate_ask(remover->gate, remover->catalog, &reason) != GATE_OPEN) {
        return err_set(err, reason.code, "%s", reason.text);
    }
    return gate_check(remover->gate, remover->storage_id, err);
}

const char *fsck_removal_name(enum fsck_removal removal)
{
    switch (removal) {
    case FSCK_REMOVED: return "deleted";
    case FSCK_WAS_ABSENT: return "absent";
    case FSCK_KEPT_NAMED: return "kept: a row names it";
    case FSCK_KEPT_HELD: return "kept: a hold stands over it";
    case FSCK_KEPT_FAILED: return "kept: the store refused";
    case FSCK_REMOVAL_COUNT: break;
    }
    return "";
}

struct removal {
    const struct fsck_remover *remover;
    const struct catalog_orphan *orphans;
    size_t count;
    struct arena *arena;
    enum fsck_removal *outcomes;
    const char **errors;
    struct catalog_orphan *going; /* those that nothing keeps, in the same order */
    size_t *places;               /* going[i] is orphans[places[i]] */
    size_t going_count;
};

/* FSCK_REMOVED stands for "may go" until the store has answered. */
static enum err_code look(struct removal *removal, struct error *err)
{
    struct catalog_object_question *questions = arena_zalloc(removal->arena, removal->count, sizeof *questions);
    struct catalog_object_answer *answers = arena_zalloc(removal->arena, removal->count, sizeof *answers);
    if (questions == NULL || answers == NULL) {
        return err_no_memory(err, removal->count * sizeof *answers);
    }
    for (size_t i = 0; i < removal->count; i++) {
        const struct catalog_orphan *orphan = &removal->orphans[i];
        removal->errors[i] = NULL;
        questions[i] = (struct catalog_object_question){orphan->path, orphan->partition_id, orphan->table_id};
    }
    TRY(catalog_objects_look_up(removal->remover->catalog, questions, removal->count, answers, err));
    for (size_t i = 0; i < removal->count; i++) {
        removal->outcomes[i] = answers[i].named ? FSCK_KEPT_NAMED : answers[i].held ? FSCK_KEPT_HELD : FSCK_REMOVED;
        if (removal->outcomes[i] == FSCK_REMOVED) {
            removal->places[removal->going_count] = i;
            removal->going[removal->going_count++] = removal->orphans[i];
        }
    }
    return OK;
}

static enum err_code read_answer(struct removal *removal, size_t place, const struct store_delete_result *result,
                                 struct catalog_orphan_answer *out, struct error *err)
{
    const struct catalog_orphan *orphan = &removal->orphans[place];
    enum fsck_removal *outcome = &removal->outcomes[place];
    *outcome = result->outcome == STORE_DELETED      ? FSCK_REMOVED
               : result->outcome == STORE_WAS_ABSENT ? FSCK_WAS_ABSENT
                                                     : FSCK_KEPT_FAILED;
    *out = (struct catalog_orphan_answer){
        .storage_id = orphan->storage_id,
        .path = orphan->path,
        .gone = *outcome != FSCK_KEPT_FAILED,
        .answer = fsck_removal_name(*outcome),
    };
    if (!out->gone) {
        removal->errors[place] = out->error = arena_strdup(removal->arena, result->error.text);
        out->answer = arena_printf(removal->arena, "failed: %s", result->error.text);
    }
    return out->answer == NULL ? err_no_memory(err, ERROR_TEXT_BYTES) : OK;
}

static enum err_code remove_going(struct removal *removal, struct error *err)
{
    const struct fsck_remover *remover = removal->remover;
    const size_t count = removal->going_count;
    const struct uuid deletion_id = uuid_v7();
    const char **keys = arena_zalloc(removal->arena, count, sizeof *keys);
    struct store_delete_result *results = arena_zalloc(removal->arena, count, sizeof *results);
    struct catalog_orphan_answer *answers = arena_zalloc(removal->arena, count, sizeof *answers);
    if (keys == NULL || results == NULL || answers == NULL) {
        return err_no_memory(err, count * sizeof *results);
    }
    for (size_t i = 0; i < count; i++) {
        keys[i] = removal->going[i].path;
    }
    TRY(catalog_orphans_announce(remover->catalog, &deletion_id, removal->going, count, remover->plan_id,
                                 remover->actor, err));
    FAULT_POINT("cleaner.before_delete");
    TRY(store_delete(remover->store, keys, count, results, err));
    FAULT_POINT("cleaner.after_delete");
    for (size_t i = 0; i < count; i++) {
        TRY(read_answer(removal, removal->places[i], &results[i], &answers[i], err));
    }
    return catalog_orphans_answer(remover->catalog, &deletion_id, answers, count, err);
}

enum err_code fsck_remove(const struct fsck_remover *remover, const struct catalog_orphan *orphans, size_t count,
                          struct arena *arena, enum fsck_removal *outcomes, const char **errors, struct error *err)
{
    struct removal removal = {
        .remover = remover,
        .orphans = orphans,
        .count = count,
        .arena = arena,
        .outcomes = outcomes,
        .errors = errors,
        .going = arena_zalloc(arena, count, sizeof *removal.going),
        .places = arena_zalloc(arena, count, sizeof *removal.places),
    };
    if (removal.going == NULL || removal.places == NULL) {
        return err_no_memory(err, count * sizeof *removal.going);
    }
    TRY(ask_gate(remover, err));
    TRY(look(&removal, err));
    return removal.going_count == 0 ? OK : remove_going(&removal, err);
}
