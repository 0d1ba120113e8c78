#include <inttypes.h>

#include "common/gate/gate.h"
#include "common/gate/mark.h"
#include "common/publish/marker.h"

enum { ADOPT_TRIES = 5 }; /* the other catalog may be raising its mark at this very moment */

const char *gate_finding_name(enum gate_finding finding)
{
    static const char *const names[GATE_FINDING_COUNT] = {
        [GATE_AGREES] = "agrees",           [GATE_UNUSED] = "unused",         [GATE_OTHER_STORE] = "other_store",
        [GATE_STORE_AHEAD] = "store_ahead", [GATE_OTHER_MARK] = "other_mark", [GATE_NOT_ASKED] = "not_asked",
    };
    return names[finding];
}

static enum err_code inspect_marks(struct store *store, const struct catalog_mark *mark,
                                   const struct uuid *deployment_id, struct gate_view *view)
{
    if (view->store_number > mark->number) {
        view->finding = GATE_STORE_AHEAD;
        return err_set(&view->reason, ERR_DENIED,
                       "expected no mark above %" PRId64 " but found %" PRId64
                       ": the catalog is older than what was deleted",
                       mark->number, view->store_number);
    }
    enum err_code code = mark->number == 0 ? OK : gate_mark_compare(store, deployment_id, mark, &view->reason);
    view->finding = code == ERR_DENIED ? GATE_OTHER_MARK : GATE_NOT_ASKED;
    return code == ERR_NOT_FOUND ? OK : code; /* raised here, and not yet there: the next deleter makes it good */
}

static bool has_no_marker(struct store *store)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store_object object;
    return arena != NULL && store_head(store, PUBLISH_MARKER_KEY, arena, &object, NULL) == ERR_NOT_FOUND;
}

static enum err_code inspect(struct store *store, struct catalog *catalog, int32_t storage_id,
                             const struct uuid *deployment_id, struct gate_view *view)
{
    struct catalog_mark mark;
    view->finding = GATE_NOT_ASKED;
    /* the store first: what is raised meanwhile then shows in the catalog's answer */
    TRY(gate_mark_newest(store, &view->store_number, &view->reason));
    TRY(catalog_mark_load(catalog, storage_id, &mark, &view->reason));
    view->catalog_number = mark.number;
    enum err_code code = publish_marker_verify(store, deployment_id, &view->reason);
    if (code == ERR_DENIED) {
        bool unused = view->store_number == 0 && mark.number == 0 && has_no_marker(store);
        view->finding = unused ? GATE_UNUSED : GATE_OTHER_STORE;
        return unused ? OK : code;
    }
    TRY(code);
    TRY(inspect_marks(store, &mark, deployment_id, view));
    view->finding = GATE_AGREES;
    return OK;
}

void gate_inspect(struct store *store, struct catalog *catalog, int32_t storage_id, const struct uuid *deployment_id,
                  struct gate_view *out)
{
    struct gate_view view = {0};
    if (inspect(store, catalog, storage_id, deployment_id, &view) == OK) {
        view.reason = (struct error){0};
    }
    *out = view;
}

enum err_code gate_adopt(struct store *store, struct catalog *catalog, int32_t storage_id,
                         const struct uuid *deployment_id, const char *reason, const char *actor, struct error *err)
{
    TRY(publish_marker_verify(store, deployment_id, err));
    for (int tries = 1;; tries++) {
        AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
        struct catalog_mark mark;
        int64_t newest;
        TRY(gate_mark_newest(store, &newest, err));
        TRY(catalog_begin(catalog, &transaction, err));
        TRY(catalog_mark_adopt(transaction, storage_id, newest, reason, actor, &mark, err));
        TRY(catalog_commit(TAKE(transaction), err));
        enum err_code code = gate_mark_put(store, deployment_id, &mark, err);
        if (code != ERR_DENIED || tries == ADOPT_TRIES) {
            return code;
        }
    }
}
