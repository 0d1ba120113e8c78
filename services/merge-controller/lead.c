/* A new leader first handles all results that wait, and only then judges leases: what was finished while nobody led must
 * not be thrown away. After that it goes round: results, leases, plans. */
#include "services/merge-controller/lead.h"

#include "common/base/clock.h"
#include "common/log/log.h"
#include "services/merge-controller/handler.h"
#include "services/merge-controller/round.h"

#define LOOK_EVERY_US       CLOCK_SECOND_US       /* at the leader's lock and at leases */
#define NEXT_TIMEOUT_US     (CLOCK_SECOND_US / 4) /* so that a stop is noticed soon */
#define SHORTEST_PAUSE_US   (CLOCK_SECOND_US / 50)
#define CONNECT_PATIENCE_US (5 * CLOCK_SECOND_US) /* a broker that is not reached for longer is worth a word */
enum { PREFETCH = 64, RESULTS_AT_ONCE = 256 };

struct leader {
    struct controller *controller;
    struct bus_consumer *consumer;
    bool drained; /* the results that waited at the start are handled, and old tasks are published again */
    int64_t started_us, next_look_us;
    int64_t next_round_us;  /* without any change */
    int64_t pause_until_us; /* not even after a change before this */
    enum err_code told;     /* the trouble that was told last */
};

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Up to RESULTS_AT_ONCE; waits for the first only. *out_idle: no more waited. */
static MUST_CHECK enum err_code take_results(struct leader *leader, int64_t timeout_us, bool *out_idle,
                                             struct error *err)
{
    *out_idle = false;
    for (int i = 0; i < RESULTS_AT_ONCE; i++) {
        struct bus_delivery *delivery = NULL;
        enum err_code code = bus_next(leader->consumer, i == 0 ? timeout_us : 0, &delivery, NULL);
        if (code != OK) {
            *out_idle = code == ERR_TIMEOUT;
            return OK;
        }
        TRY(handler_result(leader->controller, leader->consumer, delivery, err));
    }
    return OK;
}

static MUST_CHECK enum err_code drain(struct leader *leader, struct error *err)
{
    bool idle = false;
    if (!bus_consumer_ready(leader->consumer, err)) {
        bool patient = clock_monotonic_us() - leader->started_us < CONNECT_PATIENCE_US;
        (void)!service_wait(leader->controller->service, SHORTEST_PAUSE_US);
        return patient ? OK : ERR_UNAVAILABLE;
    }
    while (!idle && !service_stopping(leader->controller->service)) {
        TRY(take_results(leader, NEXT_TIMEOUT_US, &idle, err));
    }
    TRY(handler_republish(leader->controller, err));
    leader->drained = true;
    return OK;
}

static MUST_CHECK enum err_code look_around(struct leader *leader, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    if (now_us < leader->next_look_us) {
        return OK;
    }
    leader->next_look_us = now_us + LOOK_EVERY_US;
    TRY(controller_check_lead(leader->controller, err));
    return leader->drained ? handler_leases(leader->controller, err) : OK;
}

/* After a change the tables are looked at again soon, but planning takes at most half of the time. */
static int64_t round_due_us(const struct leader *leader)
{
    return leader->controller->changed ? leader->pause_until_us : leader->next_round_us;
}

static MUST_CHECK enum err_code plan(struct leader *leader, struct error *err)
{
    struct controller *controller = leader->controller;
    struct round_totals totals;
    int64_t started_us = clock_monotonic_us();
    if (started_us < round_due_us(leader)) {
        return OK;
    }
    controller->changed = false;
    TRY(round_run(controller, &totals, err));
    int64_t ended_us = clock_monotonic_us();
    int64_t took_us = ended_us - started_us;
    leader->next_round_us = ended_us + controller->config->interval_us;
    leader->pause_until_us = ended_us + (took_us > SHORTEST_PAUSE_US ? took_us : SHORTEST_PAUSE_US);
    return OK;
}

static MUST_CHECK enum err_code step(struct leader *leader, struct error *err)
{
    bool idle = false;
    TRY(look_around(leader, err));
    if (!leader->drained) {
        TRY(drain(leader, err));
        if (!leader->drained) {
            return OK;
        }
    }
    int64_t until_round_us = round_due_us(leader) - clock_monotonic_us();
    TRY(take_results(leader, until_round_us > 0 ? at_most(until_round_us, NEXT_TIMEOUT_US) : 0, &idle, err));
    return plan(leader, err);
}

static void tell(struct leader *leader, enum err_code code, const struct error *err)
{
    if (code != leader->told && code != OK) {
        log_warn("merging is held up", LOG_ERR(err));
    } else if (code == OK && leader->told != OK) {
        log_info("merging goes on");
    }
    leader->told = code;
}

enum err_code lead(struct controller *controller, struct error *err)
{
    AUTO(bus_consumer_close_auto) struct bus_consumer *consumer = NULL;
    const struct bus_consumer_options options = {.queue = MERGE_RESULT_QUEUE, .prefetch = PREFETCH};
    TRY(bus_consumer_open(&controller->bus, &options, &consumer, err));
    struct leader leader = {.controller = controller, .consumer = consumer, .started_us = clock_monotonic_us()};
    while (!service_stopping(controller->service)) {
        enum err_code code = step(&leader, err);
        if (code == ERR_STOPPED) {
            break;
        }
        if (code == ERR_CONFLICT) {
            return code;
        }
        tell(&leader, code, err);
        if (code != OK) {
            leader.next_round_us = 0;
            (void)!service_wait(controller->service, LOOK_EVERY_US);
        }
    }
    return OK;
}
