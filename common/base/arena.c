#include "common/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/checked.h"

enum { ALIGNMENT = 16, DEFAULT_FIRST_BLOCK_BYTES = 4096, LARGEST_BLOCK_BYTES = 1 << 20 };

struct block {
    struct block *older;
    size_t capacity;
    size_t used;
    _Alignas(ALIGNMENT) unsigned char data[];
};

struct arena {
    struct block *newest;
    size_t next_block_bytes;
    size_t total_bytes;
};

struct arena *arena_new(size_t first_block_bytes)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena != NULL) {
        arena->next_block_bytes = first_block_bytes != 0 ? first_block_bytes : DEFAULT_FIRST_BLOCK_BYTES;
    }
    return arena;
}

void arena_free(struct arena *arena)
{
    if (arena == NULL) {
        return;
    }
    for (struct block *block = arena->newest; block != NULL;) {
        struct block *older = block->older;
        free(block);
        block = older;
    }
    free(arena);
}

void arena_reset(struct arena *arena)
{
    struct block *largest = arena->newest;
    for (struct block *block = arena->newest; block != NULL; block = block->older) {
        largest = block->capacity > largest->capacity ? block : largest;
    }
    for (struct block *block = arena->newest; block != NULL;) {
        struct block *older = block->older;
        if (block != largest) {
            free(block);
        }
        block = older;
    }
    arena->newest = largest;
    arena->total_bytes = 0;
    if (largest != NULL) {
        largest->older = NULL;
        largest->used = 0;
        arena->total_bytes = largest->capacity;
    }
}

static bool add_block(struct arena *arena, size_t at_least_bytes)
{
    size_t capacity = arena->next_block_bytes > at_least_bytes ? arena->next_block_bytes : at_least_bytes;
    size_t bytes;
    if (!checked_add_size(capacity, sizeof(struct block), &bytes)) {
        return false;
    }
    struct block *block = malloc(bytes);
    if (block == NULL) {
        return false;
    }
    block->older = arena->newest;
    block->capacity = capacity;
    block->used = 0;
    arena->newest = block;
    arena->total_bytes += capacity;
    if (arena->next_block_bytes < LARGEST_BLOCK_BYTES) {
        arena->next_block_bytes *= 2;
    }
    return true;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    size_t rounded;
    if (!checked_add_size(bytes, ALIGNMENT - 1, &rounded)) {
        return NULL;
    }
    rounded &= ~(size_t)(ALIGNMENT - 1);
    struct block *block = arena->newest;
    if (block == NULL || block->capacity - block->used < rounded) {
        if (!add_block(arena, rounded)) {
            return NULL;
        }
        block = arena->newest;
    }
    void *memory = block->data + block->used;
    block->used += rounded;
    return memory;
}

void *arena_zalloc(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!checked_mul_size(count, size, &bytes)) {
        return NULL;
    }
    void *memory = arena_alloc(arena, bytes);
    return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    size_t bytes;
    if (!checked_add_size(length, 1, &bytes)) {
        return NULL;
    }
    char *copy = arena_alloc(arena, bytes);
    if (copy != NULL) {
        if (length != 0) {
            memcpy(copy, text, length);
        }
        copy[length] = '\0';
    }
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return NULL;
    }
    char *text = arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        va_start(arguments, format);
        (void)vsnprintf(text, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    return text;
}

size_t arena_bytes(const struct arena *arena)
{
    return arena->total_bytes;
}
