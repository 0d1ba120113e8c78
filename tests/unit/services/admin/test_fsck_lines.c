#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/admin/fsck_lines.h"

static const struct uuid some = {{1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10}};

static void expect(struct buf *line, const char *text)
{
    assert_string_equal(buf_text(line), text);
    buf_clear(line);
}

static void a_finding_tells_what_its_class_has_to_tell(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct fsck_finding finding = {.class = FSCK_ORPHAN,
                                   .path = "a \"b\"",
                                   .bytes = 7,
                                   .at_us = CLOCK_DAY_US,
                                   .owner = FSCK_OWNER_LATE_UPLOAD,
                                   .held = true,
                                   .table_id = some};
    assert_int_equal(fsck_line_finding("own", &finding, &out, NULL), OK);
    expect(&out, "{\"finding\":{\"class\":\"orphan\",\"storage\":\"own\",\"path\":\"a \\\"b\\\"\",\"bytes\":7,"
                 "\"at\":\"1970-01-02T00:00:00.000000Z\",\"table_id\":\"01020304-0506-7008-800a-000000000000\","
                 "\"partition_id\":null,\"owner\":\"late upload\",\"held\":true}}\n");
    finding = (struct fsck_finding){.class = FSCK_SIZE,
                                    .path = "k",
                                    .bytes = 7,
                                    .expected_bytes = 8,
                                    .active = true,
                                    .deactivated_at_us = CLOCK_NEVER};
    assert_int_equal(fsck_line_finding("own", &finding, &out, NULL), OK);
    expect(&out, "{\"finding\":{\"class\":\"wrong size\",\"storage\":\"own\",\"path\":\"k\",\"bytes\":7,"
                 "\"at\":\"1970-01-01T00:00:00.000000Z\",\"table_id\":null,\"partition_id\":null,"
                 "\"expected_bytes\":8,\"active\":true,\"created_at\":\"1970-01-01T00:00:00.000000Z\","
                 "\"deactivated_at\":null}}\n");
    finding = (struct fsck_finding){.class = FSCK_FOREIGN, .path = "not utf-8 \xff here"};
    assert_int_equal(fsck_line_finding("own", &finding, &out, NULL), OK);
    assert_non_null(strstr(buf_text(&out), "\"path\":\"not utf-8 \""));
}

static void a_summary_leaves_out_what_there_is_none_of(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct fsck_totals totals;
    fsck_totals_init(&totals);
    totals.objects = 3;
    totals.rows = 2;
    totals.classes[FSCK_OK] = (struct fsck_tally){2, 20, 0};
    totals.classes[FSCK_ORPHAN] = totals.owners[FSCK_OWNER_PROBE] = (struct fsck_tally){1, 5, CLOCK_DAY_US};
    struct fsck_summary summary = {.totals = &totals, .plan_id = &some, .plan_objects = 1};
    assert_int_equal(fsck_line_summary(&summary, &out, NULL), OK);
    expect(&out,
           "{\"summary\":{\"objects\":3,\"rows\":2,\"lagging\":0,\"held\":0,\"findings\":1,\"classes\":["
           "{\"class\":\"ok\",\"count\":2,\"bytes\":20,\"oldest\":\"1970-01-01T00:00:00.000000Z\"},"
           "{\"class\":\"orphan\",\"count\":1,\"bytes\":5,\"oldest\":\"1970-01-02T00:00:00.000000Z\"}],"
           "\"owners\":[{\"owner\":\"probe\",\"count\":1,\"bytes\":5,\"oldest\":\"1970-01-02T00:00:00.000000Z\"}],"
           "\"plan_id\":\"01020304-0506-7008-800a-000000000000\",\"plan_objects\":1,\"plan_cut\":false}}\n");
    summary =
        (struct fsck_summary){.totals = &totals, .against = true, .gone = {1, 9, 0}, .receipts_since_us = CLOCK_NEVER};
    assert_int_equal(fsck_line_summary(&summary, &out, NULL), OK);
    expect(&out, "{\"summary\":{\"objects\":3,\"rows\":2,\"lagging\":0,\"held\":0,\"findings\":1,\"classes\":["
                 "{\"class\":\"gone\",\"count\":1,\"bytes\":9,\"oldest\":\"1970-01-01T00:00:00.000000Z\"}],"
                 "\"receipts_since\":null}}\n");
}

static void progress_receipts_and_failures_have_lines_of_their_own(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf out = {0};
    struct fsck_totals totals;
    struct error fault = {0};
    fsck_totals_init(&totals);
    totals.objects = 5;
    assert_int_equal(fsck_line_progress("own", &totals, "x/y", &out, NULL), OK);
    expect(&out, "{\"progress\":{\"storage\":\"own\",\"objects\":5,\"rows\":0,\"findings\":0,\"position\":\"x/y\"}}\n");
    const struct catalog_gone gone = {.path = "k", .row_count = 3, .data_bytes = 4, .reason = "merge"};
    assert_int_equal(fsck_line_gone(&gone, &out, NULL), OK);
    expect(&out, "{\"finding\":{\"class\":\"gone\",\"path\":\"k\",\"bytes\":4,\"at\":\"1970-01-01T00:00:00.000000Z\","
                 "\"table_id\":null,\"partition_id\":null,\"rows\":3,\"reason\":\"merge\","
                 "\"deactivated_at\":\"1970-01-01T00:00:00.000000Z\"}}\n");
    (void)err_set(&fault, ERR_UNAVAILABLE, "could not list");
    assert_int_equal(fsck_line_error(&fault, &out, NULL), OK);
    expect(&out, "{\"error\":{\"code\":\"unavailable\",\"message\":\"could not list\"}}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_tells_what_its_class_has_to_tell),
        cmocka_unit_test(a_summary_leaves_out_what_there_is_none_of),
        cmocka_unit_test(progress_receipts_and_failures_have_lines_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
