/* The inside of inference.
 *
 *   infer.c          the proposal: a type for each column, and the timestamp column
 *   infer_rows.c     the sample: rows of JSON or CSV, value by value
 *   infer_tally.c    what the values of a column have in common
 *   infer_file.c     Parquet, which says itself what it holds */
#ifndef GRANARY_INGEST_INFER_INTERNAL_H
#define GRANARY_INGEST_INFER_INTERNAL_H

#include "common/ingest/infer.h"
#include "common/ingest/internal.h"

/* --- infer_tally.c ----------------------------------------------------------------------------------------------- */

/* What a value is in JSON; in CSV all are text, or null. */
enum infer_kind { INFER_NULL, INFER_BOOL, INFER_INTEGER, INFER_REAL, INFER_TEXT, INFER_NESTED, INFER_KIND_COUNT };

enum { INFER_PATTERN_COUNT = 23 };
extern const char *const infer_patterns[INFER_PATTERN_COUNT]; /* formats of times that are tried; [0] is the default */

/* The same, made ready once. Bit i of a mask stands for items[i]. */
struct infer_formats {
    struct timestamp_format items[INFER_PATTERN_COUNT];
    uint32_t all;
    uint32_t dates; /* without a time of day */
};
void infer_formats_init(struct infer_formats *formats);

struct infer_tally {
    const char *source; /* the name in the data */
    const char *name;   /* the identifier */
    uint64_t counts[INFER_KIND_COUNT];
    /* What every text so far could be. */
    bool may_be_bool, may_be_integer, may_be_real, may_be_uuid, may_be_date;
    bool has_number;                     /* among the texts: not only NaN and the like */
    bool has_leading_zeros;              /* that a number would lose */
    bool has_plus;                       /* of integers, likewise */
    bool is_wide;                        /* an integer beyond 64 bits */
    const struct infer_formats *formats; /* borrowed */
    uint32_t patterns;                   /* bit i: every text fits infer_patterns[i] */
    uint32_t date_patterns;              /* those of them that have no time of day */
    int64_t min, max;                    /* of integers, as numbers or as text */
    uint64_t last_row;                   /* that had it */
};
void infer_tally_init(struct infer_tally *tally, const struct infer_formats *formats);
/* text[length] can be read and belongs to no number. Numbers as they are written. */
void infer_tally_add(struct infer_tally *tally, enum infer_kind kind, bool is_csv, const uint8_t *text, size_t length);
/* Seconds, milliseconds, microseconds or nanoseconds since 1970, as a format; NULL where not just one unit makes all of
 * them times of this century. */
const char *infer_epoch_format(int64_t min, int64_t max);

/* --- infer_rows.c ------------------------------------------------------------------------------------------------ */

struct infer_tallies {
    struct arena *arena;
    struct infer_tally *items;
    size_t count, capacity;
    struct infer_formats formats;
    uint64_t rows, bad_rows;
    char first_reason[ROW_REASON_BYTES]; /* why the first bad row is bad */
};
MUST_CHECK enum err_code infer_tallies_gather(struct infer_tallies *tallies, const struct infer_options *options,
                                              const void *data, size_t length, struct error *err);

/* --- infer.c ----------------------------------------------------------------------------------------------------- */

/* Sets timestamp_column and makes it what one must be. `epochs[i]`: the format that column i would have as the time since
 * 1970, or NULL. `has_nulls[i]`: column i cannot be it unless it is named. */
MUST_CHECK enum err_code infer_choose_timestamp(const char *name, const char *const *epochs, const bool *has_nulls,
                                                struct infer_proposal *proposal, struct error *err);

#endif
