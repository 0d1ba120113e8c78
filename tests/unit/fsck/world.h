/* A store and a catalog in memory, with scripts of misbehaviour, to compare with each other. */
#ifndef GRANARY_TEST_FSCK_WORLD_H
#define GRANARY_TEST_FSCK_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/fsck/fsck.h"
#include "common/lifecycle/records.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
/* Noon of a day, by the clock of the store. */
#define NOW_US INT64_C(1796040000000000)

struct script {
    /* Both sorted. A NULL key or path ends them early. */
    struct store_object objects[16];
    struct catalog_object rows[16];
    size_t object_count, row_count;

    /* What looking again finds. */
    const char *hidden;                  /* an object that the listing leaves out */
    const char *named_later;             /* a row names it by the time of the look-up */
    const char *reaped_later;            /* its row promises nothing any more */
    struct catalog_object_answer answer; /* for all other objects */

    enum err_code list_fails, rows_fail, head_fails, look_up_fails; /* from call number `fail_at` on, counted from 1 */
    int fail_at;
    bool page_twice;   /* every second page begins where the one before began */
    bool empty_page;   /* says that more follow, and gives nothing */
    bool out_of_order; /* rows, in the order of another collation */
    int lists, row_pages, heads, look_ups;
};
struct fsck_world world_of(struct script *script);

/* "<table>/2026-11-30/<partition>.parquet" with ids that end in these numbers; static memory, a few at a time. */
const char *key_of(unsigned table, unsigned partition);
void add_object(struct script *script, const char *key, uint64_t bytes, int64_t age_us);
void add_row(struct script *script, const char *path, int64_t bytes);

/* All findings of a whole comparison in one list; ERR_... where it failed. */
struct outcome {
    enum err_code code;
    struct error err;
    struct fsck_finding findings[32];
    char paths[32][1100];
    size_t count;
    struct fsck_totals totals;
    char position[1100];
};
void compare(struct script *script, size_t page, const char *after, struct outcome *out);

#endif
