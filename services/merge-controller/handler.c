/* Everything here may be done twice: an attempt ends once, and the row in the catalog says how.
 *
 *   killed after        what is left                                who goes on
 *   the commit          the result in its queue                     redelivered: the attempt is over, acknowledged
 *   abandoning          the result, where there was one             the same
 *   a lost answer       the commit, or not: asked by its number     this process; else the result comes again */
#include "services/merge-controller/handler.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/log/log.h"
#include "services/merge-controller/attempt.h"
#include "services/merge-controller/plan.h"

#define PUBLISH_TIMEOUT_US (10 * CLOCK_SECOND_US)
enum { EXPIRED_PAGE = 100, WAITING_PAGE = 100, QUEUE_NAME_BYTES = 64 };

/* What an attempt is about, out of its row. */
struct subject {
    struct catalog_merge_attempt attempt;
    struct event_rewrite task;
    const struct uuid *inputs;
};

static MUST_CHECK enum err_code read_task(struct subject *subject, struct arena *arena, struct error *err)
{
    const char *text = subject->attempt.task;
    TRY(event_rewrite_decode(text, strlen(text), arena, &subject->task, err));
    subject->inputs = merge_plan_inputs(&subject->task, arena);
    return subject->inputs == NULL ? err_no_memory(err, subject->task.input_count * sizeof(struct uuid)) : OK;
}

/* --- results ------------------------------------------------------------------------------------------------------- */

static void tell_refused(struct controller *controller, const struct uuid *attempt_id, const char *reason)
{
    metric_add(controller->metrics->refused, 1);
    log_info("a late result is refused", LOG_UUID("attempt_id", attempt_id), LOG_TEXT("reason", reason));
}

static MUST_CHECK enum err_code act(struct controller *controller, const struct event_rewrite_result *result,
                                    struct arena *arena, struct error *err)
{
    struct subject subject;
    TRY(catalog_merge_attempt_load(controller->catalog, &result->attempt_id, arena, &subject.attempt, err));
    TRY(read_task(&subject, arena, err));
    const struct merge_decision decision = merge_plan_result(&subject.attempt, &subject.task, subject.inputs, result);
    switch (decision.verdict) {
    case MERGE_COMMIT: return attempt_commit(controller, &subject.attempt, &subject.task, subject.inputs, result, err);
    case MERGE_ABANDON: return attempt_abandon(controller, &subject.attempt, &decision, false, err);
    case MERGE_IGNORE: tell_refused(controller, &result->attempt_id, decision.reason); break;
    }
    return OK;
}

static MUST_CHECK enum err_code decode_and_act(struct controller *controller, const struct bus_delivery *delivery,
                                               struct event_rewrite_result *result, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(64 << 10);
    if (arena == NULL) {
        return err_no_memory(err, 64 << 10);
    }
    enum err_code code = event_rewrite_result_decode(delivery->body, delivery->body_bytes, arena, result, err);
    if (code != OK) {
        metric_add(controller->metrics->malformed, 1);
        return code;
    }
    return act(controller, result, arena, err);
}

enum err_code handler_result(struct controller *controller, struct bus_consumer *consumer,
                             struct bus_delivery *delivery_take, struct error *err)
{
    struct error why = {0};
    struct event_rewrite_result result = {0};
    enum err_code code = decode_and_act(controller, delivery_take, &result, &why);
    FAULT_POINT("merge.before_ack_result");
    if (code == ERR_CONFLICT && controller_check_lead(controller, err) == ERR_CONFLICT) {
        bus_settle(consumer, delivery_take, BUS_REQUEUE, "another controller leads");
        return ERR_CONFLICT;
    }
    enum bus_fate fate = bus_fate_of(code);
    if (code != OK && fate == BUS_ACK) {
        tell_refused(controller, &result.attempt_id, why.text);
    } else if (code != OK) {
        log_warn("the result of a rewrite could not be handled", LOG_UUID("attempt_id", &result.attempt_id),
                 LOG_ERR(&why));
    }
    bus_settle(consumer, delivery_take, fate, why.text);
    return OK;
}

/* --- leases -------------------------------------------------------------------------------------------------------- */

static MUST_CHECK enum err_code judge(struct controller *controller, const struct catalog_merge_attempt *attempt,
                                      struct arena *arena, struct error *err)
{
    struct subject subject = {.attempt = *attempt};
    if (read_task(&subject, arena, err) != OK) {
        subject.task.input_count = 0; /* a task that nobody can read is abandoned all the same; it blames nobody */
    }
    const struct merge_decision decision = merge_plan_expired(attempt, &subject.task, subject.inputs);
    enum err_code code = attempt_abandon(controller, attempt, &decision, true, err);
    if (code == ERR_CONFLICT) {
        return controller_check_lead(controller, err); /* renewed or swept meanwhile, if this process still leads */
    }
    return code;
}

enum err_code handler_leases(struct controller *controller, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_merge_attempt *expired = NULL;
    size_t count = 0;
    if (arena == NULL) {
        return err_no_memory(err, 4 << 10);
    }
    TRY(catalog_merge_attempts_expired(controller->catalog, EXPIRED_PAGE, arena, &expired, &count, err));
    for (size_t i = 0; i < count; i++) {
        TRY(judge(controller, &expired[i], arena, err));
    }
    return OK;
}

/* --- tasks --------------------------------------------------------------------------------------------------------- */

enum err_code handler_publish(struct controller *controller, const struct uuid *attempt_id, const char *pool,
                              const char *task, struct error *err)
{
    char id[UUID_TEXT_BYTES];
    char queue[QUEUE_NAME_BYTES];
    (void)snprintf(queue, sizeof queue, "rewrite.%s", pool);
    const struct bus_message message = {
        .routing_key = queue,
        .body = task,
        .body_bytes = strlen(task),
        .content_type = "application/json",
        .type = EVENT_REWRITE_TYPE,
        .message_id = uuid_format(attempt_id, id),
    };
    FAULT_POINT("merge.before_publish_task");
    TRY(bus_publish(controller->publisher, &message, PUBLISH_TIMEOUT_US, err));
    FAULT_POINT("merge.after_publish_task");
    return OK;
}

enum err_code handler_republish(struct controller *controller, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct catalog_merge_attempt *waiting = NULL;
    size_t count = 0;
    struct uuid after = {{0}};
    if (arena == NULL) {
        return err_no_memory(err, 4 << 10);
    }
    do {
        arena_reset(arena);
        TRY(catalog_merge_attempts_waiting(controller->catalog, &after, WAITING_PAGE, arena, &waiting, &count, err));
        for (size_t i = 0; i < count; i++) {
            const struct catalog_merge_attempt *attempt = &waiting[i];
            enum err_code code = handler_publish(controller, &attempt->attempt_id, attempt->pool, attempt->task, err);
            if (code != OK && code != ERR_NOT_FOUND && code != ERR_CONFLICT) {
                return code; /* without a queue, or with a full one, the lease runs out */
            }
            after = attempt->attempt_id;
        }
    } while (count == WAITING_PAGE);
    return OK;
}
