/* What the s3:// driver decides without asking anybody: where, whether again, how fast. */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/store/s3.h"
#include "common/store/s3_rate.h"
#include "common/store/s3_retry.h"
#include "common/store/s3_url.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* --- urls --------------------------------------------------------------------------------------------------------- */

static int clean_environment(void **state)
{
    (void)state;
    static const char *const names[] = {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"};
    for (size_t i = 0; i < COUNT(names); i++) {
        unsetenv(names[i]);
    }
    return 0;
}

static void an_url_says_where_the_bucket_is(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        struct s3_url is;
    } cases[] = {
        {"s3://bucket", {"bucket", "", "us-east-1", "https", "s3.us-east-1.amazonaws.com", "", false, true, false}},
        {"s3://bucket/", {"bucket", "", "us-east-1", "https", "s3.us-east-1.amazonaws.com", "", false, true, false}},
        {"s3://bucket/a/b//?region=cn-north-1",
         {"bucket", "a/b", "cn-north-1", "https", "s3.cn-north-1.amazonaws.com.cn", "", false, true, false}},
        {"s3://dotted.bucket/a",
         {"dotted.bucket", "a", "us-east-1", "https", "s3.us-east-1.amazonaws.com", "", true, true, false}},
        {"s3://bucket?endpoint=http://host:9000/&credentials=one&versions=keep",
         {"bucket", "", "us-east-1", "http", "host:9000", "one", true, false, true}},
        {"s3://bucket/p?endpoint=https://host&addressing=virtual&region=r",
         {"bucket", "p", "r", "https", "host", "", false, false, false}},
        {"s3://Old_Bucket/p?endpoint=http://[::1]:80",
         {"Old_Bucket", "p", "us-east-1", "http", "[::1]:80", "", true, false, false}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(0);
        struct s3_url url;
        const struct s3_url *is = &cases[i].is;
        assert_int_equal(store_s3_url_parse(cases[i].url, arena, &url, NULL), OK);
        assert_string_equal(url.bucket, is->bucket);
        assert_string_equal(url.prefix, is->prefix);
        assert_string_equal(url.region, is->region);
        assert_string_equal(url.scheme, is->scheme);
        assert_string_equal(url.host, is->host);
        assert_string_equal(url.credentials, is->credentials);
        assert_int_equal(url.path_style, is->path_style);
        assert_int_equal(url.aws, is->aws);
        assert_int_equal(url.keep_versions, is->keep_versions);
    }
}

static void an_url_that_is_none_is_refused_with_what_it_may_be(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *text;
    } cases[] = {
        {"s3://", "expected a bucket of 3 to 63"},
        {"s3://ab", "expected a bucket of 3 to 63"},
        {"s3://Bucket", "but found \"Bucket\""},
        {"s3://-bucket", "but found \"-bucket\""},
        {"s3://key:secret@bucket/a", "but found \"key:secret@bucket\""},
        {"s3://bucket?access_key_id=key", "but found \"access_key_id=key\""},
        {"s3://bucket/a//b", "expected a prefix"},
        {"s3://bucket/a/../b", "expected a prefix"},
        {"s3://bucket/a b", "expected a prefix"},
        {"s3://bucket/\xc3\xa4", "expected a prefix"},
        {"s3://bucket?region", "with a value, but found \"region\""},
        {"s3://bucket?region=a&region=b", "once at most"},
        {"s3://bucket?colour=red", "but found \"colour=red\""},
        {"s3://bucket?region=a.b", "expected a region"},
        {"s3://bucket?region=", "expected a region"},
        {"s3://bucket?endpoint=host", "expected endpoint=https://host"},
        {"s3://bucket?endpoint=http://host/path", "expected endpoint=https://host"},
        {"s3://bucket?endpoint=http://a@host", "expected endpoint=https://host"},
        {"s3://bucket?addressing=dns", "expected addressing=path or addressing=virtual but found \"dns\""},
        {"s3://bucket?versions=some", "expected versions=keep or versions=delete"},
        {"s3://bucket?credentials=../x", "expected credentials=name"},
        {"s3://bucket?credentials=.x", "expected credentials=name"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(arena_free_auto) struct arena *arena = arena_new(0);
        struct s3_url url = {.bucket = "untouched"};
        struct error err = {0};
        assert_int_equal(store_s3_url_parse(cases[i].url, arena, &url, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_string_equal(url.bucket, "untouched");
    }
}

static void what_the_url_leaves_out_comes_from_the_environment(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct s3_url url;
    setenv("AWS_DEFAULT_REGION", "eu-north-1", 1);
    setenv("AWS_ENDPOINT_URL", "http://proxy:1", 1);
    assert_int_equal(store_s3_url_parse("s3://bucket", arena, &url, NULL), OK);
    assert_string_equal(url.region, "eu-north-1");
    assert_string_equal(url.host, "proxy:1");
    setenv("AWS_REGION", "eu-west-1", 1);
    assert_int_equal(store_s3_url_parse("s3://bucket?endpoint=http://mine", arena, &url, NULL), OK);
    assert_string_equal(url.region, "eu-west-1");
    assert_string_equal(url.host, "mine");
}

static void after_a_redirect_only_awss_endpoint_follows_the_region(void **state)
{
    (void)state;
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct s3_url url;
    assert_int_equal(store_s3_url_parse("s3://bucket", arena, &url, NULL), OK);
    assert_int_equal(store_s3_url_set_region(&url, "eu-west-1", arena, NULL), OK);
    assert_string_equal(url.host, "s3.eu-west-1.amazonaws.com");
    assert_int_equal(store_s3_url_parse("s3://bucket?endpoint=http://mine", arena, &url, NULL), OK);
    assert_int_equal(store_s3_url_set_region(&url, "eu-west-1", arena, NULL), OK);
    assert_string_equal(url.host, "mine");
    assert_int_equal(store_s3_url_set_region(&url, "evil.host/", arena, NULL), ERR_INVALID);
    assert_string_equal(url.region, "eu-west-1");
}

/* --- again? ------------------------------------------------------------------------------------------------------- */

static void what_to_do_follows_from_what_came_back(void **state)
{
    (void)state;
    static const struct {
        enum err_code transport;
        long status;
        const char *code;
        bool torn;
        enum s3_verdict verdict;
        enum err_code given_up;
    } cases[] = {
        {OK, 200, "", false, S3_DONE, OK},
        {OK, 206, "", false, S3_DONE, OK},
        {OK, 404, "NoSuchKey", false, S3_DONE, OK},
        {OK, 412, "PreconditionFailed", false, S3_DONE, OK},
        {OK, 416, "InvalidRange", false, S3_DONE, OK},
        {OK, 200, "", true, S3_RETRY, ERR_UNAVAILABLE},
        {OK, 500, "InternalError", false, S3_RETRY, ERR_UNAVAILABLE},
        {OK, 502, "", false, S3_RETRY, ERR_UNAVAILABLE},
        {OK, 503, "SlowDown", false, S3_RETRY, ERR_UNAVAILABLE},
        {OK, 504, "", false, S3_RETRY, ERR_UNAVAILABLE},
        {OK, 429, "", false, S3_RETRY, ERR_UNAVAILABLE},
        {OK, 400, "RequestTimeout", false, S3_RETRY, ERR_UNAVAILABLE},
        {OK, 400, "BadDigest", false, S3_RETRY, ERR_UNAVAILABLE},
        {OK, 409, "ConditionalRequestConflict", false, S3_RETRY, ERR_CONFLICT},
        {OK, 409, "OperationAborted", false, S3_RETRY, ERR_CONFLICT},
        {OK, 409, "", false, S3_RETRY, ERR_CONFLICT},
        {OK, 409, "InvalidBucketState", false, S3_FAIL, ERR_CONFLICT},
        {OK, 400, "ExpiredToken", false, S3_REFRESH, OK},
        {OK, 403, "RequestTimeTooSkewed", false, S3_SKEW, OK},
        {OK, 301, "PermanentRedirect", false, S3_REDIRECT, OK},
        {OK, 307, "TemporaryRedirect", false, S3_REDIRECT, OK},
        {OK, 400, "AuthorizationHeaderMalformed", false, S3_REDIRECT, OK},
        {OK, 403, "AccessDenied", false, S3_FAIL, ERR_DENIED},
        {OK, 403, "SignatureDoesNotMatch", false, S3_FAIL, ERR_DENIED},
        {OK, 401, "", false, S3_FAIL, ERR_DENIED},
        {OK, 400, "InvalidArgument", false, S3_FAIL, ERR_INVALID},
        {OK, 405, "MethodNotAllowed", false, S3_FAIL, ERR_INVALID},
        {OK, 501, "NotImplemented", false, S3_FAIL, ERR_INVALID},
        {ERR_UNAVAILABLE, 0, "", false, S3_RETRY, ERR_UNAVAILABLE},
        {ERR_TIMEOUT, 0, "", false, S3_RETRY, ERR_TIMEOUT},
        {ERR_DENIED, 0, "", false, S3_FAIL, ERR_DENIED},
        {ERR_INVALID, 0, "", false, S3_FAIL, ERR_INVALID},
        {ERR_NO_MEMORY, 0, "", false, S3_FAIL, ERR_NO_MEMORY},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct s3_outcome outcome = {.transport = cases[i].transport,
                                     .status = cases[i].status,
                                     .code = cases[i].code,
                                     .torn = cases[i].torn,
                                     .retry_for_us = CLOCK_MINUTE_US};
        struct s3_decision decision = store_s3_retry_decide(&outcome, 1, 0);
        assert_int_equal(decision.verdict, cases[i].verdict);
        outcome.spent_us = CLOCK_MINUTE_US;
        if (decision.verdict == S3_RETRY || decision.verdict == S3_FAIL) {
            decision = store_s3_retry_decide(&outcome, 9, 0);
            assert_int_equal(decision.verdict, S3_FAIL);
            assert_int_equal(decision.code, cases[i].given_up);
        }
    }
}

static void each_remedy_is_tried_so_often_and_no_more(void **state)
{
    (void)state;
    struct s3_outcome outcome = {
        .status = 400, .code = "ExpiredToken", .refreshed = true, .retry_for_us = CLOCK_MINUTE_US};
    assert_int_equal(store_s3_retry_decide(&outcome, 2, 0).verdict, S3_FAIL);
    outcome = (struct s3_outcome){.status = 403, .code = "RequestTimeTooSkewed", .skewed = true};
    assert_int_equal(store_s3_retry_decide(&outcome, 2, 0).verdict, S3_FAIL);
    outcome = (struct s3_outcome){.status = 301, .code = "PermanentRedirect", .redirects = 3};
    assert_int_equal(store_s3_retry_decide(&outcome, 4, 0).verdict, S3_FAIL);
}

static void pauses_are_jittered_doubled_capped_and_no_shorter_than_asked(void **state)
{
    (void)state;
    static const struct {
        uint32_t tries;
        int64_t bound_us;
    } cases[] = {{1, 100000}, {2, 200000}, {3, 400000}, {6, 3200000}, {7, 5000000}, {1000, 5000000}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct s3_outcome outcome = {.status = 503, .code = "SlowDown", .retry_for_us = CLOCK_HOUR_US};
        int64_t bound_us = cases[i].bound_us;
        assert_int_equal(store_s3_retry_decide(&outcome, cases[i].tries, (uint64_t)bound_us).pause_us, bound_us);
        assert_int_equal(store_s3_retry_decide(&outcome, cases[i].tries, (uint64_t)bound_us + 1).pause_us, 0);
        outcome.asked_pause_us = 2 * CLOCK_MINUTE_US;
        assert_int_equal(store_s3_retry_decide(&outcome, cases[i].tries, 5).pause_us, 2 * CLOCK_MINUTE_US);
        outcome.retry_for_us = CLOCK_MINUTE_US; /* a pause that would end behind the deadline is not begun */
        assert_int_equal(store_s3_retry_decide(&outcome, cases[i].tries, 5).verdict, S3_FAIL);
    }
}

/* --- how fast ----------------------------------------------------------------------------------------------------- */

static void deletes_go_at_the_rate_and_a_second_ahead_at_most(void **state)
{
    (void)state;
    struct s3_rate rate;
    store_s3_rate_init(&rate, 1000, 0);
    assert_int_equal(store_s3_rate_take(&rate, 1000, 0), 0);
    assert_int_equal(store_s3_rate_take(&rate, 500, 0), CLOCK_SECOND_US / 2);
    assert_int_equal(store_s3_rate_take(&rate, 500, 0), CLOCK_SECOND_US);
    assert_int_equal(store_s3_rate_take(&rate, 1000, CLOCK_HOUR_US), 0);
    assert_true(store_s3_rate_take(&rate, 1000, CLOCK_HOUR_US) > 0);
}

static void throttling_halves_the_rate_once_for_answers_that_come_together(void **state)
{
    (void)state;
    struct s3_rate rate;
    store_s3_rate_init(&rate, 1000, 0);
    store_s3_rate_cut(&rate, 0, 0);
    store_s3_rate_cut(&rate, 0, 1000);
    assert_true(rate.now > 499 && rate.now < 501);
    for (int64_t i = 1; i < 20; i++) {
        store_s3_rate_cut(&rate, 0, i * CLOCK_SECOND_US / 2);
    }
    assert_true(rate.now >= 50 && rate.now < 100); /* not below a twentieth */
    (void)store_s3_rate_take(&rate, 0, CLOCK_MINUTE_US);
    assert_true(rate.now > 999); /* and back within twenty seconds */
}

static void what_the_store_did_not_do_costs_nothing(void **state)
{
    (void)state;
    struct s3_rate rate;
    store_s3_rate_init(&rate, 1000, 0);
    assert_int_equal(store_s3_rate_take(&rate, 1000, 0), 0);
    assert_true(store_s3_rate_take(&rate, 1000, 0) > 0);
    store_s3_rate_cut(&rate, 1000, 0);
    assert_int_equal(store_s3_rate_take(&rate, 0, 0), 0);
}

static void requests_are_counted_as_they_are_paid_for(void **state)
{
    (void)state;
    static const struct {
        struct s3_request request;
        enum s3_billing billing;
    } cases[] = {
        {{.method = "PUT", .key = "k"}, S3_BILLED_WRITE},
        {{.method = "POST", .key = "k"}, S3_BILLED_WRITE},
        {{.method = "GET"}, S3_BILLED_WRITE}, /* a listing */
        {{.method = "GET", .key = "k"}, S3_BILLED_READ},
        {{.method = "HEAD", .key = "k"}, S3_BILLED_READ},
        {{.method = "DELETE", .key = "k", .paced_keys = 1}, S3_BILLED_DELETE},
        {{.method = "DELETE", .key = "k"}, S3_BILLED_DELETE}, /* of an upload */
        {{.method = "POST", .paced_keys = 1000}, S3_BILLED_DELETE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(store_s3_billing_of(&cases[i].request), cases[i].billing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_url_says_where_the_bucket_is, clean_environment),
        cmocka_unit_test_setup(an_url_that_is_none_is_refused_with_what_it_may_be, clean_environment),
        cmocka_unit_test_setup_teardown(what_the_url_leaves_out_comes_from_the_environment, clean_environment,
                                        clean_environment),
        cmocka_unit_test_setup(after_a_redirect_only_awss_endpoint_follows_the_region, clean_environment),
        cmocka_unit_test(what_to_do_follows_from_what_came_back),
        cmocka_unit_test(each_remedy_is_tried_so_often_and_no_more),
        cmocka_unit_test(pauses_are_jittered_doubled_capped_and_no_shorter_than_asked),
        cmocka_unit_test(deletes_go_at_the_rate_and_a_second_ahead_at_most),
        cmocka_unit_test(throttling_halves_the_rate_once_for_answers_that_come_together),
        cmocka_unit_test(what_the_store_did_not_do_costs_nothing),
        cmocka_unit_test(requests_are_counted_as_they_are_paid_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
