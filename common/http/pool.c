#include <stdlib.h>
#include <string.h>

#include "common/http/internal.h"

struct http_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_job *first;
    struct http_job **last; /* where the next job is linked in */
    bool closing;
    unsigned thread_count;
    pthread_t threads[];
};

/* The next job, or NULL when the pool closes and nothing is left. */
static struct http_job *wait_for_job(struct http_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->first == NULL && !pool->closing) {
        (void)pthread_cond_wait(&pool->changed, &pool->lock);
    }
    struct http_job *job = pool->first;
    if (job != NULL) {
        pool->first = job->next;
        if (pool->first == NULL) {
            pool->last = &pool->first;
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return job;
}

static void *work(void *context)
{
    for (struct http_job *job; (job = wait_for_job(context)) != NULL;) {
        job->run(job);
    }
    return NULL;
}

void http_pool_close(struct http_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++) {
        (void)pthread_join(pool->threads[i], NULL);
    }
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}
DEFINE_AUTO(struct http_pool, http_pool_close)

enum err_code http_pool_open(unsigned threads, struct http_pool **out, struct error *err)
{
    size_t bytes = sizeof(struct http_pool) + threads * sizeof(pthread_t);
    AUTO(http_pool_close_auto) struct http_pool *pool = calloc(1, bytes);
    if (pool == NULL) {
        return err_no_memory(err, bytes);
    }
    pool->last = &pool->first;
    (void)pthread_mutex_init(&pool->lock, NULL); /* neither fails on Linux */
    (void)pthread_cond_init(&pool->changed, NULL);
    for (; pool->thread_count < threads; pool->thread_count++) {
        int failure = pthread_create(&pool->threads[pool->thread_count], NULL, work, pool);
        if (failure != 0) {
            return err_set(err, ERR_UNAVAILABLE, "could not start thread %u of %u: %s", pool->thread_count + 1, threads,
                           strerror(failure));
        }
    }
    *out = TAKE(pool);
    return OK;
}

void http_pool_submit(struct http_pool *pool, struct http_job *job)
{
    job->next = NULL;
    (void)pthread_mutex_lock(&pool->lock);
    *pool->last = job;
    pool->last = &job->next;
    (void)pthread_cond_signal(&pool->changed);
    (void)pthread_mutex_unlock(&pool->lock);
}
