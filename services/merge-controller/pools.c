#include "services/merge-controller/pools.h"

#include <stdio.h>
#include <string.h>

#include "services/merge-controller/plan.h"

enum { MAX_POOLS = 64, QUEUE_NAME_BYTES = 64 };

struct pools {
    struct controller *controller;
    struct arena *arena;
    struct catalog_merge_pool *under_way;
    size_t under_way_count;
    struct {
        const char *name;
        int64_t budget;
    } asked[MAX_POOLS];
    size_t asked_count;
};

enum err_code pools_open(struct controller *controller, struct arena *arena, struct pools **out, struct error *err)
{
    struct pools *pools = arena_zalloc(arena, 1, sizeof *pools);
    if (pools == NULL) {
        return err_no_memory(err, sizeof *pools);
    }
    pools->controller = controller;
    pools->arena = arena;
    TRY(catalog_merge_pools(controller->catalog, arena, &pools->under_way, &pools->under_way_count, err));
    *out = pools;
    return OK;
}

/* A queue that does not exist yet has no consumers. */
static MUST_CHECK enum err_code look(struct pools *pools, const char *pool, int64_t *out_budget, struct error *err)
{
    char queue[QUEUE_NAME_BYTES];
    struct bus_queue_depth depth = {0};
    struct catalog_merge_pool under_way = {.pool = pool};
    for (size_t i = 0; i < pools->under_way_count; i++) {
        if (strcmp(pools->under_way[i].pool, pool) == 0) {
            under_way = pools->under_way[i];
        }
    }
    (void)snprintf(queue, sizeof queue, "rewrite.%s", pool);
    TRY(bus_queue_inspect(&pools->controller->bus, queue, &depth, err));
    *out_budget = merge_plan_budget(pools->controller->config->ahead, (int64_t)depth.consumers, &under_way);
    return OK;
}

enum err_code pools_budget(struct pools *pools, const char *pool, int64_t **out_budget, struct error *err)
{
    for (size_t i = 0; i < pools->asked_count; i++) {
        if (strcmp(pools->asked[i].name, pool) == 0) {
            *out_budget = &pools->asked[i].budget;
            return OK;
        }
    }
    int64_t budget = 0;
    TRY(look(pools, pool, &budget, err));
    if (pools->asked_count == MAX_POOLS) {
        return err_set(err, ERR_INVALID, "expected at most %d pools in the settings of all tables", MAX_POOLS);
    }
    const char *name = arena_strdup(pools->arena, pool);
    if (name == NULL) {
        return err_no_memory(err, strlen(pool));
    }
    pools->asked[pools->asked_count].name = name;
    pools->asked[pools->asked_count].budget = budget;
    *out_budget = &pools->asked[pools->asked_count++].budget;
    return OK;
}
