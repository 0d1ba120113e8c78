/* What comes from outside as text: XML, and credentials in all their forms. */
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
#include "common/store/s3_credentials.h"
#include "common/store/s3_xml.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* --- XML ---------------------------------------------------------------------------------------------------------- */

static enum err_code note(void *context, const char *path, const char *text, struct error *err)
{
    return buf_printf(context, err, "%s=%s;", path, text);
}

static void elements_are_told_by_their_path_as_they_end(void **state)
{
    (void)state;
    static const struct {
        const char *xml;
        const char *told;
    } cases[] = {
        {"<a/>", "a=;"},
        {"<?xml version=\"1.0\"?><a xmlns=\"urn:x\">t</a>", "a=t;"},
        {"<a>one<b>two</b>three<c/></a>", "a/b=two;a/c=;a=onethree;"},
        {"<s:a xmlns:s=\"urn:x\"><s:b>1</s:b></s:a>", "a/b=1;a=;"},
        {"<a>&lt;&amp;&#228;&#x20ac;&quot;<![CDATA[<&]]></a>", "a=<&\xc3\xa4\xe2\x82\xac\"<&;"},
        {"  <a> x </a> ", "a= x ;"},
        {" \r\n\t<?xml version=\"1.0\"?> \n<a/>", "a=;"}, /* sent while the server is at work */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(buf_done) struct buf told = {0};
        assert_int_equal(store_s3_xml_parse(cases[i].xml, strlen(cases[i].xml), note, &told, NULL), OK);
        assert_string_equal(buf_text(&told), cases[i].told);
    }
}

static void what_is_not_one_plain_document_is_corrupt(void **state)
{
    (void)state;
    static const struct {
        const char *xml;
        const char *text;
    } cases[] = {
        {"", "fault in line 1"},
        {" \n ", "fault in line 1"},
        {"<a>", "fault in line 1"},
        {"<a></b>", "mismatched tag"},
        {"<a/><b/>", "junk after document element"},
        {"{\"a\":1}", "not well-formed"},
        {"<a>\xff</a>", "not well-formed"},
        {"<a>&boo;</a>", "undefined entity"},
        {"<!DOCTYPE a><a/>", "but found a DTD"},
        {"<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "but found a DTD"},
        {"<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "but found a DTD"},
        {"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", "nested too deep"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(buf_done) struct buf told = {0};
        struct error err = {0};
        assert_int_equal(store_s3_xml_parse(cases[i].xml, strlen(cases[i].xml), note, &told, &err), ERR_CORRUPT);
        assert_non_null(strstr(err.text, cases[i].text));
    }
}

static void an_element_holds_64_kib_and_no_more(void **state)
{
    (void)state;
    AUTO(buf_done) struct buf xml = {0};
    AUTO(buf_done) struct buf told = {0};
    assert_int_equal(buf_append_text(&xml, "<a>", NULL), OK);
    for (int i = 0; i < 65537; i++) {
        assert_int_equal(buf_append_byte(&xml, 'x', NULL), OK);
    }
    assert_int_equal(buf_append_text(&xml, "</a>", NULL), OK);
    assert_int_equal(store_s3_xml_parse((const char *)xml.data, xml.length_bytes, note, &told, NULL), ERR_CORRUPT);
}

static enum err_code refuse(void *context, const char *path, const char *text, struct error *err)
{
    (void)context;
    (void)text;
    return err_set(err, ERR_DENIED, "not \"%s\"", path);
}

static void an_error_of_who_is_told_ends_it(void **state)
{
    (void)state;
    struct error err = {0};
    const char *xml = "<a><b/><c/></a>";
    assert_int_equal(store_s3_xml_parse(xml, strlen(xml), refuse, NULL, &err), ERR_DENIED);
    assert_string_equal(err.text, "not \"a/b\"");
}

static void text_is_escaped_so_that_it_comes_back_as_it_was(void **state)
{
    (void)state;
    static const char text[] = "a<b>&\"'\t\r\n \xc3\xa4 c";
    AUTO(buf_done) struct buf xml = {0};
    AUTO(buf_done) struct buf told = {0};
    assert_int_equal(buf_append_text(&xml, "<a>", NULL), OK);
    assert_int_equal(store_s3_xml_escape(text, &xml, NULL), OK);
    assert_int_equal(buf_append_text(&xml, "</a>", NULL), OK);
    assert_int_equal(store_s3_xml_parse((const char *)xml.data, xml.length_bytes, note, &told, NULL), OK);
    assert_string_equal(buf_text(&told), "a=a<b>&\"'\t\r\n \xc3\xa4 c;");
    assert_int_equal(store_s3_xml_escape("a\x01", &xml, NULL), ERR_INVALID);
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void an_error_behind_a_success_has_the_status_that_it_would_have_had(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *code; /* NULL: no error document */
        long told;
    } cases[] = {
        {200, NULL, 200},           {204, NULL, 204},           {200, "InternalError", 500},
        {200, "SlowDown", 500}, /* throttling is known by its code */
        {200, "SomethingNew", 500}, {200, "AccessDenied", 403}, {200, "PreconditionFailed", 412},
        {200, "NoSuchUpload", 404}, {200, "InvalidPart", 400},  {200, "NotImplemented", 501},
        {503, "AccessDenied", 503}, /* what has a status keeps it */
        {404, "NoSuchKey", 404},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(store_s3_answer_done) struct s3_answer answer = {.status = cases[i].status};
        const char *code = cases[i].code;
        assert_int_equal(code == NULL ? buf_append_text(&answer.body, "<DeleteResult/>", NULL)
                                      : buf_printf(&answer.body, NULL, "<Error><Code>%s</Code></Error>", code),
                         OK);
        store_s3_answer_read(&answer);
        assert_int_equal(answer.status, cases[i].told);
        assert_string_equal(answer.code, code == NULL ? "" : code);
    }
}

/* --- credentials -------------------------------------------------------------------------------------------------- */

static void files_with_and_without_sections_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *profile;
        const char *found; /* key/secret/token; NULL: refused */
    } cases[] = {
        {"aws_access_key_id=k\naws_secret_access_key=s\n", "default", "k/s/"},
        {"  aws_access_key_id =  k \r\n\r\n# c\n; d\naws_secret_access_key= s=/+ \naws_session_token=t", "default",
         "k/s=/+/t"},
        {"[default]\naws_access_key_id=k\naws_secret_access_key=s\n[other]\naws_access_key_id=K\n"
         "aws_secret_access_key=S\n",
         "other", "K/S/"},
        {"[ default ]\naws_access_key_id=k\naws_secret_access_key=s\nregion=x\n[other]\naws_access_key_id=K\n",
         "default", "k/s/"},
        {"", "default", NULL},
        {"[other]\naws_access_key_id=k\naws_secret_access_key=s\n", "default", NULL},
        {"aws_access_key_id=k\n", "default", NULL},
        {"k:s", "default", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct s3_credentials found = {.access_key_id = "untouched"};
        struct error err = {0};
        char text[64];
        enum err_code code = store_s3_credentials_parse_file(cases[i].text, cases[i].profile, &found, &err);
        assert_int_equal(code, cases[i].found == NULL ? ERR_DENIED : OK);
        if (code == OK) {
            (void)snprintf(text, sizeof text, "%.16s/%.16s/%.16s", found.access_key_id, found.secret_access_key,
                           found.session_token);
            assert_string_equal(text, cases[i].found);
            assert_int_equal(found.expires_at_us, CLOCK_NEVER);
        } else {
            assert_string_equal(found.access_key_id, "untouched");
        }
    }
}

static void a_secret_that_is_too_long_is_refused_and_not_told(void **state)
{
    (void)state;
    char text[1024] = "aws_access_key_id=k\naws_secret_access_key=";
    size_t at = strlen(text);
    memset(text + at, 'x', 600);
    struct s3_credentials found;
    struct error err = {0};
    assert_int_equal(store_s3_credentials_parse_file(text, "default", &found, &err), ERR_DENIED);
    assert_null(strstr(err.text, "xxx"));
}

#define STS(inner)                                                                            \
    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">" \
    "<AssumeRoleWithWebIdentityResult><Credentials>" inner                                    \
    "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"

static void answers_of_sts_and_the_metadata_service_are_understood(void **state)
{
    (void)state;
    static const char sts[] = STS("<AccessKeyId>k</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t"
                                  "</SessionToken><Expiration>2026-01-01T00:00:00Z</Expiration>");
    static const char imds[] = "{\"Code\":\"Success\",\"AccessKeyId\":\"k\",\"SecretAccessKey\":\"s\",\"Token\":\"t\","
                               "\"Expiration\":\"2026-01-01T00:00:00Z\"}";
    struct s3_credentials found[2];
    assert_int_equal(store_s3_credentials_parse_sts(sts, sizeof sts - 1, &found[0], NULL), OK);
    assert_int_equal(store_s3_credentials_parse_imds(imds, sizeof imds - 1, &found[1], NULL), OK);
    for (size_t i = 0; i < COUNT(found); i++) {
        assert_string_equal(found[i].access_key_id, "k");
        assert_string_equal(found[i].secret_access_key, "s");
        assert_string_equal(found[i].session_token, "t");
        assert_int_equal(found[i].expires_at_us, INT64_C(1767225600) * CLOCK_SECOND_US);
    }
}

static void answers_without_credentials_are_refused(void **state)
{
    (void)state;
    static const char error[] =
        "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>";
    static const char half[] = STS("<AccessKeyId>k</AccessKeyId>");
    static const char imds[] = "{\"Code\":\"Failed\"}";
    struct s3_credentials found;
    struct error err = {0};
    assert_int_equal(store_s3_credentials_parse_sts(error, sizeof error - 1, &found, &err), ERR_DENIED);
    assert_non_null(strstr(err.text, "AccessDenied: no"));
    assert_int_equal(store_s3_credentials_parse_sts(half, sizeof half - 1, &found, &err), ERR_DENIED);
    assert_non_null(strstr(err.text, "no secret"));
    assert_int_equal(store_s3_credentials_parse_imds(imds, sizeof imds - 1, &found, &err), ERR_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_told_by_their_path_as_they_end),
        cmocka_unit_test(what_is_not_one_plain_document_is_corrupt),
        cmocka_unit_test(an_element_holds_64_kib_and_no_more),
        cmocka_unit_test(an_error_of_who_is_told_ends_it),
        cmocka_unit_test(text_is_escaped_so_that_it_comes_back_as_it_was),
        cmocka_unit_test(an_error_behind_a_success_has_the_status_that_it_would_have_had),
        cmocka_unit_test(files_with_and_without_sections_are_understood),
        cmocka_unit_test(a_secret_that_is_too_long_is_refused_and_not_told),
        cmocka_unit_test(answers_of_sts_and_the_metadata_service_are_understood),
        cmocka_unit_test(answers_without_credentials_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
