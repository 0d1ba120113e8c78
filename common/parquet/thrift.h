/* Thrift compact protocol: what the footers and page headers of Parquet are written in.
 * Both directions keep the first error and become inert, so that a caller checks once at the end.
 * Source: thrift-compact-protocol.md of Apache Thrift. */
#ifndef GRANARY_PARQUET_THRIFT_H
#define GRANARY_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"

enum thrift_type {
    THRIFT_STOP = 0,
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12
};

enum { THRIFT_MAX_DEPTH = 16 };

/* --- writing ---------------------------------------------------------------------------------------------------- */

struct thrift_out {
    struct buf *buf;
    struct error *err;
    enum err_code code; /* of the first failure */
    int depth;
    int16_t last_field[THRIFT_MAX_DEPTH];
};

/* Begins the outermost struct. */
struct thrift_out parquet_thrift_out(struct buf *buf, struct error *err);
/* Ends the outermost struct and says how it went. */
MUST_CHECK enum err_code parquet_thrift_out_end(struct thrift_out *out);

void parquet_thrift_put_bool(struct thrift_out *out, int16_t field, bool value);
void parquet_thrift_put_i8(struct thrift_out *out, int16_t field, int8_t value);
void parquet_thrift_put_i16(struct thrift_out *out, int16_t field, int16_t value);
void parquet_thrift_put_i32(struct thrift_out *out, int16_t field, int32_t value);
void parquet_thrift_put_i64(struct thrift_out *out, int16_t field, int64_t value);
void parquet_thrift_put_binary(struct thrift_out *out, int16_t field, const void *data, size_t length);
void parquet_thrift_put_text(struct thrift_out *out, int16_t field, const char *text);
void parquet_thrift_put_struct(struct thrift_out *out, int16_t field); /* until parquet_thrift_end_struct */
void parquet_thrift_put_list(struct thrift_out *out, int16_t field, enum thrift_type element, size_t count);
void parquet_thrift_end_struct(struct thrift_out *out);

/* Elements of a list: a struct element ends with parquet_thrift_end_struct. */
void parquet_thrift_element_bool(struct thrift_out *out, bool value);
void parquet_thrift_element_int(struct thrift_out *out, int64_t value); /* i16, i32, i64 */
void parquet_thrift_element_binary(struct thrift_out *out, const void *data, size_t length);
void parquet_thrift_element_struct(struct thrift_out *out);

/* --- reading ---------------------------------------------------------------------------------------------------- */

struct thrift_in {
    const uint8_t *at;
    const uint8_t *end;
    struct error *err;
    enum err_code code; /* of the first failure; afterwards every read gives zeros and every loop ends */
    bool cut_off;       /* the failure was that the bytes ran out */
    int depth;
    int16_t last_field[THRIFT_MAX_DEPTH];
};

struct thrift_field {
    int16_t id;
    enum thrift_type type;
};

struct thrift_in parquet_thrift_in(const void *data, size_t length, struct error *err);

/* Next field of the struct in progress; false at its end or after a failure. A field not read must be skipped. */
bool parquet_thrift_next(struct thrift_in *in, struct thrift_field *out);
/* Enters a struct (field or element); it ends when parquet_thrift_next says false. */
void parquet_thrift_enter(struct thrift_in *in, struct thrift_field field);
void parquet_thrift_skip(struct thrift_in *in, struct thrift_field field);

/* Each checks the field's type. Borrowed bytes point into the input. */
bool parquet_thrift_get_bool(struct thrift_in *in, struct thrift_field field);
bool parquet_thrift_get_bool_element(struct thrift_in *in, struct thrift_field element); /* of a list */
int32_t parquet_thrift_get_i32(struct thrift_in *in, struct thrift_field field);         /* i8, i16, i32 */
int64_t parquet_thrift_get_i64(struct thrift_in *in, struct thrift_field field);
const uint8_t *parquet_thrift_get_binary(struct thrift_in *in, struct thrift_field field, uint32_t *out_length);

/* Count of a list's elements, never more than the bytes left could hold; *out_element is the field to read each with. */
uint32_t parquet_thrift_get_list(struct thrift_in *in, struct thrift_field field, struct thrift_field *out_element);

/* The same with room in the arena for that many elements, zeroed; NULL when there are none or on failure, also beyond
 * `most`. */
void *parquet_thrift_get_list_into(struct thrift_in *in, struct thrift_field field, struct arena *arena,
                                   size_t element_bytes, uint32_t most, size_t *out_count,
                                   struct thrift_field *out_element);

/* Keeps the first failure: ERR_CORRUPT with "what". Returns the code kept. */
enum err_code parquet_thrift_fail(struct thrift_in *in, const char *what);

#endif
