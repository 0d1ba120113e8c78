#include "tests/unit/rows/fixture.h"

static const struct schema_column good_columns[] = {
    {.id = 1, .name = "ts", .type = COLUMN_TIMESTAMP},
    {.id = 5, .name = "path", .type = COLUMN_STRING, .nullable = true},
    {.id = 3, .name = "size", .type = COLUMN_INT32, .nullable = true},
    {.id = 4, .name = "price", .type = COLUMN_DECIMAL, .nullable = true, .precision = 10, .scale = 2},
};

static struct schema good(void)
{
    return (struct schema){
        .version = 1, .column_count = COUNT(good_columns), .columns = good_columns, .sort_key_count = 1};
}

static void columns_are_found_by_name_and_by_id(void **state)
{
    (void)state;
    struct schema from = good();
    AUTO(schema_free_auto) struct schema *schema = NULL;
    struct error err = {0};
    assert_int_equal(schema_new(&from, &schema, &err), OK);
    const struct schema *both[] = {&from, schema}; /* put together by hand: linear; built: hashed */
    for (size_t s = 0; s < COUNT(both); s++) {
        for (size_t i = 0; i < COUNT(good_columns); i++) {
            assert_int_equal(schema_find(both[s], good_columns[i].name, strlen(good_columns[i].name)), i);
            assert_int_equal(schema_find_id(both[s], good_columns[i].id), i);
        }
        assert_int_equal(schema_find(both[s], "pat", 3), -1);
        assert_int_equal(schema_find(both[s], "paths", 5), -1);
        assert_int_equal(schema_find(both[s], "path\0x", 6), -1);
        assert_int_equal(schema_find(both[s], "", 0), -1);
        assert_int_equal(schema_find_id(both[s], 2), -1);
    }
    assert_ptr_not_equal(schema->columns[1].name, good_columns[1].name);
}

static void two_thousand_columns_are_found(void **state)
{
    (void)state;
    static struct schema_column columns[SCHEMA_MAX_COLUMNS];
    static char names[SCHEMA_MAX_COLUMNS][8];
    for (uint32_t i = 0; i < SCHEMA_MAX_COLUMNS; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%u", i);
        columns[i] = (struct schema_column){.id = i + 1, .name = names[i], .type = COLUMN_BOOL, .nullable = true};
    }
    columns[7] = (struct schema_column){.id = 8, .name = "ts", .type = COLUMN_TIMESTAMP};
    struct schema from = {.version = 1,
                          .column_count = SCHEMA_MAX_COLUMNS,
                          .columns = columns,
                          .timestamp_column = 7,
                          .sort_key_count = 1,
                          .sort_keys = {{.column = 7}}};
    AUTO(schema_free_auto) struct schema *schema = NULL;
    assert_int_equal(schema_new(&from, &schema, NULL), OK);
    for (int i = 0; i < SCHEMA_MAX_COLUMNS; i++) {
        assert_int_equal(schema_find(schema, columns[i].name, strlen(columns[i].name)), i);
        assert_int_equal(schema_find_id(schema, (uint32_t)i + 1), i);
    }
}

static void break_name(struct schema *schema, struct schema_column *columns)
{
    (void)schema;
    columns[1].name = "a b";
}
static void break_twin_name(struct schema *schema, struct schema_column *columns)
{
    (void)schema;
    columns[1].name = "size";
}
static void break_twin_id(struct schema *schema, struct schema_column *columns)
{
    (void)schema;
    columns[1].id = 3;
}
static void break_id(struct schema *schema, struct schema_column *columns)
{
    (void)schema;
    columns[1].id = 0;
}
static void break_decimal(struct schema *schema, struct schema_column *columns)
{
    (void)schema;
    columns[3].precision = 19;
}
static void break_timestamp_null(struct schema *schema, struct schema_column *columns)
{
    (void)schema;
    columns[0].nullable = true;
}
static void break_timestamp_type(struct schema *schema, struct schema_column *columns)
{
    (void)columns;
    schema->timestamp_column = 2;
}
static void break_timestamp_index(struct schema *schema, struct schema_column *columns)
{
    (void)columns;
    schema->timestamp_column = 4;
}
static void break_sort_none(struct schema *schema, struct schema_column *columns)
{
    (void)columns;
    schema->sort_key_count = 0;
}
static void break_sort_index(struct schema *schema, struct schema_column *columns)
{
    (void)columns;
    schema->sort_keys[0].column = 4;
}
static void break_sort_twice(struct schema *schema, struct schema_column *columns)
{
    (void)columns;
    schema->sort_key_count = 2;
}
static void break_sort_type(struct schema *schema, struct schema_column *columns)
{
    columns[1].type = COLUMN_DOUBLE;
    schema->sort_keys[0].column = 1;
}
static void break_count(struct schema *schema, struct schema_column *columns)
{
    (void)columns;
    schema->column_count = 0;
}
static void break_version(struct schema *schema, struct schema_column *columns)
{
    (void)columns;
    schema->version = 0;
}

static void a_wrong_schema_is_refused_and_named(void **state)
{
    (void)state;
    static const struct {
        void (*damage)(struct schema *schema, struct schema_column *columns);
        const char *text;
    } cases[] = {
        {break_name, "found \"a b\""},
        {break_twin_name, "found \"size\" twice"},
        {break_twin_id, "found 3 at \"path\" and \"size\""},
        {break_id, "id of column \"path\""},
        {break_decimal, "found decimal(19,2)"},
        {break_timestamp_null, "found timestamp, nullable"},
        {break_timestamp_type, "found int32"},
        {break_timestamp_index, "expected a timestamp column"},
        {break_sort_none, "found 0"},
        {break_sort_index, "found index 4"},
        {break_sort_twice, "found \"ts\" twice"},
        {break_sort_type, "found \"path\" of type double"},
        {break_count, "expected 1 to 2000 columns but found 0"},
        {break_version, "found 0"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct schema_column columns[COUNT(good_columns)];
        memcpy(columns, good_columns, sizeof columns);
        struct schema from = good();
        from.columns = columns;
        cases[i].damage(&from, columns);
        struct schema *schema = NULL;
        struct error err = {0};
        assert_int_equal(schema_new(&from, &schema, &err), ERR_INVALID);
        assert_null(schema);
        assert_non_null(strstr(err.text, cases[i].text));
    }
}

static void types_round_trip_as_text(void **state)
{
    (void)state;
    static const char *const good_types[] = {"bool",         "int32", "int64",     "float", "double",
                                             "string",       "bytes", "timestamp", "date",  "decimal(18,0)",
                                             "decimal(4,4)", "uuid",  "json"};
    for (size_t i = 0; i < COUNT(good_types); i++) {
        struct schema_column column = {0};
        char text[COLUMN_TYPE_TEXT_BYTES];
        assert_int_equal(column_type_parse(good_types[i], &column, NULL), OK);
        assert_string_equal(column_type_format(&column, text), good_types[i]);
    }
    static const char *const bad[] = {"",
                                      "int",
                                      "decimal",
                                      "decimal(0,0)",
                                      "decimal(19,0)",
                                      "decimal(3,4)",
                                      "decimal(3,)",
                                      "decimal(3,1",
                                      "decimal(003,1)",
                                      "STRING"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct schema_column column = {.type = COLUMN_UUID, .precision = 7};
        struct error err = {0};
        assert_int_equal(column_type_parse(bad[i], &column, &err), ERR_INVALID);
        assert_int_equal(column.type, COLUMN_UUID);
        assert_int_equal(column.precision, 7);
        assert_non_null(strstr(err.text, "expected a type"));
    }
}

static void schemas_reconcile_by_id(void **state)
{
    (void)state;
    struct schema from = good();
    static const struct schema_column renamed[] = {
        {.id = 4, .name = "cost", .type = COLUMN_DECIMAL, .nullable = true, .precision = 12, .scale = 2},
        {.id = 9, .name = "new", .type = COLUMN_STRING, .nullable = true},
        {.id = 3, .name = "bytes", .type = COLUMN_INT64, .nullable = true},
        {.id = 1, .name = "when", .type = COLUMN_TIMESTAMP, .nullable = true},
    };
    struct schema to = {.version = 2, .column_count = COUNT(renamed), .columns = renamed};
    int map[COUNT(renamed)];
    assert_int_equal(schema_reconcile(&from, &to, map, NULL), OK);
    static const int expected[] = {3, -1, 2, 0};
    assert_memory_equal(map, expected, sizeof expected);

    static const struct {
        struct schema_column to;
        const char *text;
    } cases[] = {
        {{.id = 9, .name = "new", .type = COLUMN_STRING}, "lack it"},
        {{.id = 3, .name = "size", .type = COLUMN_STRING, .nullable = true}, "as string but found int32"},
        {{.id = 3, .name = "size", .type = COLUMN_INT32}, "never to be null"},
        {{.id = 4, .name = "price", .type = COLUMN_DECIMAL, .nullable = true, .precision = 9, .scale = 2},
         "as decimal(9,2) but found decimal(10,2)"},
        {{.id = 4, .name = "price", .type = COLUMN_DECIMAL, .nullable = true, .precision = 12, .scale = 3},
         "as decimal(12,3) but found decimal(10,2)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct schema one = {.version = 2, .column_count = 1, .columns = &cases[i].to};
        struct error err = {0};
        int untouched = 42;
        assert_int_equal(schema_reconcile(&from, &one, &untouched, &err), ERR_INVALID);
        assert_int_equal(untouched, 42);
        assert_non_null(strstr(err.text, cases[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_by_name_and_by_id),
        cmocka_unit_test(two_thousand_columns_are_found),
        cmocka_unit_test(a_wrong_schema_is_refused_and_named),
        cmocka_unit_test(types_round_trip_as_text),
        cmocka_unit_test(schemas_reconcile_by_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
