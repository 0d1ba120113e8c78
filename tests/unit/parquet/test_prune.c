/* Passing by what cannot match must change nothing but the time it takes. */
#include "tests/unit/parquet/footer.h"

#include "common/parquet/page_index.h"
#include "common/parquet/stats.h"

enum { ROWS = 40000 };

/* A source that counts what is read. */
struct counted {
    struct memory_file *file;
    uint64_t bytes;
};

static enum err_code counted_read(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    struct counted *counted = context;
    counted->bytes += length;
    return memory_read(counted->file, offset, length, out, err);
}

/* What came out: the rows that match, as a number and as a digest of their values. */
struct found {
    uint64_t rows, digest, bytes;
    struct parquet_skipped skipped;
};

static bool is_wanted(const struct batch *batch, uint32_t row, const struct parquet_cursor_options *options)
{
    for (size_t i = 0; i < options->range_count; i++) {
        const struct parquet_range *range = &options->ranges[i];
        int64_t value = batch->columns[range->column].values.i64[row];
        if (column_is_null(&batch->columns[range->column], row) || value < range->min || value > range->max) {
            return false;
        }
    }
    return true;
}

static struct found read_matching(struct memory_file *file, const struct parquet_cursor_options *conditions,
                                  bool prunes)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    static uint8_t selected[ROWS];
    struct counted counted = {.file = file};
    struct parquet_source source = {&counted, file->bytes.length_bytes, counted_read};
    struct parquet_cursor_options options = {.batch_rows = 3000};
    struct found found = {0};
    struct error err = {0};
    if (prunes) {
        options = *conditions;
        options.batch_rows = 3000;
    }
    if (parquet_reader_open(&source, &reader, &err) != OK ||
        parquet_cursor_open(reader, &options, &cursor, &err) != OK) {
        fail_msg("%s", err.text);
    }
    for (const struct batch *batch = NULL;;) {
        if (parquet_cursor_next(cursor, &batch, &err) != OK) {
            fail_msg("%s", err.text);
        }
        if (batch == NULL) {
            break;
        }
        memset(selected, 1, batch->row_count);
        if (conditions->predicate != NULL) {
            assert_int_equal(predicate_evaluate(conditions->predicate, batch, selected, NULL), OK);
        }
        for (uint32_t i = 0; i < batch->row_count; i++) {
            if (selected[i] != 0 && is_wanted(batch, i, conditions)) {
                found.rows++;
                found.digest = digest_row(batch, i, found.digest);
            }
        }
    }
    found.bytes = counted.bytes;
    found.skipped = parquet_cursor_skipped(cursor);
    return found;
}

static void assert_same_rows(struct memory_file *file, const struct parquet_cursor_options *conditions,
                             const char *what, struct found *out)
{
    struct found all = read_matching(file, conditions, false);
    *out = read_matching(file, conditions, true);
    if (all.rows != out->rows || all.digest != out->digest) {
        fail_msg("%s: %llu rows match but %llu were found", what, (unsigned long long)all.rows,
                 (unsigned long long)out->rows);
    }
}

static void make_file(const struct shape *shape, uint64_t seed, struct memory_file *file, struct batch **out)
{
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    const struct parquet_writer_options options = {
        .row_group_rows = 24000, .page_bytes = 4000, .dictionary_bytes = 8000};
    *out = random_batch(shape, seed);
    assert_int_equal(write_batch(*out, &options, file, &summary, NULL), OK);
}

/* The same rows, but some columns have no places of their pages, some no bounds of them, and some nothing at all: other
 * writers leave out what they like. */
static void forget_indexes(const struct memory_file *file, struct memory_file *out)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    struct memory_file copy = *file;
    struct parquet_source source = memory_source(&copy);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    for (size_t g = 0; g < reader->meta.row_group_count; g++) {
        for (size_t c = 0; c < EVERY_TYPE_COLUMNS; c++) {
            struct meta_chunk *chunk = &reader->meta.row_groups[g].chunks[c];
            chunk->offset_index_offset = c % 4 == 1 || c % 4 == 3 ? 0 : chunk->offset_index_offset;
            chunk->column_index_offset = c % 4 >= 2 ? 0 : chunk->column_index_offset;
            chunk->bloom_offset = c % 3 == 0 ? 0 : chunk->bloom_offset;
            if (c % 5 == 4) {
                chunk->statistics = (struct meta_statistics){.null_count = -1};
            }
        }
    }
    replace_footer(file, reader, &reader->meta, out);
}

/* A literal from the rows, as text: for most types in quotes. False where the row has none. */
static bool format_literal(const struct batch *batch, uint32_t column, uint32_t row, char *out, size_t out_bytes)
{
    const struct column *values = &batch->columns[column];
    uint32_t length;
    if (column_is_null(values, row)) {
        return false;
    }
    switch (values->type) {
    case COLUMN_INT32: snprintf(out, out_bytes, "%d", values->values.i32[row]); return true;
    case COLUMN_INT64: snprintf(out, out_bytes, "%lld", (long long)values->values.i64[row]); return true;
    case COLUMN_FLOAT: snprintf(out, out_bytes, "%.9g", (double)values->values.f32[row]); return true;
    case COLUMN_DOUBLE: snprintf(out, out_bytes, "%.17g", values->values.f64[row]); return true;
    case COLUMN_BOOL: snprintf(out, out_bytes, "%s", values->values.u8[row] != 0 ? "true" : "false"); return true;
    case COLUMN_STRING: {
        const uint8_t *text = column_variable(values, row, &length);
        snprintf(out, out_bytes, "'%.*s'", (int)length, (const char *)text);
        return true;
    }
    case COLUMN_UUID: {
        char text[UUID_TEXT_BYTES];
        snprintf(out, out_bytes, "'%s'", uuid_format(&values->values.uuid[row], text));
        return true;
    }
    default: return false;
    }
}

/* One comparison, of a kind and with a value that chance picks. False where chance picked nothing to compare with. */
static bool random_leaf(const struct batch *batch, uint64_t *random, char *out, size_t out_bytes)
{
    static const char *const signs[] = {"=", "!=", "<", "<=", ">", ">=", "=", "="};
    uint32_t column = 1 + (uint32_t)(random_next(random) % (EVERY_TYPE_COLUMNS - 1));
    uint32_t row = (uint32_t)(random_next(random) % batch->row_count);
    const char *name = every_type_columns[column].name;
    char literal[256];
    uint64_t kind = random_next(random) % 10;
    if (kind == 0) {
        snprintf(out, out_bytes, "%s is %snull", name, random_next(random) % 2 == 0 ? "" : "not ");
        return true;
    }
    if (!format_literal(batch, column, row, literal, sizeof literal)) {
        return false;
    }
    if (kind == 1) {
        snprintf(out, out_bytes, "%s in (%s, %s)", name, literal, literal);
    } else {
        snprintf(out, out_bytes, "%s %s %s", name, signs[random_next(random) % 8], literal);
    }
    return true;
}

static const struct shape shapes[] = {
    {ROWS, 20, 0, 40}, {ROWS, 0, 300, 20}, {ROWS, 99, 0, 30}, {3000, 50, 3, 60}, {1, 0, 0, 90}, {1, 100, 0, 90},
};

static void rows_that_match_any_predicate_are_the_same_with_and_without(void **state)
{
    (void)state;
    uint64_t random = 99;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        AUTO(memory_file_done) struct memory_file file = {0}, forgetful = {0};
        AUTO(batch_free_auto) struct batch *batch = NULL;
        make_file(&shapes[s], s + 1, &file, &batch);
        forget_indexes(&file, &forgetful);
        for (int round = 0; round < 60; round++) {
            AUTO(predicate_free_auto) struct predicate *predicate = NULL;
            char text[1400], first[640], second[640];
            struct found found;
            struct error err = {0};
            if (!random_leaf(batch, &random, first, sizeof first) ||
                !random_leaf(batch, &random, second, sizeof second)) {
                continue;
            }
            static const char *const befores[] = {"(", "(", "not ("}, *const afters[] = {") and ", ") or ", ")"};
            uint64_t form = random_next(&random) % 3;
            snprintf(text, sizeof text, "%s%s%s%s", befores[form], first, afters[form], form < 2 ? second : "");
            if (predicate_parse(text, strlen(text), &every_type, &predicate, &err) != OK) {
                fail_msg("%s: %s", text, err.text);
            }
            const struct parquet_cursor_options options = {.predicate = predicate};
            assert_same_rows(&file, &options, text, &found);
            assert_same_rows(&forgetful, &options, text, &found);
        }
    }
}

static void a_range_of_time_reads_its_pages_only(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    make_file(&shapes[0], 7, &file, &batch);
    const int64_t *times = batch->columns[0].values.i64;
    static const uint32_t columns[] = {0, 6};
    static const struct {
        uint32_t first, last;
        unsigned share; /* of the file, that may be read at most: one in so many bytes */
    } cases[] = {{0, 100, 10}, {39900, 39999, 10}, {20000, 20010, 10}, {23990, 24010, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct found found;
        const struct parquet_range range = {0, times[cases[i].first], times[cases[i].last]};
        const struct parquet_cursor_options options = {
            .ranges = &range, .range_count = 1, .columns = columns, .column_count = 2};
        found = read_matching(&file, &options, true);
        assert_int_equal(found.rows, cases[i].last - cases[i].first + 1);
        assert_true(found.skipped.rows > 0);
        if (found.bytes > file.bytes.length_bytes / cases[i].share) {
            fail_msg("case %zu: %llu of %zu bytes were read", i, (unsigned long long)found.bytes,
                     file.bytes.length_bytes);
        }
    }
}

static void a_bloom_filter_rules_out_what_bounds_cannot(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(predicate_free_auto) struct predicate *predicate = NULL;
    static const char text[] = "s = 'mmmmmm-not-there' or u = '00000000-7777-7777-7777-777777777777'";
    make_file(&shapes[0], 3, &file, &batch);
    assert_int_equal(predicate_parse(text, strlen(text), &every_type, &predicate, NULL), OK);
    struct found found;
    const struct parquet_cursor_options options = {.predicate = predicate};
    assert_same_rows(&file, &options, text, &found);
    assert_int_equal(found.skipped.row_groups, 2);
    assert_int_equal(found.skipped.rows, ROWS);
}

static void conditions_need_not_be_among_the_columns_read(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    make_file(&shapes[0], 5, &file, &batch);
    struct parquet_source source = memory_source(&file);
    static const uint32_t columns[] = {4, 12};
    const struct parquet_range range = {0, batch->columns[0].values.i64[30000], INT64_MAX};
    const struct parquet_cursor_options options = {
        .ranges = &range, .range_count = 1, .columns = columns, .column_count = 2};
    const struct batch *got = NULL;
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    assert_int_equal(parquet_cursor_open(reader, &options, &cursor, NULL), OK);
    uint64_t first = ROWS;
    for (assert_int_equal(parquet_cursor_next(cursor, &got, NULL), OK); got != NULL;
         assert_int_equal(parquet_cursor_next(cursor, &got, NULL), OK)) {
        uint64_t skipped = parquet_cursor_skipped(cursor).rows;
        first = first == ROWS ? skipped : first;
        for (uint32_t i = 0; i < got->row_count; i++, first++) {
            assert_true(equal_slots(&got->columns[0], i, &batch->columns[4], (uint32_t)first));
            assert_true(equal_slots(&got->columns[1], i, &batch->columns[12], (uint32_t)first));
        }
    }
    assert_int_equal(first, ROWS);
}

static void a_range_over_what_has_no_integers_is_refused(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    make_file(&shapes[3], 5, &file, &batch);
    struct parquet_source source = memory_source(&file);
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    static const uint32_t columns[] = {4, 6, EVERY_TYPE_COLUMNS};
    for (size_t i = 0; i < 3; i++) {
        struct parquet_cursor *cursor = NULL;
        struct error err = {0};
        const struct parquet_range range = {columns[i], 0, 1};
        const struct parquet_cursor_options options = {.ranges = &range, .range_count = 1};
        assert_int_equal(parquet_cursor_open(reader, &options, &cursor, &err), ERR_INVALID);
        assert_null(cursor);
        assert_non_null(strstr(err.text, "expected a range over"));
    }
}

/* An index that calls every page of a column all null, whose bounds are then empty. */
static void claim_only_nulls(const struct memory_file *file, size_t column, struct memory_file *out)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(memory_file_done) struct memory_file longer = {0};
    AUTO(buf_done) struct buf index = {0};
    struct memory_file copy = *file;
    struct parquet_source source = memory_source(&copy);
    struct meta_offset_index places;
    assert_int_equal(parquet_reader_open(&source, &reader, NULL), OK);
    assert_int_equal(buf_append(&longer.bytes, file->bytes.data, reader->footer_at, NULL), OK);
    for (size_t g = 0; g < reader->meta.row_group_count; g++) {
        struct meta_chunk *chunk = &reader->meta.row_groups[g].chunks[column];
        assert_int_equal(parquet_page_index_places(reader, g, column, arena, &places, NULL), OK);
        assert_true(places.count > 0);
        AUTO(free_auto) struct page_entry *pages = calloc(places.count, sizeof *pages);
        for (size_t i = 0; i < places.count; i++) {
            pages[i] = (struct page_entry){.rows = 1, .stats = {.type = COLUMN_INT64, .null_count = 1}};
        }
        buf_clear(&index);
        assert_int_equal(parquet_column_index_encode(pages, places.count, arena, &index, NULL), OK);
        chunk->column_index_offset = (int64_t)longer.bytes.length_bytes;
        chunk->column_index_bytes = (int32_t)index.length_bytes;
        assert_int_equal(buf_append(&longer.bytes, index.data, index.length_bytes, NULL), OK);
    }
    const struct parquet_reader shifted = {.footer_at = longer.bytes.length_bytes};
    replace_footer(&longer, &shifted, &reader->meta, out);
}

static void an_index_of_nulls_where_none_may_be_rules_out_nothing(void **state)
{
    (void)state;
    AUTO(memory_file_done) struct memory_file file = {0}, required = {0}, optional = {0};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(predicate_free_auto) struct predicate *predicate = NULL;
    static const char text[] = "t2 < 0 or t2 >= 0";
    make_file(&shapes[1], 8, &file, &batch);
    claim_only_nulls(&file, 0, &required);
    const struct parquet_range range = {0, batch->columns[0].values.i64[100], batch->columns[0].values.i64[39000]};
    struct found found;
    assert_same_rows(&required, &(struct parquet_cursor_options){.ranges = &range, .range_count = 1}, "ts", &found);
    assert_int_equal(found.rows, 38901);
    claim_only_nulls(&file, 13, &optional); /* where nulls may be it is believed */
    assert_int_equal(predicate_parse(text, sizeof text - 1, &every_type, &predicate, NULL), OK);
    assert_int_equal(
        read_matching(&optional, &(struct parquet_cursor_options){.predicate = predicate}, true).skipped.rows, ROWS);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_match_any_predicate_are_the_same_with_and_without),
        cmocka_unit_test(a_range_of_time_reads_its_pages_only),
        cmocka_unit_test(a_bloom_filter_rules_out_what_bounds_cannot),
        cmocka_unit_test(conditions_need_not_be_among_the_columns_read),
        cmocka_unit_test(a_range_over_what_has_no_integers_is_refused),
        cmocka_unit_test(an_index_of_nulls_where_none_may_be_rules_out_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
