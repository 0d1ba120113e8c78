/* Which statistics of other writers are trusted, and which pages of an index are. */
#include "tests/unit/parquet/footer.h"

#include <math.h>

#include "common/parquet/stats.h"

enum { NONE, LOWER, UPPER, BOTH };

struct bounds {
    const void *min, *max;
    uint32_t min_length, max_length;
};

static const int32_t minus_five = -5, five = 5;
static const uint32_t large = 4000000000U;
static const int64_t wide = 5;
static const uint64_t beyond = UINT64_MAX;
static const int32_t sixteen_bits = 65535;
static const double zero = 0.0, one = 1.0;

#define HALVES                                                                   \
    {                                                                            \
        .physical = PHYSICAL_FIXED, .type_length = 2, .logical = LOGICAL_FLOAT16 \
    }
#define UNSIGNED_64                                                                \
    {                                                                              \
        .physical = PHYSICAL_INT64, .logical = LOGICAL_INTEGER, .integer_bits = 64 \
    }
#define FIXED_DECIMAL                                                                            \
    {                                                                                            \
        .physical = PHYSICAL_FIXED, .type_length = 2, .logical = LOGICAL_DECIMAL, .precision = 4 \
    }

static const struct {
    const char *what;
    struct meta_element element;
    bool ordered;
    struct bounds now, legacy;
    int trusted;
} cases[] = {
    {"numbers in order", {.physical = PHYSICAL_INT32}, true, {&minus_five, &five, 4, 4}, {0}, BOTH},
    {"numbers without an order", {.physical = PHYSICAL_INT32}, false, {&minus_five, &five, 4, 4}, {0}, NONE},
    {"numbers of long ago", {.physical = PHYSICAL_INT32}, false, {0}, {&minus_five, &five, 4, 4}, BOTH},
    {"numbers the wrong way round", {.physical = PHYSICAL_INT32}, true, {&five, &minus_five, 4, 4}, {0}, NONE},
    {"numbers of another width", {.physical = PHYSICAL_INT64}, true, {&minus_five, &five, 4, 4}, {0}, NONE},
    {"one side only", {.physical = PHYSICAL_INT32}, true, {NULL, &five, 0, 4}, {0}, NONE},
    {"unsigned numbers",
     {.physical = PHYSICAL_INT32, .logical = LOGICAL_INTEGER, .integer_bits = 32},
     true,
     {&five, &large, 4, 4},
     {0},
     BOTH},
    {"unsigned numbers of long ago",
     {.physical = PHYSICAL_INT32, .logical = LOGICAL_INTEGER, .integer_bits = 32},
     false,
     {0},
     {&large, &five, 4, 4},
     NONE},
    {"texts in order", {.physical = PHYSICAL_BYTE_ARRAY, .logical = LOGICAL_STRING}, true, {"a", "b", 1, 1}, {0}, BOTH},
    {"texts of long ago",
     {.physical = PHYSICAL_BYTE_ARRAY, .logical = LOGICAL_STRING},
     false,
     {0},
     {"a", "b", 1, 1},
     NONE},
    {"a maximum too long to keep",
     {.physical = PHYSICAL_BYTE_ARRAY, .logical = LOGICAL_STRING},
     true,
     {"a", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 1, 72},
     {0},
     LOWER},
    {"doubles", {.physical = PHYSICAL_DOUBLE}, true, {&zero, &one, 8, 8}, {0}, BOTH},
    {"INT96", {.physical = PHYSICAL_INT96}, true, {"123456789012", "123456789013", 12, 12}, {0}, NONE},
    {"intervals",
     {.physical = PHYSICAL_FIXED, .type_length = 12, .converted = CONVERTED_INTERVAL},
     true,
     {"123456789012", "123456789013", 12, 12},
     {0},
     NONE},
    {"a type of a later format", {.physical = PHYSICAL_BYTE_ARRAY, .logical = 17}, true, {"a", "b", 1, 1}, {0}, NONE},
    {"a type of which there are only nulls",
     {.physical = PHYSICAL_INT32, .logical = LOGICAL_UNKNOWN},
     true,
     {&minus_five, &five, 4, 4},
     {0},
     NONE},
    {"halves", HALVES, true, {"\x00\xc4", "\x00\x3c", 2, 2}, {0}, BOTH}, /* -4 and 1: as bytes the wrong way round */
    {"halves the wrong way round", HALVES, true, {"\x00\x3c", "\x00\xc4", 2, 2}, {0}, NONE},
    {"halves with NaN for a minimum", HALVES, true, {"\x00\x7e", "\x00\x3c", 2, 2}, {0}, NONE},
    {"halves with NaN for a maximum", HALVES, true, {"\x00\xc4", "\x01\xfc", 2, 2}, {0}, NONE},
    {"halves of long ago", HALVES, false, {0}, {"\x00\xc4", "\x00\x3c", 2, 2}, NONE},
    {"unsigned numbers of 64 bits", UNSIGNED_64, true, {&wide, &wide, 8, 8}, {0}, BOTH},
    {"unsigned numbers beyond 63 bits", UNSIGNED_64, true, {&wide, &beyond, 8, 8}, {0}, LOWER},
    {"unsigned numbers of 64 bits of long ago", UNSIGNED_64, false, {0}, {&beyond, &wide, 8, 8}, NONE},
    {"unsigned numbers of 16 bits of long ago", /* as signed ones of 32 bits they are in order */
     {.physical = PHYSICAL_INT32, .logical = LOGICAL_INTEGER, .integer_bits = 16},
     false,
     {0},
     {&five, &sixteen_bits, 4, 4},
     BOTH},
    {"decimals in int32",
     {.physical = PHYSICAL_INT32, .logical = LOGICAL_DECIMAL, .precision = 9},
     true,
     {&minus_five, &five, 4, 4},
     {0},
     BOTH},
    {"decimals in fixed bytes", FIXED_DECIMAL, true, {"\xff\xfe", "\x00\x05", 2, 2}, {0}, BOTH},
    {"decimals in fixed bytes, compared as bytes", FIXED_DECIMAL, true, {"\x00\x05", "\xff\xfe", 2, 2}, {0}, NONE},
    {"decimals in fixed bytes of long ago", FIXED_DECIMAL, false, {0}, {"\xff\xfe", "\x00\x05", 2, 2}, NONE},
    {"uuids of another width",
     {.physical = PHYSICAL_FIXED, .type_length = 16, .logical = LOGICAL_UUID},
     true,
     {"123456789012", "123456789013", 12, 12},
     {0},
     NONE},
    {"times in milliseconds",
     {.physical = PHYSICAL_INT64, .logical = LOGICAL_TIMESTAMP, .unit = TIME_UNIT_MILLIS},
     true,
     {&wide, &wide, 8, 8},
     {0},
     BOTH},
    {"decimals in bytes",
     {.physical = PHYSICAL_BYTE_ARRAY, .logical = LOGICAL_DECIMAL, .precision = 9},
     true,
     {"\xff", "\x7f", 1, 1},
     {0},
     BOTH},
    {"decimals in bytes of long ago",
     {.physical = PHYSICAL_BYTE_ARRAY, .logical = LOGICAL_DECIMAL, .precision = 9},
     false,
     {0},
     {"\x01", "\xff", 1, 1},
     NONE},
};

static struct parquet_bytes bytes_of(const void *data, uint32_t length)
{
    return (struct parquet_bytes){data, length};
}

static struct column_stats decode(const struct meta_element *from, bool ordered, const struct bounds *now,
                                  const struct bounds *legacy)
{
    struct schema_column column = {.id = 1};
    struct column_layout layout = {0};
    struct column_stats stats;
    struct meta_element element = *from;
    uint8_t orders[] = {ordered};
    const struct meta_file meta = {.order_count = 1, .typed_orders = orders};
    const struct meta_statistics statistics = {.min = bytes_of(now->min, now->min_length),
                                               .max = bytes_of(now->max, now->max_length),
                                               .legacy_min = bytes_of(legacy->min, legacy->min_length),
                                               .legacy_max = bytes_of(legacy->max, legacy->max_length),
                                               .null_count = -1};
    element.converted = from->converted == CONVERTED_INTERVAL ? CONVERTED_INTERVAL : CONVERTED_NONE;
    element.repetition = REPETITION_OPTIONAL;
    assert_null(parquet_type_from_element(&element, &column, &layout));
    column_stats_init(&stats, &column);
    parquet_stats_decode(&statistics, &meta, &layout, &stats);
    assert_int_equal(stats.null_count, 1); /* not known */
    return stats;
}

static void bounds_are_trusted_where_their_order_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct column_stats stats = decode(&cases[i].element, cases[i].ordered, &cases[i].now, &cases[i].legacy);
        if ((stats.has_min ? LOWER : 0) + (stats.has_max ? UPPER : 0) != cases[i].trusted) {
            fail_msg("%s: has_min %d, has_max %d", cases[i].what, stats.has_min, stats.has_max);
        }
    }
}

static void one_nan_spoils_both_bounds(void **state)
{
    (void)state;
    const double nan_wide = (double)NAN;
    const float nan_narrow = NAN, half = 0.5F;
    const struct bounds none = {0}, wides[] = {{&nan_wide, &one, 8, 8}, {&zero, &nan_wide, 8, 8}},
                        narrows[] = {{&nan_narrow, &half, 4, 4}, {&half, &nan_narrow, 4, 4}};
    for (size_t i = 0; i < 2; i++) {
        for (int legacy = 0; legacy < 2; legacy++) {
            const struct bounds *now = legacy ? &none : &wides[i], *old = legacy ? &wides[i] : &none;
            struct column_stats stats = decode(&(struct meta_element){.physical = PHYSICAL_DOUBLE}, true, now, old);
            assert_false(stats.has_min || stats.has_max);
        }
        struct column_stats stats =
            decode(&(struct meta_element){.physical = PHYSICAL_FLOAT}, true, &narrows[i], &none);
        assert_false(stats.has_min || stats.has_max);
    }
}

static void a_minimum_may_be_cut_and_a_maximum_may_not(void **state)
{
    (void)state;
    static const char text[] = "0123456789012345678901234567890123456789012345678901234567890123";
    static const struct meta_element strings = {.physical = PHYSICAL_BYTE_ARRAY, .logical = LOGICAL_STRING};
    static const struct bounds none = {0};
    char longer[80];
    (void)snprintf(longer, sizeof longer, "%sz", text);
    struct column_stats stats = decode(&strings, true, &(struct bounds){longer, "1", 65, 1}, &none);
    assert_int_equal(stats.min_length, 64); /* still below what it was cut from */
    assert_memory_equal(stats.min, text, 64);
    assert_true(stats.has_max);
    stats = decode(&strings, true, &(struct bounds){"0", text, 1, 64}, &none);
    assert_true(stats.has_max);
    assert_int_equal(stats.max_length, 64);
    stats = decode(&strings, true, &(struct bounds){"0", longer, 1, 65}, &none);
    assert_true(stats.has_min && !stats.has_max);
    stats = decode(&strings, true, &(struct bounds){"", "", 0, 0}, &none); /* of empty texts */
    assert_true(stats.has_min && stats.has_max);
}

static void bounds_of_other_types_are_in_ours(void **state)
{
    (void)state;
    const struct bounds none = {0}, millis = {&wide, &wide, 8, 8};
    int64_t bound;
    struct column_stats stats = decode(
        &(struct meta_element){.physical = PHYSICAL_INT64, .logical = LOGICAL_TIMESTAMP, .unit = TIME_UNIT_MILLIS},
        true, &millis, &none);
    memcpy(&bound, stats.max, sizeof bound);
    assert_int_equal(bound, 5000);
    assert_int_equal(stats.max_length, sizeof bound);
}

/* A row group of one row whose null count is not known: it may be null, and it may not. */
static void an_unknown_null_count_rules_out_nothing(void **state)
{
    (void)state;
    static const struct shape one_row = {1, 0, 0, 10};
    AUTO(batch_free_auto) struct batch *batch = random_batch(&one_row, 3);
    AUTO(memory_file_done) struct memory_file file = {0}, foreign = {0};
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL, *again = NULL;
    AUTO(predicate_free_auto) struct predicate *predicate = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    const struct batch *got = NULL;
    static const char text[] = "i32 > -2147483648 or i32 is null";
    assert_int_equal(write_batch(batch, NULL, &file, &summary, NULL), OK);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    struct meta_chunk *chunk = &reader->meta.row_groups[0].chunks[2];
    chunk->statistics.null_count = -1;
    chunk->column_index_offset = 0;
    replace_footer(&file, reader, &reader->meta, &foreign);
    struct parquet_source foreign_source = memory_source(&foreign);
    assert_int_equal(parquet_reader_open(&foreign_source, &again, NULL), OK);
    assert_int_equal(predicate_parse(text, sizeof text - 1, &every_type, &predicate, NULL), OK);
    const struct parquet_cursor_options options = {.predicate = predicate};
    assert_int_equal(parquet_cursor_open(again, &options, &cursor, NULL), OK);
    assert_int_equal(parquet_cursor_next(cursor, &got, NULL), OK);
    assert_non_null(got);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_trusted_where_their_order_is_known),
        cmocka_unit_test(one_nan_spoils_both_bounds),
        cmocka_unit_test(a_minimum_may_be_cut_and_a_maximum_may_not),
        cmocka_unit_test(bounds_of_other_types_are_in_ours),
        cmocka_unit_test(an_unknown_null_count_rules_out_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
