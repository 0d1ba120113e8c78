/* Arena: many small allocations with one life, freed together. One arena per message, request or row group.
 * Not thread safe. Memory is aligned to 16 bytes. */
#ifndef GRANARY_BASE_ARENA_H
#define GRANARY_BASE_ARENA_H

#include "common/base/cleanup.h"
#include "common/base/error.h"

struct arena;

/* first_block_bytes 0 takes 4 KiB; later blocks double up to 1 MiB. NULL when out of memory. */
struct arena *arena_new(size_t first_block_bytes);
void arena_free(struct arena *arena); /* NULL is fine */
DEFINE_AUTO(struct arena, arena_free)

/* Forgets all allocations but keeps the largest block for the next round. */
void arena_reset(struct arena *arena);

/* NULL when out of memory. Not zeroed; arena_zalloc zeroes and checks count * size. */
void *arena_alloc(struct arena *arena, size_t bytes) MUST_CHECK;
void *arena_zalloc(struct arena *arena, size_t count, size_t size) MUST_CHECK;

/* Copies `length` bytes and adds a NUL. NULL when out of memory. */
char *arena_strndup(struct arena *arena, const char *text, size_t length) MUST_CHECK;
char *arena_strdup(struct arena *arena, const char *text) MUST_CHECK;
char *arena_printf(struct arena *arena, const char *format, ...) MUST_CHECK __attribute__((format(printf, 2, 3)));

size_t arena_bytes(const struct arena *arena); /* allocated from the system */

#endif
