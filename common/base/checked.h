/* Arithmetic on sizes that come from outside: false on overflow, and *out untouched. */
#ifndef GRANARY_BASE_CHECKED_H
#define GRANARY_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKED_OP_(name, type, builtin)                                                           \
    __attribute__((warn_unused_result, unused)) static inline bool name(type a, type b, type *out) \
    {                                                                                              \
        type result;                                                                               \
        if (builtin(a, b, &result)) {                                                              \
            return false;                                                                          \
        }                                                                                          \
        *out = result;                                                                             \
        return true;                                                                               \
    }

CHECKED_OP_(checked_add_size, size_t, __builtin_add_overflow)
CHECKED_OP_(checked_mul_size, size_t, __builtin_mul_overflow)
CHECKED_OP_(checked_sub_size, size_t, __builtin_sub_overflow)
CHECKED_OP_(checked_add_i64, int64_t, __builtin_add_overflow)
CHECKED_OP_(checked_sub_i64, int64_t, __builtin_sub_overflow)
CHECKED_OP_(checked_mul_i64, int64_t, __builtin_mul_overflow)

#undef CHECKED_OP_

#endif
