#include "services/merge-controller/round.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/catalog/tables.h"
#include "common/log/log.h"
#include "common/rows/schema.h"
#include "services/merge-controller/pools.h"
#include "services/merge-controller/reserve.h"

/* A page holds candidates of some hundred bytes each: memory is bounded, and the planner sees whole buckets. */
enum { CANDIDATE_PAGE = 20000, TABLE_PAGE = 100, MAX_SCHEMAS = 1000 };

struct table_round {
    struct controller *controller;
    const struct table_record *table;
    struct pools *pools;
    struct round_totals *totals;
    int64_t now_us;
    struct arena *schema_arena;
    struct merge_schemas schemas;
    struct merge_schema *schema_items;
    struct schema *latest;
};

/* --- schemas ------------------------------------------------------------------------------------------------------- */

static MUST_CHECK enum err_code add_schema(struct table_round *round, int32_t version, struct error *err)
{
    AUTO(schema_free_auto) struct schema *schema = NULL;
    struct merge_schema item = {.version = version};
    const struct uuid *table_id = &round->table->table_id;
    if (merge_plan_find_schema(&round->schemas, version) != NULL) {
        return OK;
    }
    if (round->schemas.count == MAX_SCHEMAS) {
        return err_set(err, ERR_INVALID, "expected at most %d versions of a schema in use", MAX_SCHEMAS);
    }
    TRY(catalog_table_load_schema(round->controller->catalog, table_id, version, round->schema_arena, &item.json,
                                  &item.version, err));
    TRY(schema_parse(item.json, strlen(item.json), table_id, &schema, err));
    item.readable = round->latest == NULL || schema_reconcile(schema, round->latest, NULL, NULL) == OK;
    round->schema_items[round->schemas.count++] = item;
    if (round->latest == NULL) {
        round->latest = TAKE(schema);
    }
    return OK;
}

static MUST_CHECK enum err_code add_schemas(struct table_round *round, const struct merge_candidate *candidates,
                                            size_t count, struct error *err)
{
    if (round->schema_items == NULL) {
        round->schema_items = arena_zalloc(round->schema_arena, MAX_SCHEMAS, sizeof *round->schema_items);
        if (round->schema_items == NULL) {
            return err_no_memory(err, MAX_SCHEMAS * sizeof *round->schema_items);
        }
        round->schemas.items = round->schema_items;
        round->schemas.latest = round->table->schema_version;
        TRY(add_schema(round, round->table->schema_version, err));
    }
    int32_t last = round->schemas.latest;
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].schema_version != last) {
            last = candidates[i].schema_version;
            TRY(add_schema(round, last, err));
        }
    }
    return OK;
}

/* --- tasks --------------------------------------------------------------------------------------------------------- */

/* What another has changed meanwhile is planned anew next time. */
static MUST_CHECK enum err_code reserve_one(struct table_round *round, const struct merge_task *task, struct error *err)
{
    int64_t *budget = NULL;
    TRY(pools_budget(round->pools, round->table->settings.merge[task->target].pool, &budget, err));
    if (*budget == 0) {
        return OK;
    }
    const struct reserve_request request = {
        .table = round->table,
        .task = task,
        .schema = merge_plan_output_schema(&round->schemas, task),
    };
    enum err_code code = reserve_and_publish(round->controller, &request, err);
    if (code == ERR_CONFLICT) {
        metric_add(round->controller->metrics->conflicts, 1);
        return controller_check_lead(round->controller, err);
    }
    if (code == OK) {
        --*budget;
        round->totals->reserved++;
    }
    return code;
}

static MUST_CHECK enum err_code plan_page(struct table_round *round, struct merge_candidate *page, size_t count,
                                          struct arena *arena, struct error *err)
{
    struct merge_task *tasks = NULL;
    size_t task_count = 0;
    const struct merge_plan_options options = {
        .settings = &round->table->settings,
        .now_us = round->now_us,
        .cutoff_us = retention_cutoff_us(round->table->retention_us, round->now_us),
        .reconcilable = merge_plan_reconcilable,
        .context = &round->schemas,
        .max_tasks = SIZE_MAX,
    };
    TRY(add_schemas(round, page, count, err));
    TRY(merge_plan(page, count, &options, arena, &tasks, &task_count, err));
    round->totals->planned += task_count;
    for (size_t i = 0; i < task_count && !service_stopping(round->controller->service); i++) {
        TRY(reserve_one(round, &tasks[i], err));
    }
    return OK;
}

/* --- tables -------------------------------------------------------------------------------------------------------- */

static MUST_CHECK enum err_code plan_pages(struct table_round *round, struct arena *arena, struct error *err)
{
    int64_t max_bytes = merge_plan_max_bytes(&round->table->settings);
    struct merge_candidate after;
    bool has_after = false;
    size_t count = CANDIDATE_PAGE;
    while (count == CANDIDATE_PAGE && !service_stopping(round->controller->service)) {
        struct merge_candidate *page = NULL;
        arena_reset(arena);
        TRY(catalog_merge_candidates(round->controller->catalog, &round->table->table_id, max_bytes,
                                     has_after ? &after : NULL, CANDIDATE_PAGE, arena, &page, &count, err));
        size_t whole = count < CANDIDATE_PAGE ? count : merge_plan_whole(page, count, &round->table->settings);
        if (whole > 0) {
            after = page[whole - 1];
            has_after = true;
            TRY(plan_page(round, page, whole, arena, err));
        }
    }
    return OK;
}

static MUST_CHECK enum err_code plan_table(struct table_round *round, struct error *err)
{
    AUTO(arena_free_auto) struct arena *schema_arena = arena_new(0);
    AUTO(arena_free_auto) struct arena *arena = arena_new(64 << 10);
    if (schema_arena == NULL || arena == NULL) {
        return err_no_memory(err, 64 << 10);
    }
    round->schema_arena = schema_arena;
    enum err_code code = plan_pages(round, arena, err);
    schema_free(round->latest);
    return code;
}

/* A table's own trouble is told and passed over; what concerns all tables ends the round. */
static MUST_CHECK enum err_code pass_over(const struct table_record *table, enum err_code code, struct error *err)
{
    if (code == OK || code == ERR_NOT_FOUND) {
        return OK; /* dropped meanwhile */
    }
    if (code == ERR_INVALID || code == ERR_CORRUPT) {
        log_warn("merges of a table could not be planned", LOG_UUID("table_id", &table->table_id), LOG_ERR(err));
        return OK;
    }
    return code;
}

static MUST_CHECK enum err_code plan_tables(struct controller *controller, const struct table_record *tables,
                                            size_t count, struct pools *pools, struct round_totals *totals,
                                            struct error *err)
{
    for (size_t i = 0; i < count && !service_stopping(controller->service); i++) {
        if (!tables[i].settings.merge_enabled) {
            continue;
        }
        struct table_round round = {.controller = controller, .table = &tables[i], .pools = pools, .totals = totals};
        TRY(catalog_now(controller->catalog, &round.now_us, err));
        totals->tables++;
        TRY(pass_over(&tables[i], plan_table(&round, err), err));
    }
    return OK;
}

enum err_code round_run(struct controller *controller, struct round_totals *out, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct round_totals totals = {0};
    struct pools *pools = NULL;
    struct catalog_table_page page = {.limit = TABLE_PAGE};
    int64_t started_us = clock_monotonic_us();
    size_t count = TABLE_PAGE;
    if (arena == NULL) {
        return err_no_memory(err, 4 << 10);
    }
    TRY(pools_open(controller, arena, &pools, err));
    while (count == TABLE_PAGE) {
        struct table_record *tables = NULL;
        TRY(catalog_table_list(controller->catalog, &page, arena, &tables, &count, err));
        TRY(plan_tables(controller, tables, count, pools, &totals, err));
        page.after = count > 0 ? &tables[count - 1] : NULL;
    }
    metric_observe_us(controller->metrics->round_seconds, clock_monotonic_us() - started_us);
    metric_set(controller->metrics->last_round, (double)clock_now_us() / CLOCK_SECOND_US);
    *out = totals;
    return OK;
}
