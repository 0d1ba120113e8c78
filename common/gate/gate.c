/* What is found out is kept for as long as the interval; what says no is asked again with every call, so that deleting goes
 * on soon after somebody has put it right. A storage that cannot be asked stops only what would be deleted there; one that
 * says no stops everything, because then it is the catalog that may be wrong. */
#include "common/gate/gate.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/catalog/deployment.h"
#include "common/gate/mark.h"
#include "common/publish/marker.h"

/* How long an answer counts while the next one is awaited: longer than a store that does not answer is tried. */
#define VALID_US (5 * CLOCK_MINUTE_US)

struct door { /* of one storage */
    int32_t storage_id;
    enum err_code code;
    struct error reason;
    int64_t put_number; /* the last mark that this process knows to be in the store */
};

struct gate {
    struct gate_options options;
    struct metric *refused;
    int64_t stores_asked_us; /* monotonic; 0: not yet */
    pthread_mutex_t lock;    /* of what follows; only the thread that asks writes it */
    enum gate_state state;
    struct error reason; /* of the state, while it is not open */
    int64_t asked_us;    /* monotonic: the last answer */
    struct door *doors;
    size_t door_count;
};

enum err_code gate_new(const struct gate_options *options, struct gate **out, struct error *err)
{
    struct gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL) {
        return err_no_memory(err, sizeof *gate);
    }
    gate->options = *options;
    gate->state = GATE_UNKNOWN;
    (void)err_set(&gate->reason, ERR_UNAVAILABLE, "the storages were not asked yet");
    (void)pthread_mutex_init(&gate->lock, NULL); /* does not fail on Linux */
    if (options->metrics != NULL) {
        gate->refused = metrics_gauge(options->metrics, "granary_gate_refused_storages", NULL,
                                      "Storages whose marker or high-water mark says that nothing may be deleted.");
    }
    *out = gate;
    return OK;
}

void gate_free(struct gate *gate)
{
    if (gate != NULL) {
        (void)pthread_mutex_destroy(&gate->lock);
        free(gate->doors);
        free(gate);
    }
}

/* --- one storage -------------------------------------------------------------------------------------------------- */

/* Higher marks than the catalog's: either it was raised between our look there and our look at the store, or it is an older
 * one. A mark is raised in the catalog before it is in the store: asking the catalog again tells. */
static enum err_code check_above(struct store *store, struct catalog *catalog, int32_t storage_id, int64_t number,
                                 struct error *err)
{
    int64_t above = 0;
    struct catalog_mark mark;
    TRY(gate_mark_above(store, number, &above, err));
    if (above == 0) {
        return OK;
    }
    TRY(catalog_mark_load(catalog, storage_id, &mark, err));
    if (mark.number < above) {
        return err_set(err, ERR_DENIED,
                       "expected no mark above %" PRId64 " in the store \"%s\" but found %" PRId64
                       ": the catalog is older than what was deleted; hint: granary recover",
                       mark.number, store_url(store), above);
    }
    return OK;
}

static enum err_code ask_door(struct gate *gate, struct catalog *catalog, const struct uuid *deployment_id,
                              struct door *door, struct error *err)
{
    struct store *store;
    struct catalog_mark mark;
    TRY(storages_get(gate->options.storages, catalog, door->storage_id, &store, err));
    TRY(publish_marker_verify(store, deployment_id, err));
    TRY(catalog_mark_load(catalog, door->storage_id, &mark, err));
    TRY(check_above(store, catalog, door->storage_id, mark.number, err));
    TRY(catalog_mark_advance(catalog, door->storage_id, gate->options.every_us, &mark, err));
    FAULT_POINT("gate.after_advance");
    if (mark.number != door->put_number) {
        TRY(gate_mark_put(store, deployment_id, &mark, err));
        FAULT_POINT("gate.after_put");
        door->put_number = mark.number;
        if (mark.number % GATE_MARKS_KEPT == 0) {
            (void)!gate_mark_prune(store, mark.number,
                                   NULL); /* they are small: the next one who comes by tries again */
        }
    }
    return OK;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static int64_t put_number_of(const struct gate *gate, int32_t storage_id)
{
    for (size_t i = 0; i < gate->door_count; i++) {
        if (gate->doors[i].storage_id == storage_id) {
            return gate->doors[i].put_number;
        }
    }
    return 0;
}

static void replace_doors(struct gate *gate, struct door *doors_take, size_t count)
{
    (void)pthread_mutex_lock(&gate->lock);
    struct door *former = gate->doors;
    gate->doors = doors_take;
    gate->door_count = count;
    (void)pthread_mutex_unlock(&gate->lock);
    free(former);
}

static enum err_code ask_doors(struct gate *gate, struct catalog *catalog, const struct uuid *deployment_id,
                               struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_storage *storages;
    size_t count;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_storages_load(catalog, arena, &storages, &count, err));
    AUTO(free_auto) struct door *doors = calloc(count + 1, sizeof *doors);
    if (doors == NULL) {
        return err_no_memory(err, count * sizeof *doors);
    }
    for (size_t i = 0; i < count; i++) {
        const int32_t id = storages[i].storage_id;
        doors[i] = (struct door){.storage_id = id, .put_number = put_number_of(gate, id)};
        TRY(storages_declare(gate->options.storages, id, storages[i].url, err));
        doors[i].code = ask_door(gate, catalog, deployment_id, &doors[i], &doors[i].reason);
    }
    replace_doors(gate, TAKE(doors), count);
    gate->stores_asked_us = clock_monotonic_us();
    return OK;
}

/* Pure: what the storages' answers come to. *out_worst: the one to tell of; NULL when it is open. */
static enum gate_state judge(const struct door *doors, size_t count, size_t *out_refused, const struct door **out_worst)
{
    const struct door *refused = NULL;
    const struct door *unknown = NULL;
    size_t open = 0;
    *out_refused = 0;
    for (size_t i = 0; i < count; i++) {
        if (doors[i].code == OK) {
            open++;
        } else if (doors[i].code == ERR_DENIED) {
            refused = refused == NULL ? &doors[i] : refused;
            (*out_refused)++;
        } else {
            unknown = unknown == NULL ? &doors[i] : unknown;
        }
    }
    *out_worst = refused != NULL ? refused : open == 0 ? unknown : NULL;
    return refused != NULL ? GATE_REFUSED : open == 0 ? GATE_UNKNOWN : GATE_OPEN;
}

static bool is_asking_due(const struct gate *gate)
{
    bool all_well = gate->state == GATE_OPEN || gate->state == GATE_PAUSED;
    return !all_well || gate->stores_asked_us == 0 ||
           clock_monotonic_us() - gate->stores_asked_us >= gate->options.every_us;
}

static enum err_code ask(struct gate *gate, struct catalog *catalog, enum gate_state *out_state, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_deployment deployment;
    const struct door *worst = NULL;
    size_t refused = 0;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_deployment_load(catalog, arena, &deployment, err));
    if (deployment.deleting_paused) {
        *out_state = GATE_PAUSED;
        return err_set(err, ERR_DENIED, "deleting is paused; hint: granary resume deleting");
    }
    if (is_asking_due(gate)) {
        TRY(ask_doors(gate, catalog, &deployment.deployment_id, err));
    }
    *out_state = judge(gate->doors, gate->door_count, &refused, &worst);
    if (gate->refused != NULL) {
        metric_set(gate->refused, (double)refused);
    }
    return worst == NULL ? OK : err_set(err, worst->reason.code, "%s", worst->reason.text);
}

enum gate_state gate_ask(struct gate *gate, struct catalog *catalog, struct error *out_reason)
{
    enum gate_state state = GATE_UNKNOWN;
    struct error reason = {0};
    enum err_code code = ask(gate, catalog, &state, &reason);
    (void)pthread_mutex_lock(&gate->lock);
    gate->state = state;
    gate->reason = reason;
    gate->asked_us = clock_monotonic_us();
    (void)pthread_mutex_unlock(&gate->lock);
    if (code != OK && out_reason != NULL) {
        *out_reason = reason;
    }
    return state;
}

enum gate_state gate_last(struct gate *gate, struct error *out_reason)
{
    (void)pthread_mutex_lock(&gate->lock);
    enum gate_state state = gate->state;
    if (state != GATE_OPEN && out_reason != NULL) {
        *out_reason = gate->reason;
    }
    (void)pthread_mutex_unlock(&gate->lock);
    return state;
}

static enum err_code check(const struct gate *gate, int32_t storage_id, struct error *err)
{
    if (gate->state != GATE_OPEN) {
        return err_set(err, gate->reason.code, "%s", gate->reason.text);
    }
    if (clock_monotonic_us() - gate->asked_us > VALID_US) {
        return err_set(err, ERR_UNAVAILABLE, "whether anything may be deleted was not answered for minutes");
    }
    for (size_t i = 0; i < gate->door_count; i++) {
        const struct door *door = &gate->doors[i];
        if (door->storage_id == storage_id) {
            return door->code == OK ? OK : err_set(err, door->code, "%s", door->reason.text);
        }
    }
    return err_set(err, ERR_UNAVAILABLE, "storage %d was not asked yet", storage_id);
}

enum err_code gate_check(struct gate *gate, int32_t storage_id, struct error *err)
{
    (void)pthread_mutex_lock(&gate->lock);
    enum err_code code = check(gate, storage_id, err);
    (void)pthread_mutex_unlock(&gate->lock);
    return code;
}
