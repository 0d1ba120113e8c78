#include "services/intake/head/asker.h"

#include <pthread.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/catalog/intake.h"
#include "services/intake/head/recent.h"

enum { MAX_IDS = 4096 };
#define POLL_FIRST_US (5 * INT64_C(1000))
#define POLL_LAST_US  (50 * INT64_C(1000))

struct list {
    struct request *first, **end;
};

struct asker {
    struct asker_options options;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    struct list new_checks, new_waits; /* handed over under the lock */
    struct list checks, waits;         /* the thread's own */
    struct uuid ids[MAX_IDS];
    struct catalog_batch_state states[MAX_IDS];
    struct recent recent;
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void list_append(struct list *list, struct request *request)
{
    request->next = NULL;
    *list->end = request;
    list->end = &request->next;
}

static void list_move(struct list *to, struct list *from)
{
    if (from->first != NULL) {
        *to->end = from->first;
        to->end = from->end;
        list_init(from);
    }
}

static struct request *list_take_first(struct list *list)
{
    struct request *request = list->first;
    if (request != NULL) {
        list->first = request->next;
        if (list->first == NULL) {
            list->end = &list->first;
        }
    }
    return request;
}

static void hand_over(struct asker *asker, struct list *list, struct request *request)
{
    struct error err;
    pthread_mutex_lock(&asker->lock);
    const bool stopping = asker->stopping;
    if (!stopping) {
        list_append(list, request);
        pthread_cond_signal(&asker->changed);
    }
    pthread_mutex_unlock(&asker->lock);
    if (stopping) {
        err_set(&err, ERR_STOPPED, "shutting down");
        request_fail(request, &err);
    }
}

void asker_check(struct asker *asker, struct request *request_take)
{
    hand_over(asker, &asker->new_checks, request_take);
}

void asker_wait(struct asker *asker, struct request *request_take)
{
    hand_over(asker, &asker->new_waits, request_take);
}

static bool same_body(const struct request *request, const struct catalog_batch_state *state)
{
    return !request->keyed || memcmp(request->body_sha256, state->body_sha256, sizeof state->body_sha256) == 0;
}

/* What the catalog says of a request that is not published yet. */
static void decide_check(struct asker *asker, struct request *request, const struct catalog_batch_state *state)
{
    if (state->known && same_body(request, state)) {
        request->row_count = (uint32_t)state->row_count;
        request->reject_count = (uint32_t)state->reject_count;
        request_committed(request, true);
    } else if (state->known ||
               !recent_admit(&asker->recent, &request->batch_id, request->body_sha256, clock_monotonic_us())) {
        request_other_body(request);
    } else {
        asker->options.go(asker->options.context, request);
    }
}

static void decide_wait(struct asker *asker, struct request *request, const struct catalog_batch_state *state,
                        int64_t now_us)
{
    if (state->known && same_body(request, state)) {
        request_committed(request, false);
    } else if (state->known) {
        request_other_body(request);
    } else if (now_us >= request->deadline_us) {
        request_not_yet(request);
    } else {
        list_append(&asker->waits, request);
    }
}

/* Takes up to MAX_IDS requests from the front of the list and asks for all of them at once. */
static enum err_code ask_front(struct asker *asker, struct list *list, struct list *out_asked, struct error *err)
{
    size_t count = 0;
    list_init(out_asked);
    while (count < MAX_IDS && list->first != NULL) {
        struct request *request = list_take_first(list);
        asker->ids[count++] = request->batch_id;
        list_append(out_asked, request);
    }
    return count == 0 ? OK : catalog_intake_find(asker->options.catalog, asker->ids, count, asker->states, err);
}

static void run_checks(struct asker *asker)
{
    while (asker->checks.first != NULL) {
        struct list asked;
        struct error err = {0};
        enum err_code code = ask_front(asker, &asker->checks, &asked, &err);
        size_t i = 0;
        for (struct request *request = list_take_first(&asked); request != NULL; request = list_take_first(&asked)) {
            if (code == OK) {
                decide_check(asker, request, &asker->states[i++]);
            } else {
                request_fail(request, &err); /* without the catalog a key promises nothing */
            }
        }
    }
}

/* One round over all that wait. True when one of them got its answer. While the catalog is away they go on waiting. */
static bool run_waits(struct asker *asker)
{
    static const struct catalog_batch_state unknown;
    struct list todo;
    bool moved = false;
    list_init(&todo);
    list_move(&todo, &asker->waits);
    while (todo.first != NULL) {
        struct list asked;
        enum err_code code = ask_front(asker, &todo, &asked, NULL);
        const int64_t now_us = clock_monotonic_us();
        size_t i = 0;
        for (struct request *request = list_take_first(&asked); request != NULL; request = list_take_first(&asked)) {
            const struct catalog_batch_state *state = code == OK ? &asker->states[i++] : &unknown;
            moved = moved || state->known;
            decide_wait(asker, request, state, now_us);
        }
    }
    return moved;
}

static void wait_until(struct asker *asker, int64_t until_us)
{
    const struct timespec until = {.tv_sec = until_us / CLOCK_SECOND_US, .tv_nsec = until_us % CLOCK_SECOND_US * 1000};
    pthread_cond_timedwait(&asker->changed, &asker->lock, &until);
}

/* Checks are answered at once; waits are asked for every 5 ms while answers come, every 50 ms when none do. */
static void *ask(void *context)
{
    struct asker *asker = context;
    int64_t pause_us = POLL_FIRST_US;
    int64_t next_us = 0;
    pthread_mutex_lock(&asker->lock);
    while (!asker->stopping) {
        list_move(&asker->checks, &asker->new_checks);
        list_move(&asker->waits, &asker->new_waits);
        const int64_t now_us = clock_monotonic_us();
        if (asker->checks.first == NULL && asker->waits.first == NULL) {
            pthread_cond_wait(&asker->changed, &asker->lock);
            continue;
        }
        if (asker->checks.first == NULL && now_us < next_us) {
            wait_until(asker, next_us);
            continue;
        }
        pthread_mutex_unlock(&asker->lock);
        run_checks(asker);
        if (now_us >= next_us) {
            pause_us = run_waits(asker) ? POLL_FIRST_US : pause_us * 2 > POLL_LAST_US ? POLL_LAST_US : pause_us * 2;
            next_us = clock_monotonic_us() + pause_us;
        }
        pthread_mutex_lock(&asker->lock);
    }
    pthread_mutex_unlock(&asker->lock);
    return NULL;
}

enum err_code asker_open(const struct asker_options *options, struct asker **out, struct error *err)
{
    struct asker *asker = calloc(1, sizeof *asker);
    pthread_condattr_t monotonic;
    if (asker == NULL) {
        return err_no_memory(err, sizeof *asker);
    }
    asker->options = *options;
    list_init(&asker->new_checks);
    list_init(&asker->new_waits);
    list_init(&asker->checks);
    list_init(&asker->waits);
    pthread_mutex_init(&asker->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&asker->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&asker->thread, NULL, ask, asker) != 0) {
        asker_close(asker);
        return err_set(err, ERR_NO_MEMORY, "could not start the asker's thread");
    }
    asker->running = true;
    *out = asker;
    return OK;
}

void asker_stop(struct asker *asker)
{
    if (asker == NULL || !asker->running) {
        return;
    }
    pthread_mutex_lock(&asker->lock);
    asker->stopping = true;
    pthread_cond_signal(&asker->changed);
    pthread_mutex_unlock(&asker->lock);
    (void)pthread_join(asker->thread, NULL);
    asker->running = false;
    const struct error stopped = {.code = ERR_STOPPED, .text = "shutting down"};
    list_move(&asker->checks, &asker->new_checks);
    list_move(&asker->waits, &asker->new_waits);
    for (struct request *r = list_take_first(&asker->checks); r != NULL; r = list_take_first(&asker->checks)) {
        request_fail(r, &stopped);
    }
    for (struct request *r = list_take_first(&asker->waits); r != NULL; r = list_take_first(&asker->waits)) {
        request_not_yet(r);
    }
}

void asker_close(struct asker *asker)
{
    if (asker != NULL) {
        asker_stop(asker);
        pthread_cond_destroy(&asker->changed);
        pthread_mutex_destroy(&asker->lock);
        free(asker);
    }
}
