#include <math.h>

#include "common/rows/predicate.h"
#include "tests/unit/rows/fixture.h"

enum { TS, I, D, S, DEC, U, BY, B, DAY, F, AND, COLUMNS, ROWS = 6 };

static const struct schema_column columns[COLUMNS] = {
    [TS] = {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    [I] = {.id = 2, .name = "i", .type = COLUMN_INT32, .nullable = true},
    [D] = {.id = 3, .name = "d", .type = COLUMN_DOUBLE, .nullable = true},
    [S] = {.id = 4, .name = "s", .type = COLUMN_STRING, .nullable = true},
    [DEC] = {.id = 5, .name = "price", .type = COLUMN_DECIMAL, .nullable = true, .precision = 9, .scale = 2},
    [U] = {.id = 6, .name = "u", .type = COLUMN_UUID, .nullable = true},
    [BY] = {.id = 7, .name = "by_", .type = COLUMN_BYTES, .nullable = true},
    [B] = {.id = 8, .name = "b", .type = COLUMN_BOOL, .nullable = true},
    [DAY] = {.id = 9, .name = "day", .type = COLUMN_DATE, .nullable = true},
    [F] = {.id = 10, .name = "f", .type = COLUMN_FLOAT, .nullable = true},
    [AND] = {.id = 11, .name = "and", .type = COLUMN_INT64, .nullable = true},
};
static const struct schema schema = {
    .version = 1, .column_count = COLUMNS, .columns = columns, .timestamp_column = TS, .sort_key_count = 1};

/* Row 2 is null in all but the timestamp. */
static const struct {
    int64_t ts;
    int32_t i;
    double d;
    const char *s;
    int64_t dec;
    bool b;
    int32_t day;
} rows[ROWS] = {
    {0, 1, 1.5, "a", 100, true, 0},
    {1000000, 2, NAN, "it's", 250, false, 1},
    {2000000, 0, 0, NULL, 0, false, 0},
    {3000000, -5, -0.0, "", -100, true, -1},
    {4000000, INT32_MAX, INFINITY, "b", 999999999, false, 20000},
    {5000000, 2, 1e300, "a longer text of more than sixty-four bytes, so that its bounds must be cut", 0, true, 1},
};

static struct batch *make_batch(uint32_t first, uint32_t end)
{
    struct batch *batch = NULL;
    assert_int_equal(batch_new(&schema, 0, &batch, NULL), OK);
    for (uint32_t r = first; r < end; r++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, TS, rows[r].ts);
        if (rows[r].s != NULL) {
            struct uuid uuid = {{(uint8_t)r}};
            batch_set_i32(batch, I, rows[r].i);
            batch_set_double(batch, D, rows[r].d);
            assert_int_equal(batch_set_variable(batch, S, rows[r].s, strlen(rows[r].s), NULL), OK);
            batch_set_i64(batch, DEC, rows[r].dec);
            batch_set_uuid(batch, U, &uuid);
            assert_int_equal(batch_set_variable(batch, BY, "\x00\xff", r % 3, NULL), OK);
            batch_set_bool(batch, B, rows[r].b);
            batch_set_i32(batch, DAY, rows[r].day);
            batch_set_float(batch, F, 0.1F * (float)r);
            batch_set_i64(batch, AND, r);
        }
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    return batch;
}

static struct predicate *parsed(const char *text)
{
    struct predicate *predicate = NULL;
    struct error err = {0};
    if (predicate_parse(text, strlen(text), &schema, &predicate, &err) != OK) {
        fail_msg("%s: %s", text, err.text);
    }
    return predicate;
}

/* "101000": a character for each row. */
static void selection(const char *text, const struct batch *batch, char out[ROWS + 1])
{
    AUTO(predicate_free_auto) struct predicate *predicate = parsed(text);
    uint8_t selected[ROWS];
    assert_int_equal(predicate_evaluate(predicate, batch, selected, NULL), OK);
    for (uint32_t i = 0; i < batch->row_count; i++) {
        assert_true(selected[i] <= 1);
        out[i] = (char)('0' + selected[i]);
    }
    out[batch->row_count] = '\0';
}

static const struct {
    const char *text;
    const char *expected;
} cases[] = {
    {"i = 2", "010001"},
    {"i != 2", "100110"},
    {"i < 2", "100100"},
    {"i <= 2", "110101"},
    {"i > 2", "000010"},
    {"i >= 2", "010011"},
    {"i >= 2147483648", "000000"},
    {"i < 9223372036854775807", "110111"},
    {"i > -9223372036854775808", "110111"},
    {"not i = 2", "100110"},
    {"not not i = 2", "010001"},
    {"i is null", "001000"},
    {"i IS NOT NULL", "110111"},
    {"not i is null", "110111"},
    {"i in (1, 2)", "110001"},
    {"i not in (1, 2)", "000110"},
    {"NOT i IN (1, 2)", "000110"},
    {"i=1 or i=2", "110001"},
    {"i = 2 and s = 'it''s'", "010000"},
    {"i = 1 or i = 2 and b = true", "100001"},
    {"(i = 1 or i = 2) and b = true", "100001"},
    {"(i = 1 or i = 2) and b != true", "010000"},
    {"not (i = 1 or s = 'b')", "010101"},
    {"not (i = 2 and b = true)", "110110"},
    {"d = 1.5", "100000"},
    {"d = 0", "000100"},
    {"d < 1e300", "100100"},
    {"d != 1.5", "010111"},
    {"not d < 2", "010011"},
    {"d > 1e400", "000000"},
    {"f = 0.1", "010000"},
    {"s = ''", "000100"},
    {"s > 'a'", "010011"},
    {"s >= 'a' and s < 'b'", "100001"},
    {"s in ('a', 'b', 'c')", "100010"},
    {"price = 1", "100000"},
    {"price < '2.50'", "100101"},
    {"price = 2.5000", "010000"},
    {"price <= 99999999999", "110111"},
    {"u = '04000000-0000-0000-0000-000000000000'", "000010"},
    {"u > '03000000-0000-0000-0000-000000000000'", "000011"},
    {"by_ = '00'", "010010"},
    {"by_ = '00FF'", "000001"},
    {"b = false", "010010"},
    {"day = '1970-01-02'", "010001"},
    {"day < '1970-01-01'", "000100"},
    {"ts >= '1970-01-01T00:00:03Z'", "000111"},
    {"ts >= '1970-01-01 00:00:02.999999000'", "000111"},
    {"ts < 3000000", "111000"},
    {"ts in ('1970-01-01', 5000000)", "100001"},
    {"\"and\" = 3", "000100"},
    {"\"and\" > 3 and \"i\" = 2", "000001"},
};

static void predicates_select_their_rows(void **state)
{
    (void)state;
    AUTO(batch_free_auto) struct batch *batch = make_batch(0, ROWS);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char found[ROWS + 1];
        selection(cases[i].text, batch, found);
        if (strcmp(found, cases[i].expected) != 0) {
            fail_msg("%s: expected %s but found %s", cases[i].text, cases[i].expected, found);
        }
    }
}

enum { TEXT_BYTES = 256 };

static void join(size_t form, const char *left, const char *right, char text[TEXT_BYTES])
{
    switch (form) {
    case 0: (void)snprintf(text, TEXT_BYTES, "%s", left); break;
    case 1: (void)snprintf(text, TEXT_BYTES, "not (%s or %s)", left, right); break;
    default: (void)snprintf(text, TEXT_BYTES, "not (%s) and (%s)", left, right); break;
    }
}

/* For every range of rows and every predicate, alone and joined: statistics never rule out a row that matches. They do
 * rule out most ranges where none does. */
static void statistics_never_rule_out_a_match(void **state)
{
    (void)state;
    size_t ruled_out = 0;
    size_t needless = 0;
    for (uint32_t first = 0; first < ROWS; first++) {
        for (uint32_t end = first + 1; end <= ROWS; end++) {
            AUTO(batch_free_auto) struct batch *batch = make_batch(first, end);
            struct column_stats stats[COLUMNS];
            for (size_t c = 0; c < COLUMNS; c++) {
                column_stats_init(&stats[c], &columns[c]);
                column_stats_update(&stats[c], &batch->columns[c], 0, end - first);
            }
            for (size_t n = 0; n < 3 * COUNT(cases); n++) {
                const char *left = cases[n % COUNT(cases)].text;
                const char *right = cases[(n * 7 + first) % COUNT(cases)].text;
                char text[TEXT_BYTES];
                char found[ROWS + 1];
                join(n / COUNT(cases), left, right, text);
                AUTO(predicate_free_auto) struct predicate *predicate = parsed(text);
                selection(text, batch, found);
                bool may = predicate_may_match(predicate, stats, COLUMNS, end - first);
                bool does = strchr(found, '1') != NULL;
                if (does && !may) {
                    fail_msg("%s: rows %u to %u match but were ruled out", text, first, end);
                }
                ruled_out += !may;
                needless += may && !does;
                assert_true(predicate_may_match(predicate, NULL, 0, end - first)); /* in doubt without any */
            }
        }
    }
    assert_true(ruled_out > needless);
}

static void wrong_predicates_say_what_was_expected_and_where(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error;
    } wrong[] = {
        {"", "expected a column at character 1 but found the end"},
        {"b", "expected an operator (= != < <= > >=), \"is\" or \"in\" at character 2 but found the end"},
        {"i =", "expected a value at character 4 but found the end"},
        {"i = 1 2", "expected \"and\", \"or\" or the end at character 7 but found \"2\""},
        {"x = 1", "expected a column of the table at character 1 but found \"x\""},
        {"5 = i", "expected a column at character 1 but found \"5\""},
        {"(i = 1", "expected \"and\", \"or\" or \")\" at character 7 but found the end"},
        {"i in 1", "expected \"(\" at character 6 but found \"1\""},
        {"i in ()", "expected a value at character 7 but found \")\""},
        {"i in (1", "expected \",\" or \")\" at character 8 but found the end"},
        {"i not 1", "expected \"in\" at character 7 but found \"1\""},
        {"i is 1", "expected \"null\" at character 6 but found \"1\""},
        {"i = 'x'", "expected an integer of at most 64 bits for column \"i\" of type int32 but found 'x'"},
        {"i = 1.5", "expected an integer of at most 64 bits for column \"i\" of type int32 but found 1.5"},
        {"i = 9223372036854775808", "expected an integer of at most 64 bits"},
        {"i = null", "expected an integer of at most 64 bits for column \"i\" of type int32 but found null"},
        {"s = 5", "expected a text in quotes for column \"s\" of type string but found 5"},
        {"s = 'open", "expected a value at character 5 but found \"'open\""},
        {"d = '1'", "expected a number for column \"d\""},
        {"price = 1.005", "expected a number that needs no rounding for column \"price\" of type decimal(9,2)"},
        {"b = 1", "expected true or false for column \"b\" of type bool but found 1"},
        {"u = '12'", "expected a UUID in quotes"},
        {"by_ = '123'", "expected bytes in hex, in quotes,"},
        {"by_ = '1g'", "expected bytes in hex, in quotes,"},
        {"day = '2024-02-30'", "expected a date such as '2026-11-30'"},
        {"ts = 'now'", "expected a time such as"},
        {"ts = '2026-11-30 01:02:03 CET'", "expected an offset such as Z or +01:00"},
        {"ts > '1970-01-01T00:00:00.0000001Z'", "expected a time in whole microseconds"},
        {"ts = '2026-02-30'", "expected a day and a time of day that exist"},
        {"i ; 1", "expected an operator (= != < <= > >=), \"is\" or \"in\" at character 3 but found \";\""},
        {"and = 1", NULL},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        AUTO(predicate_free_auto) struct predicate *predicate = NULL;
        struct error err = {0};
        enum err_code code = predicate_parse(wrong[i].text, strlen(wrong[i].text), &schema, &predicate, &err);
        if (wrong[i].error == NULL) {
            assert_int_equal(code, OK);
            continue;
        }
        assert_int_equal(code, ERR_INVALID);
        assert_null(predicate);
        if (strstr(err.text, wrong[i].error) == NULL) {
            fail_msg("%s: expected \"%s\" but found \"%s\"", wrong[i].text, wrong[i].error, err.text);
        }
    }
}

static void predicates_beyond_the_limits_are_refused(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf text = {0};
    struct predicate *predicate = NULL;
    struct error err = {0};
    for (int i = 0; i < 65; i++) {
        assert_int_equal(buf_append_text(&text, "not ", NULL), OK);
    }
    assert_int_equal(buf_append_text(&text, "i = 1", NULL), OK);
    assert_int_equal(predicate_parse((char *)text.data, text.length_bytes, &schema, &predicate, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected at most 64 levels of parentheses and \"not\"");
    buf_clear(&text);
    assert_int_equal(buf_append_text(&text, "i in (1", NULL), OK);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(buf_append_text(&text, ",1", NULL), OK);
    }
    assert_int_equal(buf_append_text(&text, ")", NULL), OK);
    assert_int_equal(predicate_parse((char *)text.data, text.length_bytes, &schema, &predicate, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "at most 1000"));
    while (text.length_bytes <= 64 << 10) {
        assert_int_equal(buf_append_byte(&text, ' ', NULL), OK);
    }
    assert_int_equal(predicate_parse((char *)text.data, text.length_bytes, &schema, &predicate, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "at most 65536 bytes"));
    assert_null(predicate);
}

static void columns_are_met_by_id_whatever_the_version(void **state)
{
    (void)state;
    static const struct schema_column other[] = {
        {.id = 2, .name = "renamed", .type = COLUMN_INT64, .nullable = true},
        {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
        {.id = 4, .name = "s", .type = COLUMN_BYTES, .nullable = true},
    };
    struct schema later = {.version = 2, .column_count = 3, .columns = other, .timestamp_column = 1};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    assert_int_equal(batch_new(&later, 0, &batch, NULL), OK);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(batch_row_begin(batch, NULL), OK);
        batch_set_i64(batch, 0, i);
        batch_set_i64(batch, 1, i);
        assert_int_equal(batch_row_end(batch, NULL), OK);
    }
    char found[ROWS + 1];
    selection("i = 2", batch, found);
    assert_string_equal(found, "001");
    selection("d = 2 or b != true", batch, found); /* columns that the rows lack are null */
    assert_string_equal(found, "000");
    selection("d is null and not b is not null", batch, found);
    assert_string_equal(found, "111");
    AUTO(predicate_free_auto) struct predicate *predicate = parsed("s = 'x'");
    struct error err = {0};
    uint8_t selected[3];
    assert_int_equal(predicate_evaluate(predicate, batch, selected, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected column \"s\" to be comparable as string but found bytes");
}

static void the_columns_that_are_read_are_known(void **state)
{
    (void)state;
    AUTO(predicate_free_auto) struct predicate *predicate = parsed("not (i = 1 or s is null) and d in (1)");
    bool needed[COLUMNS] = {false};
    predicate_columns(predicate, needed);
    for (size_t c = 0; c < COLUMNS; c++) {
        assert_int_equal(needed[c], c == I || c == S || c == D);
        const struct schema_column *read = predicate_column(predicate, columns[c].id);
        assert_int_equal(read != NULL, needed[c]);
        assert_true(read == NULL || strcmp(read->name, columns[c].name) == 0);
    }
}

/* What is asked of one that knows every value: how often, and of which bytes the last time. */
struct knower {
    int asked;
    size_t length;
    uint8_t value[16];
};

static bool holds_nothing(void *context, const struct schema_column *column, const void *value, size_t length)
{
    struct knower *knower = context;
    (void)column;
    knower->asked++;
    knower->length = length;
    memcpy(knower->value, value, length < sizeof knower->value ? length : sizeof knower->value);
    return false;
}

static void who_knows_the_values_is_asked_where_only_one_will_do(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool may;
        int asked;
        size_t length;
    } questions[] = {
        {"i = 7", false, 1, 4},
        {"s = 'abc'", false, 1, 3},
        {"d = 0.5", false, 1, 8},
        {"f = 0.5", false, 1, 4},
        {"day = '1970-01-05'", false, 1, 4},
        {"i in (7, 8, 9)", false, 3, 4},
        {"i = 7 or s = 'abc'", false, 2, 3},
        {"d = 0.0", true, 0, 0}, /* minus zero is equal, and other bytes */
        {"b = true", true, 0, 0},
        {"i != 7", true, 0, 0},
        {"not (i = 7)", true, 0, 0},
        {"i < 7", true, 0, 0},
        {"i in (7) or i > 5", true, 1, 4},
    };
    struct column_stats stats[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
        column_stats_init(&stats[c], &columns[c]);
    }
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        AUTO(predicate_free_auto) struct predicate *predicate = parsed(questions[i].text);
        struct knower knower = {0};
        const struct predicate_evidence evidence = {
            .stats = stats, .stats_count = COLUMNS, .row_count = 10, .may_contain = holds_nothing, .context = &knower};
        if (predicate_may_match_evidence(predicate, &evidence) != questions[i].may ||
            knower.asked != questions[i].asked || knower.length != questions[i].length) {
            fail_msg("%s: asked %d times, of %zu bytes", questions[i].text, knower.asked, knower.length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicates_select_their_rows),
        cmocka_unit_test(statistics_never_rule_out_a_match),
        cmocka_unit_test(wrong_predicates_say_what_was_expected_and_where),
        cmocka_unit_test(predicates_beyond_the_limits_are_refused),
        cmocka_unit_test(columns_are_met_by_id_whatever_the_version),
        cmocka_unit_test(the_columns_that_are_read_are_known),
        cmocka_unit_test(who_knows_the_values_is_asked_where_only_one_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
