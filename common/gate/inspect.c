#include <inttypes.h>

#include "common/gate/gate.h"
#include "common/gate/mark.h"
#include "common/publish/marker.h"

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
        view->finding = GATE_OTHER_STORE;
    }
    TRY(code);
    return inspect_marks(store, &mark, deployment_id, view);
}

void gate_inspect(struct store *store, struct catalog *catalog, int32_t storage_id, const struct uuid *deployment_id,
                  struct gate_view *out)
{
    struct gate_view view = {0};
    if (inspect(store, catalog, storage_id, deployment_id, &view) == OK) {
        view.finding = GATE_AGREES;
        view.reason = (struct error){0};
    }
    *out = view;
}
