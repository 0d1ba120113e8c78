#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/json/json.h"
#include "services/admin/openapi.h"
#include "services/admin/routes.h"

static struct json *load_page(void)
{
    struct json *page = NULL;
    const struct json_limits limits = {.max_bytes = 4 << 20, .max_depth = 64};
    struct error err = {0};
    size_t length = (size_t)(admin_openapi_end - admin_openapi_begin);
    if (json_parse(admin_openapi_begin, length, &limits, &page, &err) != OK) {
        fail_msg("%s", err.text);
    }
    return page;
}

static const char *role_name(enum http_role role)
{
    return role == HTTP_ROLE_READ      ? "read"
           : role == HTTP_ROLE_OPERATE ? "operate"
           : role == HTTP_ROLE_WRITE   ? "write"
                                       : "";
}

static struct json *find_operation(const struct json *page, const struct http_route *route)
{
    char method[8] = {0};
    for (size_t i = 0; route->method[i] != '\0' && i < sizeof method - 1; i++) {
        method[i] = (char)(route->method[i] | 0x20);
    }
    return json_find(json_find(json_find(page, "paths"), route->pattern), method);
}

static void every_route_is_described_with_its_role(void **state)
{
    (void)state;
    AUTO(json_free_auto) struct json *page = load_page();
    for (size_t i = 0; i < admin_route_count; i++) {
        const struct http_route *route = &admin_routes[i];
        struct json *operation = find_operation(page, route);
        if (operation == NULL) {
            fail_msg("%s %s is not described", route->method, route->pattern);
        }
        const char *role = json_as_text(json_find(operation, "x-granary-role"), NULL);
        assert_string_equal(role == NULL ? "" : role, role_name(route->role));
    }
}

static void every_described_operation_has_a_route(void **state)
{
    (void)state;
    AUTO(json_free_auto) struct json *page = load_page();
    void *path_iterator = NULL;
    const char *path;
    struct json *operations;
    size_t described = 0;
    while (json_next(json_find(page, "paths"), &path_iterator, &path, &operations)) {
        void *iterator = NULL;
        const char *method;
        struct json *operation;
        while (json_next(operations, &iterator, &method, &operation)) {
            bool found = false;
            for (size_t i = 0; i < admin_route_count; i++) {
                found |= strcmp(admin_routes[i].pattern, path) == 0 && strcasecmp(admin_routes[i].method, method) == 0;
            }
            if (!found) {
                fail_msg("%s %s has no route", method, path);
            }
            described++;
        }
    }
    assert_int_equal(described, admin_route_count);
}

/* The parts of a path in braces are its path parameters. */
static void every_part_in_braces_is_a_parameter(void **state)
{
    (void)state;
    AUTO(json_free_auto) struct json *page = load_page();
    for (size_t i = 0; i < admin_route_count; i++) {
        struct json *parameters = json_find(find_operation(page, &admin_routes[i]), "parameters");
        const char *brace = strchr(admin_routes[i].pattern, '{');
        size_t in_path = 0;
        for (size_t j = 0; j < json_length(parameters); j++) {
            const struct json *parameter = json_at(parameters, j);
            if (strcmp(json_as_text(json_find(parameter, "in"), NULL), "path") == 0) {
                const char *name = json_as_text(json_find(parameter, "name"), NULL);
                assert_non_null(brace);
                assert_memory_equal(brace + 1, name, strlen(name));
                in_path++;
            }
        }
        assert_int_equal(in_path, brace != NULL);
    }
}

static void a_route_with_a_body_is_described_with_one(void **state)
{
    (void)state;
    AUTO(json_free_auto) struct json *page = load_page();
    for (size_t i = 0; i < admin_route_count; i++) {
        if (json_find(find_operation(page, &admin_routes[i]), "requestBody") != NULL) {
            assert_true(admin_routes[i].max_body_bytes > 0);
        }
    }
}

static void all_but_the_page_itself_need_a_role_and_may_block(void **state)
{
    (void)state;
    for (size_t i = 0; i < admin_route_count; i++) {
        bool is_page = strcmp(admin_routes[i].pattern, "/openapi.json") == 0;
        assert_int_equal(admin_routes[i].role == HTTP_ROLE_NONE, is_page);
        assert_int_equal(admin_routes[i].blocking, !is_page);
        if (strcmp(admin_routes[i].method, "GET") != 0) {
            assert_int_equal(admin_routes[i].role, HTTP_ROLE_OPERATE);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_described_with_its_role),
        cmocka_unit_test(every_described_operation_has_a_route),
        cmocka_unit_test(every_part_in_braces_is_a_parameter),
        cmocka_unit_test(a_route_with_a_body_is_described_with_one),
        cmocka_unit_test(all_but_the_page_itself_need_a_role_and_may_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
