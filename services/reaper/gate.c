#include "services/reaper/gate.h"

#include "common/catalog/deployment.h"
#include "common/publish/marker.h"

static enum err_code ask(struct catalog *catalog, struct store *store, struct gate *gate, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_deployment deployment;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_deployment_load(catalog, arena, &deployment, err));
    gate->paused = deployment.deleting_paused;
    if (gate->paused) {
        return err_set(err, ERR_DENIED, "deleting is paused; hint: granary resume deleting");
    }
    return publish_marker_verify(store, &deployment.deployment_id, err);
}

void gate_ask(struct catalog *catalog, struct store *store, struct gate *out)
{
    struct gate gate = {0};
    gate.open = ask(catalog, store, &gate, &gate.reason) == OK;
    *out = gate;
}
