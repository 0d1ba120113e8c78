#include "common/base/clock.h"
#include "common/parquet/sink.h"
#include "common/parquet/writer.h"
#include "tests/unit/ingest/fixture.h"

static enum err_code write_buf(void *context, const void *data, size_t length, struct error *err)
{
    return buf_append(context, data, length, err);
}

static enum err_code read_buf(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    const struct buf *file = context;
    (void)err;
    assert_true(offset <= file->length_bytes && length <= file->length_bytes - offset);
    memcpy(out, file->data + offset, length);
    return OK;
}

static struct ingest_limits wide_limits(void)
{
    struct ingest_limits limits = fixture_limits;
    limits.min_timestamp_us = INT64_MIN;
    limits.max_timestamp_us = INT64_MAX;
    return limits;
}

static struct batch *decode_lines(const struct schema *schema, const char *lines)
{
    const struct ingest_options options = {.format = INGEST_NDJSON};
    const struct ingest_limits limits = wide_limits();
    struct ingest *made = NULL;
    assert_int_equal(ingest_new(schema, &options, &limits, &made, NULL), OK);
    AUTO(ingest_free_auto) struct ingest *ingest = made;
    size_t rejects;
    assert_int_equal(feed_pieces(ingest, lines, strlen(lines), SIZE_MAX, NULL), OK);
    const struct ingest_reject *reject = ingest_rejects(ingest, &rejects);
    if (rejects > 0) {
        fail_msg("%s", reject->reason);
    }
    return ingest_batch_take(ingest);
}

static void write_file(const struct batch *batch, struct buf *out)
{
    const struct parquet_sink sink = {out, write_buf};
    char id[UUID_TEXT_BYTES];
    const struct parquet_key_value pair = {"granary.table_id", uuid_format(&batch->schema->table_id, id)};
    const struct parquet_writer_options options = {.key_values = &pair, .key_value_count = 1};
    struct parquet_writer *made = NULL;
    struct parquet_summary summary = {0};
    struct error err = {0};
    assert_int_equal(parquet_writer_new(batch->schema, &options, &sink, &made, &err), OK);
    AUTO(parquet_writer_free_auto) struct parquet_writer *writer = made;
    assert_int_equal(parquet_writer_append(writer, batch, 0, batch->row_count, &err), OK);
    assert_int_equal(parquet_writer_finish(writer, &summary, &err), OK);
    parquet_summary_done(&summary);
}

/* A file whose first column is "ts", with one more column. */
static void make_file(const struct schema_column *column, const char *lines, struct buf *out)
{
    const struct schema_column columns[] = {{.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP}, *column};
    const struct schema schema = {.version = 1, .column_count = 2, .columns = columns, .sort_key_count = 1};
    AUTO(batch_free_auto) struct batch *batch = decode_lines(&schema, lines);
    write_file(batch, out);
}

static enum err_code decode_file(const struct schema *schema, struct buf *file, const struct ingest_limits *limits,
                                 struct ingest **out, struct error *err)
{
    const struct parquet_source source = {.context = file, .size_bytes = file->length_bytes, .read = read_buf};
    struct ingest *made = NULL;
    TRY(ingest_new_file(schema, &source, limits, &made, err));
    AUTO(ingest_free_auto) struct ingest *ingest = made;
    for (bool more = true; more;) {
        TRY(ingest_read(ingest, &more, err));
    }
    *out = TAKE(ingest);
    return OK;
}

#define T "\"ts\":\"2024-01-01T00:00:00Z\""

static void a_file_of_the_same_columns_gives_the_same_rows(void **state)
{
    (void)state;
    static const char lines[] =
        "{" T
        ",\"b\":true,\"i32\":1,\"i64\":9007199254740993,\"f\":0.1,\"d\":\"NaN\",\"s\":\"\xc3\xa9\",\"by\":\"AGEA\","
        "\"t\":-1,\"day\":\"1969-12-31\",\"dec\":\"-12.34\",\"u\":\"01234567-89ab-cdef-0123-456789abcdef\","
        "\"j\":{\"a\":[1]},\"needed\":true}\n"
        "{" T "}\n"
        "{" T ",\"s\":\"\",\"i64\":5}\n";
    AUTO(batch_free_auto) struct batch *batch = decode_lines(&fixture_schema, lines);
    AUTO(buf_done) struct buf file = {0};
    AUTO(buf_done) struct buf expected = {0};
    const struct ingest_options options = {.format = INGEST_PARQUET};
    write_file(batch, &file);
    assert_int_equal(batch_encode(batch, &expected, NULL), OK);
    for (size_t piece = 0; piece <= file.length_bytes; piece += 1 + piece / 2) { /* 0: read as a file */
        struct ingest *made = NULL;
        struct error err = {0};
        if (piece == 0) {
            assert_int_equal(decode_file(&fixture_schema, &file, &fixture_limits, &made, &err), OK);
        } else {
            assert_int_equal(ingest_new(&fixture_schema, &options, &fixture_limits, &made, &err), OK);
            assert_int_equal(feed_pieces(made, file.data, file.length_bytes, piece, &err), OK);
        }
        AUTO(ingest_free_auto) struct ingest *ingest = made;
        AUTO(buf_done) struct buf found = {0};
        assert_int_equal(ingest_rows_seen(ingest), 3);
        assert_int_equal(batch_encode(ingest_batch(ingest), &found, NULL), OK);
        assert_int_equal(found.length_bytes, expected.length_bytes);
        assert_memory_equal(found.data, expected.data, expected.length_bytes);
    }
}

/* A table with the timestamp and one column of the name of the file's. */
static enum err_code decode_into(const struct schema_column *from, const char *lines, const struct schema_column *to,
                                 struct ingest **out, struct schema **out_schema, struct error *err)
{
    const struct schema_column columns[] = {{.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP}, *to};
    const struct schema built = {.version = 1, .column_count = 2, .columns = columns, .sort_key_count = 1};
    AUTO(buf_done) struct buf file = {0};
    make_file(from, lines, &file);
    assert_int_equal(schema_new(&built, out_schema, err), OK);
    return decode_file(*out_schema, &file, &fixture_limits, out, err);
}

#define FILE_COLUMN(of_type)  .from = {.id = 2, .name = "v", .type = (of_type), .nullable = true}
#define TABLE_COLUMN(of_type) .to = {.id = 9, .name = "v", .type = (of_type), .nullable = true}

static void types_that_hold_every_value_are_taken(void **state)
{
    (void)state;
    static const struct {
        struct schema_column from;
        const char *value;
        struct schema_column to;
        const char *expected;
    } cases[] = {
        {FILE_COLUMN(COLUMN_INT32), "-5", TABLE_COLUMN(COLUMN_INT64), "-5"},
        {FILE_COLUMN(COLUMN_INT32), "-5", TABLE_COLUMN(COLUMN_DOUBLE), "-5"},
        {FILE_COLUMN(COLUMN_FLOAT), "0.5", TABLE_COLUMN(COLUMN_DOUBLE), "0.5"},
        {FILE_COLUMN(COLUMN_STRING), "\"a\"", TABLE_COLUMN(COLUMN_BYTES), "a"},
        {FILE_COLUMN(COLUMN_JSON), "[1]", TABLE_COLUMN(COLUMN_STRING), "[1]"},
        {FILE_COLUMN(COLUMN_DATE), "\"1970-01-02\"", TABLE_COLUMN(COLUMN_TIMESTAMP), "86400000000"},
        {FILE_COLUMN(COLUMN_INT64), "7", TABLE_COLUMN(COLUMN_TIMESTAMP), "7"},
        {FILE_COLUMN(COLUMN_INT64), "-7",
         .to = {.id = 9, .name = "v", .type = COLUMN_TIMESTAMP, .nullable = true, .format = "epoch_ns"}, "-1"},
        {FILE_COLUMN(COLUMN_INT32), "7",
         .to = {.id = 9, .name = "v", .type = COLUMN_TIMESTAMP, .nullable = true, .format = "epoch_s"}, "7000000"},
        {.from = {.id = 2, .name = "v", .type = COLUMN_DECIMAL, .nullable = true, .precision = 5, .scale = 1},
         "-12.3",
         .to = {.id = 9, .name = "v", .type = COLUMN_DECIMAL, .nullable = true, .precision = 9, .scale = 3},
         "-12300"},
        {FILE_COLUMN(COLUMN_INT64), "null", TABLE_COLUMN(COLUMN_TIMESTAMP), "null"},
        {FILE_COLUMN(COLUMN_FLOAT), "null", TABLE_COLUMN(COLUMN_DOUBLE), "null"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ingest *made = NULL;
        struct schema *made_schema = NULL;
        struct error err = {0};
        char lines[256];
        char text[256];
        (void)snprintf(lines, sizeof lines, "{" T ",\"v\":%s}\n", cases[i].value);
        if (decode_into(&cases[i].from, lines, &cases[i].to, &made, &made_schema, &err) != OK) {
            fail_msg("%s: %s", cases[i].value, err.text);
        }
        AUTO(schema_free_auto) struct schema *schema = made_schema;
        AUTO(ingest_free_auto) struct ingest *ingest = made;
        assert_int_equal(ingest_batch(ingest)->row_count, 1);
        value_text(ingest_batch(ingest), 1, 0, text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
}

static void types_that_do_not_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        struct schema_column from, to;
        const char *error;
    } cases[] = {
        {FILE_COLUMN(COLUMN_INT64), TABLE_COLUMN(COLUMN_INT32),
         "expected column \"v\" to be readable as int32 but found int64"},
        {FILE_COLUMN(COLUMN_INT64), TABLE_COLUMN(COLUMN_DOUBLE),
         "expected column \"v\" to be readable as double but found int64"},
        {FILE_COLUMN(COLUMN_DOUBLE), TABLE_COLUMN(COLUMN_FLOAT),
         "expected column \"v\" to be readable as float but found double"},
        {FILE_COLUMN(COLUMN_STRING), TABLE_COLUMN(COLUMN_JSON),
         "expected column \"v\" to be readable as json but found string"},
        {FILE_COLUMN(COLUMN_BYTES), TABLE_COLUMN(COLUMN_STRING),
         "expected column \"v\" to be readable as string but found bytes"},
        {FILE_COLUMN(COLUMN_TIMESTAMP), TABLE_COLUMN(COLUMN_DATE),
         "expected column \"v\" to be readable as date but found timestamp"},
        {FILE_COLUMN(COLUMN_INT64),
         .to = {.id = 9, .name = "v", .type = COLUMN_TIMESTAMP, .nullable = true, .format = "rfc3339"},
         .error = "expected column \"v\" to be readable as timestamp but found int64"},
        {.from = {.id = 2, .name = "v", .type = COLUMN_DECIMAL, .nullable = true, .precision = 9, .scale = 1},
         .to = {.id = 9, .name = "v", .type = COLUMN_DECIMAL, .nullable = true, .precision = 9, .scale = 2},
         .error = "expected column \"v\" to be readable as decimal(9,2) but found decimal(9,1)"},
        {FILE_COLUMN(COLUMN_INT64), .to = {.id = 9, .name = "w", .type = COLUMN_INT64, .nullable = true},
         .error = "expected the file to have columns of the table only but found \"v\""},
        {FILE_COLUMN(COLUMN_INT64), .to = {.id = 9, .name = "v", .type = COLUMN_INT64, .nullable = true}, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ingest *made = NULL;
        struct schema *made_schema = NULL;
        struct error err = {0};
        enum err_code code =
            decode_into(&cases[i].from, "{" T ",\"v\":null}\n", &cases[i].to, &made, &made_schema, &err);
        AUTO(schema_free_auto) struct schema *schema = made_schema;
        AUTO(ingest_free_auto) struct ingest *ingest = made;
        assert_int_equal(code, cases[i].error == NULL ? OK : ERR_INVALID);
        assert_string_equal(err.text, cases[i].error == NULL ? "" : cases[i].error);
    }
}

/* A table of these columns, from a file of those; the timestamp is the first of each. */
static struct ingest *decode_columns(const struct schema *table, const struct schema *file_schema, const char *lines,
                                     enum ingest_unknown unknown, enum err_code expected, struct error *err)
{
    struct ingest_limits limits = fixture_limits;
    struct ingest *ingest = NULL;
    AUTO(buf_done) struct buf file = {0};
    AUTO(batch_free_auto) struct batch *batch = decode_lines(file_schema, lines);
    limits.unknown = unknown;
    write_file(batch, &file);
    assert_int_equal(decode_file(table, &file, &limits, &ingest, err), expected);
    return ingest;
}

static void rows_that_cannot_be_the_table_s_are_rejects(void **state)
{
    (void)state;
    static const struct schema_column file_columns[] = {
        {.id = 1, .name = "at", .type = COLUMN_TIMESTAMP},
        {.id = 2, .name = "ts", .type = COLUMN_TIMESTAMP, .nullable = true},
        {.id = 3, .name = "i64", .type = COLUMN_INT64, .nullable = true},
        {.id = 4, .name = "t", .type = COLUMN_INT64, .nullable = true},
        {.id = 5, .name = "day", .type = COLUMN_DATE, .nullable = true},
    };
    static const struct schema file_schema = {
        .version = 1, .column_count = COUNT(file_columns), .columns = file_columns, .sort_key_count = 1};
    static const char lines[] = "{\"at\":1," T ",\"i64\":1}\n"
                                "{\"at\":2,\"i64\":2}\n"
                                "{\"at\":3,\"ts\":\"1999-12-31T23:59:59Z\",\"i64\":3}\n"
                                "{\"at\":4," T ",\"i64\":4}\n"
                                "{\"at\":5," T ",\"i64\":5,\"t\":253402300800000000}\n"
                                "{\"at\":6," T ",\"i64\":6,\"t\":-1}\n";
    struct error err = {0};
    AUTO(ingest_free_auto)
    struct ingest *ingest = decode_columns(&fixture_schema, &file_schema, lines, INGEST_UNKNOWN_IGNORE, OK, &err);
    AUTO(buf_done) struct buf text = {0};
    describe(ingest, &text);
    assert_string_equal(
        (const char *)text.data,
        "ok 1 null\nok 4 null\nok 6 null\n"
        "2 ts: expected a value but found none | {\"ts\":null,\"i64\":2,\"t\":null,\"day\":null}\n"
        "3 ts: expected a time from 2000-01-01T00:00:00.000000Z to 2099-12-31T23:59:59.999999Z but found "
        "1999-12-31T23:59:59.000000Z | {\"ts\":\"1999-12-31T23:59:59.000000Z\",\"i64\":3,\"t\":null,\"day\":null}\n"
        "5 t: expected a time in the years 0001 to 9999 but found 253402300800000000 | "
        "{\"ts\":\"2024-01-01T00:00:00.000000Z\",\"i64\":5,\"t\":253402300800000000,\"day\":null}\n");
    assert_int_equal(ingest_rows_seen(ingest), 6);
}

/* Bytes that no JSON could have brought into the file. */
static void text_of_strings_and_json_is_looked_at(void **state)
{
    (void)state;
    static const struct schema_column columns[] = {
        {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
        {.id = 2, .name = "s", .type = COLUMN_STRING, .nullable = true},
        {.id = 3, .name = "j", .type = COLUMN_JSON, .nullable = true},
        {.id = 4, .name = "i64", .type = COLUMN_INT64, .nullable = true},
        {.id = 5, .name = "day", .type = COLUMN_DATE, .nullable = true},
    };
    static const struct schema schema = {
        .version = 1, .column_count = COUNT(columns), .columns = columns, .sort_key_count = 1};
    static const struct {
        const char *text, *json;
        int32_t day;
    } rows[] = {{"\xc3\xa9", "{\"a\":1}", 0}, {"a\xc3", "1", 0}, {"\xa9 b", " 2 ", 0},
                {"c", "{\"a\"", 0},           {"d", "1 2", 0},   {"e", "", 0},
                {"f", "3", 2932897}};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(buf_done) struct buf file = {0};
    AUTO(buf_done) struct buf text = {0};
    struct ingest *made = NULL;
    assert_int_equal(batch_new(&schema, 8, &batch, NULL), OK);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, INT64_C(1704067200000000));
        assert_int_equal(batch_set_variable(batch, 1, rows[i].text, strlen(rows[i].text), NULL), OK);
        assert_int_equal(batch_set_variable(batch, 2, rows[i].json, strlen(rows[i].json), NULL), OK);
        batch_set_i64(batch, 3, (int64_t)i);
        batch_set_i32(batch, 4, rows[i].day);
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    write_file(batch, &file);
    assert_int_equal(decode_file(&fixture_schema, &file, &fixture_limits, &made, NULL), OK);
    AUTO(ingest_free_auto) struct ingest *ingest = made;
    static const char *const expected[] = {
        "ok 0 \xc3\xa9\n",
        "2 s: expected UTF-8 but found byte 0xc3 at byte 2 of a text | ",
        "3 s: expected UTF-8 but found byte 0xa9 at byte 1 of a text | ",
        "4 j: expected \":\" but found the end of the row | ",
        "5 j: expected the end of the value but found 2 | ",
        "6 j: expected a JSON value but found the end of the row | ",
        "7 day: expected a date in the years 0001 to 9999 but found day 2932897 | ",
    };
    describe(ingest, &text);
    for (size_t i = 0; i < COUNT(expected); i++) {
        if (strstr((const char *)text.data, expected[i]) == NULL) {
            fail_msg("expected \"%s\" in %s", expected[i], (const char *)text.data);
        }
    }
    assert_int_equal(ingest_batch(ingest)->row_count, 1);
}

static void days_beyond_all_times_are_rejects(void **state)
{
    (void)state;
    static const struct schema_column file_columns[] = {{.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
                                                        {.id = 2, .name = "t", .type = COLUMN_DATE, .nullable = true}};
    static const struct schema file_schema = {
        .version = 1, .column_count = 2, .columns = file_columns, .sort_key_count = 1};
    static const int32_t days[] = {INT32_MIN, -719163, -719162, 2932896, 2932897, INT32_MAX};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(buf_done) struct buf file = {0};
    struct ingest *made = NULL;
    size_t rejects;
    assert_int_equal(batch_new(&file_schema, COUNT(days), &batch, NULL), OK);
    for (size_t i = 0; i < COUNT(days); i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, INT64_C(1704067200000000));
        batch_set_i32(batch, 1, days[i]);
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    write_file(batch, &file);
    assert_int_equal(decode_file(&fixture_schema, &file, &fixture_limits, &made, NULL), OK);
    AUTO(ingest_free_auto) struct ingest *ingest = made;
    const struct ingest_reject *reject = ingest_rejects(ingest, &rejects);
    assert_int_equal(rejects, 4);
    assert_non_null(strstr(reject->reason, "expected a time in the years 0001 to 9999 but found "));
    assert_int_equal(ingest_batch(ingest)->row_count, 2);
    assert_int_equal(ingest_batch(ingest)->columns[TIME].values.i64[0], CLOCK_FIRST_US);
}

/* In 64 bits there is room for more digits than the file says. */
static void decimals_beyond_the_column_s_digits_are_rejects(void **state)
{
    (void)state;
    static const struct schema_column file_columns[] = {
        {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
        {.id = 2, .name = "dec", .type = COLUMN_DECIMAL, .nullable = true, .precision = 3, .scale = 1}};
    static const struct schema file_schema = {
        .version = 1, .column_count = 2, .columns = file_columns, .sort_key_count = 1};
    static const int64_t unscaled[] = {-999, 99999999, 100000000, INT64_MIN, INT64_MAX};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(buf_done) struct buf file = {0};
    struct ingest *made = NULL;
    size_t rejects;
    assert_int_equal(batch_new(&file_schema, COUNT(unscaled), &batch, NULL), OK);
    for (size_t i = 0; i < COUNT(unscaled); i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, INT64_C(1704067200000000));
        batch_set_i64(batch, 1, unscaled[i]);
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    write_file(batch, &file);
    assert_int_equal(decode_file(&fixture_schema, &file, &fixture_limits, &made, NULL), OK);
    AUTO(ingest_free_auto) struct ingest *ingest = made;
    const struct ingest_reject *reject = ingest_rejects(ingest, &rejects);
    assert_int_equal(rejects, 3);
    assert_string_equal(reject->column, "dec");
    assert_string_equal(reject->reason, "expected a number within the range of decimal(9,2) but found 100000000e-1");
    assert_int_equal(ingest_batch(ingest)->row_count, 2);
    assert_int_equal(ingest_batch(ingest)->columns[DECIMAL].values.i64[0], -9990);
    assert_int_equal(ingest_batch(ingest)->columns[DECIMAL].values.i64[1], 999999990);
}

static void files_of_the_table_itself_meet_it_by_column_ids(void **state)
{
    (void)state;
    static const struct schema_column before[] = {{.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
                                                  {.id = 2, .name = "old", .type = COLUMN_INT32, .nullable = true}};
    static const struct schema_column after[] = {{.id = 2, .name = "new", .type = COLUMN_INT64, .nullable = true},
                                                 {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
                                                 {.id = 3, .name = "old", .type = COLUMN_INT32, .nullable = true}};
    static const char lines[] = "{" T ",\"old\":7}\n";
    for (int same = 0; same <= 1; same++) {
        const struct schema file_schema = {
            .table_id = {{1}}, .version = 1, .column_count = 2, .columns = before, .sort_key_count = 1};
        const struct schema built = {.table_id = {{same != 0 ? 1 : 2}},
                                     .version = 2,
                                     .column_count = 3,
                                     .columns = after,
                                     .timestamp_column = 1,
                                     .sort_key_count = 1,
                                     .sort_keys = {{.column = 1}}};
        AUTO(schema_free_auto) struct schema *table = NULL;
        struct error err = {0};
        assert_int_equal(schema_new(&built, &table, NULL), OK);
        AUTO(ingest_free_auto)
        struct ingest *ingest = decode_columns(table, &file_schema, lines, INGEST_UNKNOWN_REJECT, OK, &err);
        const struct batch *batch = ingest_batch(ingest);
        assert_int_equal(column_is_null(&batch->columns[0], 0), same == 0);
        assert_int_equal(column_is_null(&batch->columns[2], 0), same != 0);
    }
}

static void a_file_without_what_the_table_needs_is_refused(void **state)
{
    (void)state;
    static const struct schema_column columns[] = {{.id = 1, .name = "at", .type = COLUMN_TIMESTAMP},
                                                   {.id = 2, .name = "i64", .type = COLUMN_INT64, .nullable = true}};
    static const struct schema file_schema = {.version = 1, .column_count = 2, .columns = columns, .sort_key_count = 1};
    struct error err = {0};
    assert_null(
        decode_columns(&fixture_schema, &file_schema, "{\"at\":1}\n", INGEST_UNKNOWN_IGNORE, ERR_INVALID, &err));
    assert_string_equal(err.text, "expected column \"ts\", which must not be null, but the file lacks it");
}

static void bodies_that_are_no_file_or_too_much_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum err_code code;
    } cases[] = {{"", ERR_CORRUPT}, {"not a file at all, but long enough for one", ERR_CORRUPT}};
    const struct ingest_options options = {.format = INGEST_PARQUET};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(ingest_free_auto) struct ingest *ingest = new_ingest(INGEST_PARQUET, INGEST_PLAIN, &fixture_limits);
        struct error err = {0};
        assert_int_equal(feed_pieces(ingest, cases[i].body, strlen(cases[i].body), 5, &err), cases[i].code);
        assert_int_equal(ingest_rows_seen(ingest), 0);
        assert_int_equal(ingest_feed(ingest, "x", 1, &err), ERR_INVALID);
    }
    struct ingest_limits limits = fixture_limits;
    AUTO(buf_done) struct buf lines = {0};
    AUTO(buf_done) struct buf file = {0};
    struct ingest *made = NULL;
    struct error err = {0};
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(buf_append_text(&lines, "{" T ",\"i64\":7}\n", NULL), OK);
    }
    make_file(&fixture_columns[I64], buf_text(&lines), &file);
    limits.max_decoded_bytes = file.length_bytes;
    assert_int_equal(ingest_new(&fixture_schema, &options, &limits, &made, NULL), OK);
    AUTO(ingest_free_auto) struct ingest *ingest = made;
    assert_int_equal(feed_pieces(ingest, file.data, file.length_bytes, SIZE_MAX, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "expected rows of at most"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_the_same_columns_gives_the_same_rows),
        cmocka_unit_test(types_that_hold_every_value_are_taken),
        cmocka_unit_test(types_that_do_not_are_refused_by_name),
        cmocka_unit_test(rows_that_cannot_be_the_table_s_are_rejects),
        cmocka_unit_test(text_of_strings_and_json_is_looked_at),
        cmocka_unit_test(days_beyond_all_times_are_rejects),
        cmocka_unit_test(decimals_beyond_the_column_s_digits_are_rejects),
        cmocka_unit_test(files_of_the_table_itself_meet_it_by_column_ids),
        cmocka_unit_test(a_file_without_what_the_table_needs_is_refused),
        cmocka_unit_test(bodies_that_are_no_file_or_too_much_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
