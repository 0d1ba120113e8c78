#include <assert.h>

#include "common/base/checked.h"
#include "common/bus/internal.h"

enum { FIRST_CAPACITY = 64 }; /* a power of two, as every capacity */

void bus_window_init(struct bus_window *window)
{
    *window = (struct bus_window){.first_tag = 1};
}

void bus_window_done(struct bus_window *window)
{
    free(window->slots);
    bus_window_init(window);
}

enum err_code bus_window_reserve(struct bus_window *window, struct error *err)
{
    if (window->count < window->capacity) {
        return OK;
    }
    size_t capacity = window->capacity == 0 ? FIRST_CAPACITY : window->capacity;
    if (window->capacity != 0 && !checked_mul_size(capacity, 2, &capacity)) {
        return err_no_memory(err, 0);
    }
    void **slots = reallocarray(NULL, capacity, sizeof *slots);
    if (slots == NULL) {
        return err_no_memory(err, capacity);
    }
    for (size_t i = 0; i < window->count; i++) {
        slots[i] = window->slots[(window->head + i) & (window->capacity - 1)];
    }
    free(window->slots);
    window->slots = slots;
    window->capacity = capacity;
    window->head = 0;
    return OK;
}

static void **slot_of(const struct bus_window *window, uint64_t tag)
{
    if (tag < window->first_tag || tag - window->first_tag >= window->count) {
        return NULL;
    }
    return &window->slots[(window->head + (size_t)(tag - window->first_tag)) & (window->capacity - 1)];
}

uint64_t bus_window_push(struct bus_window *window, void *item)
{
    assert(window->count < window->capacity && item != NULL);
    uint64_t tag = window->first_tag + window->count++;
    *slot_of(window, tag) = item;
    return tag;
}

void *bus_window_peek(const struct bus_window *window, uint64_t tag)
{
    void **slot = slot_of(window, tag);
    return slot == NULL ? NULL : *slot;
}

void *bus_window_take(struct bus_window *window, uint64_t tag)
{
    void **slot = slot_of(window, tag);
    if (slot == NULL) {
        return NULL;
    }
    void *item = *slot;
    *slot = NULL;
    /* The head is never an empty slot: so the oldest is found at once. */
    while (window->count > 0 && window->slots[window->head] == NULL) {
        window->head = (window->head + 1) & (window->capacity - 1);
        window->count--;
        window->first_tag++;
    }
    return item;
}

void *bus_window_oldest(const struct bus_window *window)
{
    return bus_window_peek(window, window->first_tag);
}

void *bus_window_take_oldest(struct bus_window *window)
{
    return bus_window_take(window, window->first_tag);
}

void bus_window_restart(struct bus_window *window)
{
    window->head = 0;
    window->count = 0;
    window->first_tag = 1;
}
