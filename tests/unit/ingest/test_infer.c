#include "common/ingest/infer.h"

#include "common/parquet/sink.h"
#include "common/parquet/writer.h"
#include "tests/unit/ingest/fixture.h"

/* "name type[ format]" of each column, the timestamp column marked with '*'. */
static void describe_proposal(const struct infer_proposal *proposal, struct buf *out)
{
    buf_clear(out);
    for (size_t i = 0; i < proposal->column_count; i++) {
        const struct infer_column *column = &proposal->columns[i];
        const struct schema_column shown = {
            .type = column->type, .precision = column->precision, .scale = column->scale};
        char type[COLUMN_TYPE_TEXT_BYTES];
        assert_int_equal(column->nullable, i != proposal->timestamp_column);
        assert_true(strlen(column->why) > 0);
        assert_int_equal(buf_printf(out, NULL, "%s%s %s%s%s\n", i == proposal->timestamp_column ? "*" : "",
                                    column->name, column_type_format(&shown, type), column->format == NULL ? "" : " ",
                                    column->format == NULL ? "" : column->format),
                         OK);
    }
    assert_non_null(buf_text(out));
}

/* The sample lies in memory of its own so that a step beyond is seen. */
static enum err_code infer(const struct infer_options *options, const char *sample, struct infer_proposal *out,
                           struct error *err)
{
    size_t length = strlen(sample);
    AUTO(free_auto) char *copy = malloc(length + 1);
    memcpy(copy, sample, length);
    return infer_sample(options, copy, length, out, err);
}

static const struct infer_options csv = {.ingest = {.format = INGEST_CSV}, .is_whole = true};
static const struct infer_options ndjson = {.ingest = {.format = INGEST_NDJSON}, .is_whole = true};

static void columns_get_the_type_that_all_their_values_have(void **state)
{
    (void)state;
    static const struct {
        struct infer_options options;
        const char *sample, *expected;
    } cases[] = {
        {{.ingest = {.format = INGEST_NDJSON}, .is_whole = true},
         "{\"id\":1,\"ts\":\"2024-01-01T00:00:00Z\",\"d\":1,\"b\":true,\"u\":\"01234567-89ab-cdef-0123-456789abcdef\","
         "\"n\":null,\"o\":{\"a\":1},\"m\":1,\"day\":\"2024-01-01\",\"z\":\"007\",\"w\":99999999999999999999}\n"
         "{\"id\":2,\"ts\":\"2024-01-01 00:00:00.5\",\"d\":1.5,\"b\":null,\"u\":null,\"o\":[],\"m\":\"x\","
         "\"day\":\"2024-01-02\",\"z\":\"1\",\"w\":1,\"late one\":\"x\"}\n",
         "id int64\n*ts timestamp\nd double\nb bool\nu uuid\nn string\no json\nm json\nday date\nz string\nw double\n"
         "late_one string\n"},
        {{.ingest = {.format = INGEST_JSON_ARRAY}, .is_whole = true},
         "[{\"when\":\"2024-01-01T00:00:00Z\",\"x\":1},{\"x\":2,\"when\":\"2024-01-01T00:00:00Z\"}]",
         "*when timestamp\nx int64\n"},
        {{.ingest = {.format = INGEST_CSV}, .is_whole = true},
         "\xef\xbb\xbf"
         "Flight Date,n,r,zip,flag,id,text,empty,dmy,both,words\r\n"
         "1/8/90 0:00,1,1.5,01234,true,01234567-89ab-cdef-0123-456789abcdef,\"a,\nb\",,31.01.2024,1/2/2024,NaN\r\n"
         "12/31/90 23:59,-2,,99999,FALSE,,1,,01.02.2024,3/4/2024,inf\r\n",
         "*Flight_Date timestamp strftime:%m/%d/%y %H:%M\nn int64\nr double\nzip string\nflag bool\nid uuid\n"
         "text string\nempty string\ndmy date strftime:%d.%m.%Y\nboth string\nwords string\n"},
        {{.ingest = {.format = INGEST_CSV, .csv = {.has_no_header = true, .delimiter = ';', .null_text = "NA"}},
          .is_whole = true},
         "2024-01-01;5;NA\n2024-01-02;NA;1.5\n",
         "*column_1 timestamp\ncolumn_2 int64\ncolumn_3 double\n"},
        /* the last row is cut, and not looked at */
        {{.ingest = {.format = INGEST_CSV}},
         "ts,n\n2024-01-01T00:00:00,5\n2024-01-01T00:00:00,x",
         "*ts timestamp\nn int64\n"},
        /* zeros in front would be lost, whichever value comes first; those behind a point do no harm */
        {{.ingest = {.format = INGEST_CSV}, .is_whole = true},
         "ts,a,b,c,d,e,f\n2024-01-01,007,1.5,-00.5,0.5,+5,+1.5\n2024-01-01,1.5,007,1,-0,5,2\n",
         "*ts timestamp\na string\nb string\nc string\nd double\ne string\nf double\n"},
        /* only nulls, only empty texts */
        {{.ingest = {.format = INGEST_CSV}, .is_whole = true},
         "ts,a,b\n2024-01-01,,\"\"\n2024-01-01,,\n",
         "*ts timestamp\na string\nb string\n"},
        {{.ingest = {.format = INGEST_NDJSON}, .is_whole = true},
         "{\"ts\":\"2024-01-01\",\"a\":null,\"b\":9007199254740993,\"c\":1,\"d\":\"\"}\n"
         "{\"ts\":\"2024-01-01T00:00:00\",\"a\":null,\"b\":0.5,\"c\":9223372036854775807}\n",
         "*ts timestamp\na string\nb double\nc int64\nd string\n"},
        /* a name that says so goes before a place */
        {{.ingest = {.format = INGEST_CSV}, .is_whole = true},
         "seen,Time\n2024-01-01T00:00:00Z,2024-01-01T00:00:00Z\n",
         "seen timestamp\n*Time timestamp\n"},
        /* one that is null sometimes cannot be it */
        {{.ingest = {.format = INGEST_CSV}, .is_whole = true},
         "ts,seen\n2024-01-01T00:00:00Z,2024-01-01T00:00:00Z\n,2024-01-01T00:00:00Z\n",
         "ts timestamp\n*seen timestamp\n"},
        {{.ingest = {.format = INGEST_CSV}, .is_whole = true, .timestamp = "seen"},
         "ts,seen\n2024-01-01T00:00:00Z,1709204400\n2024-01-01T00:00:00Z,1709204401\n",
         "ts timestamp\n*seen timestamp epoch_s\n"},
        {{.ingest = {.format = INGEST_NDJSON}, .is_whole = true},
         "{\"n\":1709204400000,\"time\":1709204400000}\n",
         "n int64\n*time timestamp epoch_ms\n"},
        {{.ingest = {.format = INGEST_NDJSON}, .is_whole = true},
         "{\"at\":\"10/Oct/2000:13:55:36 -0700\"}\n",
         "*at timestamp strftime:%d/%b/%Y:%H:%M:%S %z\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(infer_proposal_done) struct infer_proposal proposal = {0};
        AUTO(buf_done) struct buf text = {0};
        struct error err = {0};
        if (infer(&cases[i].options, cases[i].sample, &proposal, &err) != OK) {
            fail_msg("%s: %s", cases[i].sample, err.text);
        }
        describe_proposal(&proposal, &text);
        assert_string_equal((const char *)text.data, cases[i].expected);
        assert_null(proposal.note);
    }
}

static void what_a_double_would_round_is_said(void **state)
{
    (void)state;
    static const struct {
        const struct infer_options *options;
        const char *sample, *why;
    } cases[] = {
        {&ndjson, "{\"ts\":\"2024-01-01\",\"n\":9007199254740993}\n{\"ts\":\"2024-01-01\",\"n\":0.5}\n",
         "all 2 values are numbers, some of them integers beyond 2^53, which a double rounds"},
        {&csv, "ts,n\n2024-01-01,0.5\n2024-01-01,-9007199254740993\n",
         "all 2 values are numbers, some of them integers beyond 2^53, which a double rounds"},
        {&csv, "ts,n\n2024-01-01,0.5\n2024-01-01,9007199254740992\n", "all 2 values are numbers"},
        {&csv, "ts,n\n2024-01-01,5\n2024-01-01,99999999999999999999\n",
         "all 2 values are integers, some beyond 64 bits, which a double rounds"},
        {&csv, "ts,n\n2024-01-01,00.5\n",
         "all 1 values are digits, some with a leading zero or plus that a number would lose"},
        {&csv, "ts,n\n2024-01-01,\n", "nothing is known: none of the rows has a value (0)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(infer_proposal_done) struct infer_proposal proposal = {0};
        assert_int_equal(infer(cases[i].options, cases[i].sample, &proposal, NULL), OK);
        assert_string_equal(proposal.columns[1].why, cases[i].why);
    }
}

static void what_cannot_be_a_table_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const struct infer_options *options;
        const char *timestamp, *sample, *error;
    } cases[] = {
        {&ndjson, NULL, "", "expected at least one row but found none"},
        {&csv, NULL, "ts,n\n", "expected at least one row but found none"},
        {&csv, NULL, "ts,n\r2024-01-01,5\r",
         "expected at least one row but found none; hint: lines end in LF or CR LF, and not in CR alone"},
        {&ndjson, NULL, "oops\nagain\n", "could not read a single row: expected an object but found oops"},
        {&ndjson, NULL, "{\"a\":1}\n",
         "expected a column of times that is never null but found none; hint: name the column with --timestamp, or "
         "write "
         "the table's columns yourself"},
        {&ndjson, "b", "{\"a\":1}\n", "expected a column \"b\" but found none of that name"},
        {&ndjson, "a", "{\"a\":1}\n",
         "expected column \"a\" to hold times in one format but found int64: all 1 values are integers"},
        {&csv, "a", "a\n1/2/2024\n",
         "expected column \"a\" to hold times in one format but found string: all 1 values are times, but day and "
         "month "
         "could change places; hint: name the format"},
        {&csv, NULL, "a b,a-b\n1,2\n",
         "expected names that make different columns but \"a-b\" and \"a b\" are both a_b"},
        {&csv, NULL, "a\"b\n1\n",
         "could not read the header: expected quotes around a whole field, or doubled inside one"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct infer_options options = *cases[i].options;
        struct infer_proposal proposal = {0};
        struct error err = {0};
        options.timestamp = cases[i].timestamp;
        assert_int_equal(infer(&options, cases[i].sample, &proposal, &err), ERR_INVALID);
        assert_string_equal(err.text, cases[i].error);
        assert_null(proposal.arena);
    }
}

static void broken_rows_are_left_out_and_said_so(void **state)
{
    (void)state;
    AUTO(infer_proposal_done) struct infer_proposal proposal = {0};
    struct error err = {0};
    assert_int_equal(infer(&csv, "ts,n\n2024-01-01,1\n2024-01-02\n", &proposal, &err), OK);
    assert_int_equal(proposal.rows, 1);
    assert_string_equal(proposal.note, "left out 1 broken rows, the first because: expected 2 fields but found 1");
}

static enum err_code write_buf(void *context, const void *data, size_t length, struct error *err)
{
    return buf_append(context, data, length, err);
}

static void parquet_says_itself_what_it_holds(void **state)
{
    (void)state;
    static const struct schema_column columns[] = {
        {.id = 1, .name = "n", .type = COLUMN_INT64, .nullable = true},
        {.id = 2, .name = "price", .type = COLUMN_DECIMAL, .nullable = true, .precision = 9, .scale = 2},
        {.id = 3, .name = "seen", .type = COLUMN_TIMESTAMP},
    };
    static const struct schema schema = {.version = 1,
                                         .column_count = COUNT(columns),
                                         .columns = columns,
                                         .timestamp_column = 2,
                                         .sort_key_count = 1,
                                         .sort_keys = {{.column = 2}}};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    AUTO(buf_done) struct buf file = {0};
    AUTO(buf_done) struct buf text = {0};
    AUTO(infer_proposal_done) struct infer_proposal proposal = {0};
    AUTO(infer_proposal_done) struct infer_proposal named = {0};
    const struct parquet_sink sink = {&file, write_buf};
    struct parquet_writer *made = NULL;
    struct parquet_summary summary = {0};
    struct error err = {0};
    assert_int_equal(batch_new(&schema, 1, &batch, NULL), OK);
    assert_int_equal(batch_row_begin(batch, NULL), OK);
    batch_set_i64(batch, 0, 1709204400);
    batch_set_i64(batch, 2, 5);
    assert_int_equal(batch_row_end(batch, NULL), OK);
    assert_int_equal(parquet_writer_new(&schema, NULL, &sink, &made, NULL), OK);
    AUTO(parquet_writer_free_auto) struct parquet_writer *writer = made;
    assert_int_equal(parquet_writer_append(writer, batch, 0, 1, NULL), OK);
    assert_int_equal(parquet_writer_finish(writer, &summary, NULL), OK);
    parquet_summary_done(&summary);
    struct infer_options options = {.ingest = {.format = INGEST_PARQUET}, .is_whole = true};
    assert_int_equal(infer_sample(&options, file.data, file.length_bytes, &proposal, &err), OK);
    describe_proposal(&proposal, &text);
    assert_string_equal((const char *)text.data, "n int64\nprice decimal(9,2)\n*seen timestamp\n");
    assert_int_equal(proposal.rows, 1);
    options.timestamp = "n";
    assert_int_equal(infer_sample(&options, file.data, file.length_bytes, &named, &err), OK);
    describe_proposal(&named, &text);
    assert_string_equal((const char *)text.data, "*n timestamp epoch_s\nprice decimal(9,2)\nseen timestamp\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_get_the_type_that_all_their_values_have),
        cmocka_unit_test(what_a_double_would_round_is_said),
        cmocka_unit_test(what_cannot_be_a_table_is_an_error),
        cmocka_unit_test(broken_rows_are_left_out_and_said_so),
        cmocka_unit_test(parquet_says_itself_what_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
