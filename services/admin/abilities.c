#include "services/admin/abilities.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/log/log.h"

#define BELIEVE_US (5 * CLOCK_MINUTE_US)

struct ability {
    struct ability *next;
    const struct store *store;
    bool asked, asking, known;
    int64_t asked_at_us; /* monotonic */
    struct store_probe probe;
};
struct abilities {
    pthread_mutex_t lock;
    struct ability *first;
};

enum err_code abilities_new(struct abilities **out, struct error *err)
{
    struct abilities *abilities = calloc(1, sizeof *abilities);
    if (abilities == NULL) {
        return err_no_memory(err, sizeof *abilities);
    }
    (void)pthread_mutex_init(&abilities->lock, NULL); /* does not fail on Linux */
    *out = abilities;
    return OK;
}

void abilities_free(struct abilities *abilities)
{
    if (abilities == NULL) {
        return;
    }
    for (struct ability *next; abilities->first != NULL; abilities->first = next) {
        next = abilities->first->next;
        free(abilities->first);
    }
    (void)pthread_mutex_destroy(&abilities->lock);
    free(abilities);
}

/* NULL: no memory. Under the lock. */
static struct ability *ability_of(struct abilities *abilities, const struct store *store)
{
    struct ability *ability = abilities->first;
    while (ability != NULL && ability->store != store) {
        ability = ability->next;
    }
    if (ability == NULL) {
        ability = calloc(1, sizeof *ability);
        if (ability != NULL) {
            ability->store = store;
            ability->next = abilities->first;
            abilities->first = ability;
        }
    }
    return ability;
}

/* One of several that want to know goes and asks; the others do with what was known before. Without the lock. */
static void ask(struct abilities *abilities, struct ability *ability, struct store *store)
{
    struct store_probe probe;
    struct error reason = {0};
    bool known = store_probe(store, &probe, &reason) == OK;
    if (!known) {
        log_warn("a store could not be asked what it can do", LOG_TEXT("store", store_url(store)), LOG_ERR(&reason));
    }
    (void)pthread_mutex_lock(&abilities->lock);
    ability->asking = false;
    ability->asked = true;
    ability->asked_at_us = clock_monotonic_us();
    ability->known = known;
    if (known) {
        ability->probe = probe;
    }
    (void)pthread_mutex_unlock(&abilities->lock);
}

static enum err_code look_up(struct abilities *abilities, struct store *store, bool *out_known, struct store_probe *out,
                             struct error *err)
{
    (void)pthread_mutex_lock(&abilities->lock);
    struct ability *ability = ability_of(abilities, store);
    bool due = ability != NULL && !ability->asking &&
               (!ability->asked || clock_monotonic_us() - ability->asked_at_us >= BELIEVE_US);
    if (due) {
        ability->asking = true;
        (void)pthread_mutex_unlock(&abilities->lock);
        ask(abilities, ability, store);
        (void)pthread_mutex_lock(&abilities->lock);
    }
    *out_known = ability != NULL && ability->known;
    if (*out_known) {
        *out = ability->probe;
    }
    (void)pthread_mutex_unlock(&abilities->lock);
    return ability == NULL ? err_no_memory(err, sizeof *ability) : OK;
}

enum err_code abilities_render(struct abilities *abilities, struct store *store, struct json *object, struct error *err)
{
    struct store_probe probe;
    char text[STORE_PROBE_TEXT_BYTES];
    bool known = false;
    if (store != NULL) {
        TRY(look_up(abilities, store, &known, &probe, err));
    }
    TRY(json_set_string(object, "can", known ? store_probe_format(&probe, text) : NULL, err));
    return known && probe.versioned == STORE_YES
               ? json_set_i64(object, "noncurrent_bytes", (int64_t)probe.noncurrent_bytes, err)
               : json_set_string(object, "noncurrent_bytes", NULL, err);
}
