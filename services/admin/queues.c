#include "services/admin/queues.h"

#include <string.h>

#include "common/catalog/deployment.h"

enum { MAX_QUEUES = 64, TABLE_PAGE = 1000 };

static const char *const fixed[] = {"intake", "merge.result", "reap"};

static enum err_code add(struct call *call, const char **queues, size_t *count, const char *pool, struct error *err)
{
    const char *name = arena_printf(call->arena, "rewrite.%s", pool);
    if (name == NULL) {
        return err_no_memory(err, strlen(pool));
    }
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(queues[i], name) == 0) {
            return OK;
        }
    }
    if (*count < MAX_QUEUES) {
        queues[(*count)++] = name;
    }
    return OK;
}

enum err_code queues_list(struct call *call, const char ***out, size_t *out_count, struct error *err)
{
    const struct catalog_table_page page = {.limit = TABLE_PAGE};
    const char **queues = arena_zalloc(call->arena, MAX_QUEUES, sizeof *queues);
    struct catalog_deployment deployment;
    struct table_record *tables;
    size_t table_count;
    size_t count = 0;
    if (queues == NULL) {
        return err_no_memory(err, MAX_QUEUES * sizeof *queues);
    }
    for (; count < sizeof fixed / sizeof *fixed; count++) {
        queues[count] = fixed[count];
    }
    TRY(catalog_deployment_load(call->catalog, call->arena, &deployment, err));
    TRY(catalog_table_list(call->catalog, &page, call->arena, &tables, &table_count, err));
    for (size_t target = 0; target < MERGE_TARGET_COUNT; target++) {
        TRY(add(call, queues, &count, deployment.settings.merge[target].pool, err));
        for (size_t i = 0; i < table_count; i++) {
            TRY(add(call, queues, &count, tables[i].settings.merge[target].pool, err));
        }
    }
    *out = queues;
    *out_count = count;
    return OK;
}

const char *queues_dead(struct call *call, const char *queue)
{
    return arena_printf(call->arena, "%s.dead", queue);
}
