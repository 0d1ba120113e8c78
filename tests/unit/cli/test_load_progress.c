#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/load.h"
#include "common/base/clock.h"

#define MB INT64_C(1000000)

static void a_load_shows_its_rate_and_the_time_left(void **state)
{
    static const struct {
        struct load_progress progress;
        int64_t spent_us;
        const char *text;
    } cases[] = {
        {{.total_bytes = 1000 * MB, .bytes = 250 * MB}, 10 * CLOCK_SECOND_US, "238.4 MiB  25.0 MB/s  30s left"},
        {{.total_bytes = 1000 * MB, .bytes = 250 * MB, .rows = 1234567, .rejected = 1000},
         100 * CLOCK_SECOND_US,
         "1,234,567 rows  238.4 MiB  2.5 MB/s  5m left  1,000 rejected"},
        {{.bytes = 250 * MB, .rows = 5}, 10 * CLOCK_SECOND_US, "5 rows  238.4 MiB  25.0 MB/s"}, /* a pipe */
        {{.total_bytes = 1000 * MB, .bytes = 1000 * MB, .rows = 5}, CLOCK_SECOND_US, "5 rows  953.7 MiB  1000.0 MB/s"},
        {{.total_bytes = 1000 * MB, .bytes = 1001 * MB}, CLOCK_SECOND_US, "954.6 MiB  1001.0 MB/s"}, /* it has grown */
        {{.total_bytes = 1000 * MB}, 10 * CLOCK_SECOND_US, "0 B  0.0 MB/s"},
        {{.total_bytes = 1000 * MB}, 0, "0 B  0.0 MB/s"},
        {{.total_bytes = INT64_MAX, .bytes = 1, .rejected = INT64_MAX, .rows = INT64_MAX},
         CLOCK_DAY_US,
         "9,223,372,036,854,775,807 rows  1 B  0.0 MB/s  31709y 289d left  9,223,372,036,854,775,807 rejected"},
    };
    char text[LOAD_PROGRESS_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(load_progress_text(&cases[i].progress, cases[i].spent_us, text), cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_shows_its_rate_and_the_time_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
