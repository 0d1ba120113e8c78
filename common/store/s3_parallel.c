/* Several pieces of work at a time. The threads live as long as the call: beside a round trip they cost nothing, and there
 * is nobody to hand errors, shutdown or a queue to. */
#include <pthread.h>

#include "common/store/s3.h"

enum { MAX_THREADS = 64 };

struct parallel {
    atomic_size_t next;
    size_t count;
    void (*work)(void *context, size_t index);
    void *context;
};

static void *run(void *context)
{
    struct parallel *parallel = context;
    for (size_t i = atomic_fetch_add(&parallel->next, 1); i < parallel->count;
         i = atomic_fetch_add(&parallel->next, 1)) {
        parallel->work(parallel->context, i);
    }
    return NULL;
}

void store_s3_parallel(const struct s3_store *store, size_t count, void (*work)(void *context, size_t index),
                       void *context)
{
    struct parallel parallel = {.count = count, .work = work, .context = context};
    pthread_t threads[MAX_THREADS];
    size_t started = 0;
    size_t wanted = (size_t)store->options.connections < count ? (size_t)store->options.connections : count;
    /* This thread is one of them; those that cannot be had make it slower, not less. */
    while (started + 1 < wanted && started < MAX_THREADS &&
           pthread_create(&threads[started], NULL, run, &parallel) == 0) {
        started++;
    }
    (void)run(&parallel);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}
