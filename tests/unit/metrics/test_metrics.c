#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/metrics/metrics.h"

static void series_of_one_name_stand_together_under_help_and_type(void **state)
{
    (void)state;
    AUTO(metrics_free_auto) struct metrics *metrics = metrics_new();
    AUTO(buf_done) struct buf out = {0};
    metric_add(metrics_counter(metrics, "granary_merge_runs_total", "pool=\"small\"", "Merges run."), 3);
    metric_set(metrics_gauge(metrics, "granary_merge_share", NULL, "Share of rows."), 0.1);
    metric_add(metrics_counter(metrics, "granary_merge_runs_total", "pool=\"large\"", "Merges run."), 1);
    metric_set(metrics_gauge(metrics, "granary_merge_time_seconds", NULL, "Last run."), 1764468000.25);
    assert_int_equal(metrics_format(metrics, &out, NULL), OK);
    assert_string_equal(buf_text(&out), "# HELP granary_merge_runs_total Merges run.\n"
                                        "# TYPE granary_merge_runs_total counter\n"
                                        "granary_merge_runs_total{pool=\"small\"} 3\n"
                                        "granary_merge_runs_total{pool=\"large\"} 1\n"
                                        "# HELP granary_merge_share Share of rows.\n"
                                        "# TYPE granary_merge_share gauge\n"
                                        "granary_merge_share 0.1\n"
                                        "# HELP granary_merge_time_seconds Last run.\n"
                                        "# TYPE granary_merge_time_seconds gauge\n"
                                        "granary_merge_time_seconds 1764468000.25\n");
}

static void the_same_name_and_labels_give_the_same_metric(void **state)
{
    (void)state;
    AUTO(metrics_free_auto) struct metrics *metrics = metrics_new();
    struct metric *gauge = metrics_gauge(metrics, "granary_x_level", "a=\"1\"", "Level.");
    assert_ptr_equal(gauge, metrics_gauge(metrics, "granary_x_level", "a=\"1\"", "Level."));
    assert_ptr_not_equal(gauge, metrics_gauge(metrics, "granary_x_level", "a=\"2\"", "Level."));
    metric_set(gauge, 5);
    metric_add(gauge, -7);
    assert_int_equal(metric_value(gauge), -2);
}

static void a_histogram_counts_up_to_each_bound(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "granary_x_seconds_bucket{a=\"1\",le=\"0.001\"} 1\n",
        "granary_x_seconds_bucket{a=\"1\",le=\"0.0025\"} 2\n",
        "granary_x_seconds_bucket{a=\"1\",le=\"1\"} 3\n",
        "granary_x_seconds_bucket{a=\"1\",le=\"60\"} 4\n",
        "granary_x_seconds_bucket{a=\"1\",le=\"+Inf\"} 5\n",
        "granary_x_seconds_sum{a=\"1\"} 160.5035\n",
        "granary_x_seconds_count{a=\"1\"} 5\n",
    };
    static const int64_t durations_us[] = {1000, 2500, 500000, 60000000, 100000000};
    AUTO(metrics_free_auto) struct metrics *metrics = metrics_new();
    AUTO(buf_done) struct buf out = {0};
    struct metric *histogram = metrics_histogram(metrics, "granary_x_seconds", "a=\"1\"", "Time.");
    for (size_t i = 0; i < sizeof durations_us / sizeof *durations_us; i++) {
        metric_observe_us(histogram, durations_us[i]);
    }
    assert_int_equal(metrics_format(metrics, &out, NULL), OK);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_non_null(strstr(buf_text(&out), lines[i]));
    }
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *add_many(void *metric)
{
    for (int i = 0; i < ROUNDS; i++) {
        metric_add(metric, 1);
    }
    return NULL;
}

static void no_update_is_lost_between_threads(void **state)
{
    (void)state;
    AUTO(metrics_free_auto) struct metrics *metrics = metrics_new();
    struct metric *both[] = {metrics_counter(metrics, "granary_x_total", NULL, "Count."),
                             metrics_gauge(metrics, "granary_x_level", NULL, "Level.")};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, both[i % 2]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(metric_value(both[0]), THREADS / 2 * ROUNDS);
    assert_int_equal(metric_value(both[1]), THREADS / 2 * ROUNDS);
}

static void register_bad_name(int which)
{
    struct metrics *metrics = metrics_new();
    switch (which) {
    case 0: metrics_counter(metrics, "granary_x", NULL, "A counter without its suffix."); break;
    case 1: metrics_gauge(metrics, "granary_x_total", NULL, "A gauge with it."); break;
    case 2: metrics_gauge(metrics, "other_x", NULL, "Another prefix."); break;
    case 3: metrics_gauge(metrics, "granary_X y", NULL, "Characters that are not allowed."); break;
    default:
        metrics_gauge(metrics, "granary_x_seconds", NULL, "One kind.");
        metrics_histogram(metrics, "granary_x_seconds", NULL, "Another kind.");
    }
}

static void a_malformed_name_or_a_clash_of_kinds_ends_the_process(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            close(STDERR_FILENO);
            register_bad_name(which);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_of_one_name_stand_together_under_help_and_type),
        cmocka_unit_test(the_same_name_and_labels_give_the_same_metric),
        cmocka_unit_test(a_histogram_counts_up_to_each_bound),
        cmocka_unit_test(no_update_is_lost_between_threads),
        cmocka_unit_test(a_malformed_name_or_a_clash_of_kinds_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
