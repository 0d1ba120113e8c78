/* Scoped ownership: every owned local frees itself, and is handed on with TAKE(). GNU C `cleanup` attribute. */
#ifndef GRANARY_BASE_CLEANUP_H
#define GRANARY_BASE_CLEANUP_H

#include <stdlib.h>

/* Calls fn(&variable) when the variable leaves its scope; for some that is all the use they have. */
#define AUTO(fn) __attribute__((cleanup(fn), unused))

/* Hands a pointer on: the variable becomes NULL, so that its AUTO frees nothing. */
#define TAKE(pointer)                           \
    ({                                          \
        __typeof__(pointer) taken_ = (pointer); \
        (pointer) = NULL;                       \
        taken_;                                 \
    })

/* Defines free_fn_auto for `AUTO(free_fn_auto) type *x = NULL;`. free_fn takes NULL. */
#define DEFINE_AUTO(type, free_fn)                                            \
    __attribute__((unused)) static inline void free_fn##_auto(type **pointer) \
    {                                                                         \
        free_fn(*pointer);                                                    \
    }

__attribute__((unused)) static inline void free_auto(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

#endif
