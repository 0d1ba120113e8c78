/* Predicates of any text: what parses is evaluated over a few rows, and their statistics must not rule out a match. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/rows/predicate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TS, INTEGER, REAL, TEXT, DECIMAL, BYTES, UUID, BOOL, DAY, FLOAT, COLUMN_COUNT, ROWS = 8 };

static const struct schema_column columns[COLUMN_COUNT] = {
    [TS] = {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    [INTEGER] = {.id = 2, .name = "i", .type = COLUMN_INT32, .nullable = true},
    [REAL] = {.id = 3, .name = "d", .type = COLUMN_DOUBLE, .nullable = true},
    [TEXT] = {.id = 4, .name = "s", .type = COLUMN_STRING, .nullable = true},
    [DECIMAL] = {.id = 5, .name = "n", .type = COLUMN_DECIMAL, .nullable = true, .precision = 9, .scale = 2},
    [BYTES] = {.id = 6, .name = "y", .type = COLUMN_BYTES, .nullable = true},
    [UUID] = {.id = 7, .name = "u", .type = COLUMN_UUID, .nullable = true},
    [BOOL] = {.id = 8, .name = "b", .type = COLUMN_BOOL, .nullable = true},
    [DAY] = {.id = 9, .name = "day", .type = COLUMN_DATE, .nullable = true},
    [FLOAT] = {.id = 10, .name = "f", .type = COLUMN_FLOAT, .nullable = true},
};
static const struct schema schema = {
    .version = 1, .column_count = COLUMN_COUNT, .columns = columns, .sort_key_count = 1};

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static struct batch *make_rows(uint32_t first, uint32_t end)
{
    static const char *const texts[] = {"", "a", "b", "it's", "zz"};
    static const double reals[] = {0, -0.0, 1.5, -1e300, NAN, INFINITY};
    struct batch *batch = NULL;
    check(batch_new(&schema, ROWS, &batch, NULL) == OK);
    for (uint32_t r = first; r < end; r++) {
        const char *text = texts[r % 5];
        struct uuid uuid = {{(uint8_t)r}};
        check(batch_row_begin(batch, NULL) == OK);
        batch_set_i64(batch, TS, r);
        if (r % 3 != 2) {
            batch_set_i32(batch, INTEGER, (int32_t)r - 3);
            batch_set_double(batch, REAL, reals[r % 6]);
            check(batch_set_variable(batch, TEXT, text, strlen(text), NULL) == OK);
            batch_set_i64(batch, DECIMAL, (int64_t)r * 50);
            check(batch_set_variable(batch, BYTES, text, strlen(text), NULL) == OK);
            batch_set_uuid(batch, UUID, &uuid);
            batch_set_bool(batch, BOOL, r % 2 == 0);
            batch_set_i32(batch, DAY, (int32_t)r);
            batch_set_float(batch, FLOAT, (float)reals[(r + 2) % 6]);
        }
        check(batch_row_end(batch, NULL) == OK);
    }
    return batch;
}

static void check_range(const struct predicate *predicate, uint32_t first, uint32_t end)
{
    AUTO(batch_free_auto) struct batch *batch = make_rows(first, end);
    struct column_stats stats[COLUMN_COUNT];
    uint8_t selected[ROWS];
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        column_stats_init(&stats[c], &columns[c]);
        column_stats_update(&stats[c], &batch->columns[c], 0, end - first);
    }
    check(predicate_evaluate(predicate, batch, selected, NULL) == OK);
    bool may = predicate_may_match(predicate, stats, COLUMN_COUNT, end - first);
    for (uint32_t i = 0; i < end - first; i++) {
        check(selected[i] <= 1 && (may || selected[i] == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(predicate_free_auto) struct predicate *predicate = NULL;
    AUTO(free_auto) char *text = malloc(size + 1); /* no byte more than the text is its parser's to read */
    struct error err = {0};
    check(text != NULL);
    if (size != 0) {
        memcpy(text, data, size);
    }
    enum err_code code = predicate_parse(text, size, &schema, &predicate, &err);
    check(code == OK || err.text[0] != '\0');
    for (uint32_t first = 0; code == OK && first < ROWS; first += 2) {
        check_range(predicate, first, first + 2);
        check_range(predicate, 0, first + 1);
    }
    return 0;
}
