#include "services/rewriter/lease.h"

#include <pthread.h>
#include <time.h>

#include "common/base/clock.h"
#include "services/rewriter/plan.h"

struct lease {
    struct catalog *catalog;
    struct catalog_rewrite_lease terms;
    pthread_t thread;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t wake;
    struct rewriter_lease_state state;
    struct partition_writer *writer;
    uint64_t rows_done;
    bool closing;
    bool lost;
    struct error why; /* it is lost */
};

static void wait_until(struct lease *lease, int64_t until_us)
{
    const struct timespec until = {.tv_sec = until_us / CLOCK_SECOND_US, .tv_nsec = until_us % CLOCK_SECOND_US * 1000};
    (void)pthread_cond_timedwait(&lease->wake, &lease->lock, &until);
}

/* The lock is held, but not while the catalog is asked. */
static void renew(struct lease *lease)
{
    struct error err = {0};
    int64_t rows_done = (int64_t)lease->rows_done;
    int64_t asked_at_us = clock_monotonic_us();
    pthread_mutex_unlock(&lease->lock);
    enum err_code code = catalog_rewrite_renew(lease->catalog, &lease->terms, rows_done, &err);
    pthread_mutex_lock(&lease->lock);
    lease->state.last_failed = code != OK;
    if (code == OK) {
        lease->state.confirmed_at_us = asked_at_us;
        if (lease->writer != NULL) {
            partition_writer_set_deadline(lease->writer, rewriter_plan_end_us(&lease->state));
        }
    } else if (code == ERR_CONFLICT || clock_monotonic_us() >= rewriter_plan_end_us(&lease->state)) {
        lease->lost = true;
        lease->why = err;
    }
}

static void *keep(void *context)
{
    struct lease *lease = context;
    pthread_mutex_lock(&lease->lock);
    while (!lease->closing && !lease->lost) {
        int64_t now_us = clock_monotonic_us();
        int64_t due_us = rewriter_plan_renewal_us(&lease->state, now_us);
        wait_until(lease, due_us);
        if (!lease->closing && clock_monotonic_us() >= due_us) {
            renew(lease);
        }
    }
    pthread_mutex_unlock(&lease->lock);
    return NULL;
}

static MUST_CHECK enum err_code init(struct lease *lease, struct error *err)
{
    pthread_condattr_t attributes;
    bool ok = pthread_condattr_init(&attributes) == 0 && pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
              pthread_mutex_init(&lease->lock, NULL) == 0 && pthread_cond_init(&lease->wake, &attributes) == 0 &&
              pthread_create(&lease->thread, NULL, keep, lease) == 0;
    return ok ? OK : err_set(err, ERR_NO_MEMORY, "could not start the thread that keeps the lease");
}

enum err_code lease_open(struct catalog *catalog, const struct catalog_rewrite_lease *terms, struct lease **out,
                         struct error *err)
{
    int64_t asked_at_us = clock_monotonic_us();
    AUTO(free_auto) struct lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL) {
        return err_no_memory(err, sizeof *lease);
    }
    TRY(catalog_rewrite_renew(catalog, terms, 0, err));
    lease->catalog = catalog;
    lease->terms = *terms;
    lease->state = (struct rewriter_lease_state){.confirmed_at_us = asked_at_us, .lease_us = terms->lease_us};
    TRY(init(lease, err));
    *out = TAKE(lease);
    return OK;
}

void lease_close(struct lease *lease)
{
    if (lease == NULL) {
        return;
    }
    pthread_mutex_lock(&lease->lock);
    lease->closing = true;
    pthread_cond_signal(&lease->wake);
    pthread_mutex_unlock(&lease->lock);
    (void)pthread_join(lease->thread, NULL);
    (void)pthread_cond_destroy(&lease->wake);
    (void)pthread_mutex_destroy(&lease->lock);
    free(lease);
}

int64_t lease_end_us(struct lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    int64_t end_us = rewriter_plan_end_us(&lease->state);
    pthread_mutex_unlock(&lease->lock);
    return end_us;
}

void lease_set_writer(struct lease *lease, struct partition_writer *writer)
{
    pthread_mutex_lock(&lease->lock);
    lease->writer = writer;
    if (writer != NULL) {
        partition_writer_set_deadline(writer, rewriter_plan_end_us(&lease->state));
    }
    pthread_mutex_unlock(&lease->lock);
}

void lease_set_progress(struct lease *lease, uint64_t rows_done)
{
    pthread_mutex_lock(&lease->lock);
    lease->rows_done = rows_done;
    pthread_mutex_unlock(&lease->lock);
}

enum err_code lease_check(struct lease *lease, struct error *err)
{
    pthread_mutex_lock(&lease->lock);
    bool lost = lease->lost || clock_monotonic_us() >= rewriter_plan_end_us(&lease->state);
    struct error why = lease->why;
    pthread_mutex_unlock(&lease->lock);
    if (lost) {
        return err_set(err, ERR_CONFLICT, "the lease is lost: %s",
                       why.code != OK ? why.text : "it was not renewed in time");
    }
    return OK;
}
