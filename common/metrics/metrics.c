/* Series of one name form a family, because the text format wants HELP and TYPE once and all series of a name together.
 * The lists only grow, under the lock; values are atomics, so that an update never waits. */
#include "common/metrics/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

static const char *const kind_names[] = {"counter", "gauge", "histogram"};

static const struct {
    int64_t us;
    const char *text; /* the value of the label "le", in seconds */
} buckets[] = {
    {1000, "0.001"},  {2500, "0.0025"}, {5000, "0.005"},  {10000, "0.01"},  {25000, "0.025"}, {50000, "0.05"},
    {100000, "0.1"},  {250000, "0.25"}, {500000, "0.5"},  {1000000, "1"},   {2500000, "2.5"}, {5000000, "5"},
    {10000000, "10"}, {25000000, "25"}, {50000000, "50"}, {60000000, "60"},
};
enum { BUCKETS = sizeof buckets / sizeof *buckets };

struct metric {
    struct metric *next; /* of the same family */
    enum metric_kind kind;
    char *labels; /* "" for none */
    union {
        _Atomic int64_t count; /* counter */
        _Atomic double level;  /* gauge */
        struct {
            _Atomic int64_t counts[BUCKETS + 1]; /* each bucket alone; the last is beyond all bounds */
            _Atomic int64_t sum_us;
        } histogram;
    };
};

struct family {
    struct family *next;
    enum metric_kind kind;
    char *name;
    char *help;
    struct metric *first;
};

struct metrics {
    pthread_mutex_t lock;
    struct family *first;
};

/* Metrics are registered at start, by literals: what is wrong here is wrong in the program. */
static void require(bool good, const char *name)
{
    if (!good) {
        (void)fprintf(stderr, "could not register metric \"%s\"\n", name);
        abort();
    }
}

struct metrics *metrics_new(void)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    require(metrics != NULL && pthread_mutex_init(&metrics->lock, NULL) == 0, "");
    return metrics;
}

static void free_family(struct family *family)
{
    while (family->first != NULL) {
        struct metric *metric = family->first;
        family->first = metric->next;
        free(metric->labels);
        free(metric);
    }
    free(family->name);
    free(family->help);
    free(family);
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    while (metrics->first != NULL) {
        struct family *family = metrics->first;
        metrics->first = family->next;
        free_family(family);
    }
    (void)pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

static bool is_good_name(const char *name, enum metric_kind kind)
{
    static const char prefix[] = "granary_";
    static const char total[] = "_total";
    size_t length = strlen(name);
    bool ends_in_total = length >= sizeof total && strcmp(name + length - (sizeof total - 1), total) == 0;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && ends_in_total == (kind == METRIC_COUNTER) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static struct family *find_or_add_family(struct metrics *metrics, const char *name, const char *help,
                                         enum metric_kind kind)
{
    struct family **at = &metrics->first;
    for (; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->name, name) == 0) {
            require((*at)->kind == kind, name);
            return *at;
        }
    }
    struct family *family = calloc(1, sizeof *family);
    require(family != NULL, name);
    family->kind = kind;
    family->name = strdup(name);
    family->help = strdup(help);
    require(family->name != NULL && family->help != NULL && strpbrk(help, "\n\\") == NULL, name);
    *at = family;
    return family;
}

static struct metric *find_or_add_metric(struct family *family, const char *labels)
{
    struct metric **at = &family->first;
    for (; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->labels, labels) == 0) {
            return *at;
        }
    }
    struct metric *metric = calloc(1, sizeof *metric);
    require(metric != NULL, family->name);
    metric->kind = family->kind;
    metric->labels = strdup(labels);
    require(metric->labels != NULL && strchr(labels, '\n') == NULL, family->name);
    *at = metric;
    return metric;
}

static struct metric *add(struct metrics *metrics, const char *name, const char *labels, const char *help,
                          enum metric_kind kind)
{
    require(is_good_name(name, kind), name);
    (void)pthread_mutex_lock(&metrics->lock);
    struct metric *metric =
        find_or_add_metric(find_or_add_family(metrics, name, help, kind), labels == NULL ? "" : labels);
    (void)pthread_mutex_unlock(&metrics->lock);
    return metric;
}

struct metric *metrics_counter(struct metrics *metrics, const char *name, const char *labels, const char *help)
{
    return add(metrics, name, labels, help, METRIC_COUNTER);
}

struct metric *metrics_gauge(struct metrics *metrics, const char *name, const char *labels, const char *help)
{
    return add(metrics, name, labels, help, METRIC_GAUGE);
}

struct metric *metrics_histogram(struct metrics *metrics, const char *name, const char *labels, const char *help)
{
    return add(metrics, name, labels, help, METRIC_HISTOGRAM);
}

void metric_add(struct metric *metric, int64_t by)
{
    if (metric->kind == METRIC_COUNTER) {
        (void)atomic_fetch_add_explicit(&metric->count, by, memory_order_relaxed);
    } else if (metric->kind == METRIC_GAUGE) {
        double seen = atomic_load_explicit(&metric->level, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&metric->level, &seen, seen + (double)by, memory_order_relaxed,
                                                      memory_order_relaxed)) {
        }
    }
}

void metric_set(struct metric *metric, double value)
{
    if (metric->kind == METRIC_GAUGE) {
        atomic_store_explicit(&metric->level, value, memory_order_relaxed);
    }
}

void metric_observe_us(struct metric *metric, int64_t duration_us)
{
    if (metric->kind != METRIC_HISTOGRAM) {
        return;
    }
    size_t bucket = 0;
    while (bucket < BUCKETS && duration_us > buckets[bucket].us) {
        bucket++;
    }
    (void)atomic_fetch_add_explicit(&metric->histogram.counts[bucket], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&metric->histogram.sum_us, duration_us, memory_order_relaxed);
}

static int64_t read_count(const _Atomic int64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

int64_t metric_value(const struct metric *metric)
{
    if (metric->kind == METRIC_COUNTER) {
        return read_count(&metric->count);
    }
    return metric->kind == METRIC_GAUGE ? (int64_t)atomic_load_explicit(&metric->level, memory_order_relaxed) : 0;
}

/* 15 digits where they say it exactly (0.1), else the 17 that always do. */
static enum err_code append_double(double value, struct buf *out, struct error *err)
{
    char text[32];
    if (isnan(value) || isinf(value)) {
        return buf_append_text(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf", err);
    }
    (void)snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) {
        (void)snprintf(text, sizeof text, "%.17g", value);
    }
    return buf_append_text(out, text, err);
}

/* name_suffix{labels,extra} and a blank */
static enum err_code append_series(const struct family *family, const char *suffix, const char *labels,
                                   const char *bound, struct buf *out, struct error *err)
{
    TRY(buf_printf(out, err, "%s%s", family->name, suffix));
    if (*labels != '\0' || bound != NULL) {
        TRY(buf_printf(out, err, "{%s", labels));
        if (bound != NULL) {
            TRY(buf_printf(out, err, "%sle=\"%s\"", *labels == '\0' ? "" : ",", bound));
        }
        TRY(buf_append_byte(out, '}', err));
    }
    return buf_append_byte(out, ' ', err);
}

/* The count is the sum of the buckets as just read, so that it never contradicts them. */
static enum err_code append_histogram(const struct family *family, const struct metric *metric, struct buf *out,
                                      struct error *err)
{
    int64_t total = 0;
    for (size_t i = 0; i <= BUCKETS; i++) {
        total += read_count(&metric->histogram.counts[i]);
        TRY(append_series(family, "_bucket", metric->labels, i < BUCKETS ? buckets[i].text : "+Inf", out, err));
        TRY(buf_printf(out, err, "%" PRId64 "\n", total));
    }
    TRY(append_series(family, "_sum", metric->labels, NULL, out, err));
    TRY(append_double((double)read_count(&metric->histogram.sum_us) / 1e6, out, err));
    TRY(buf_append_byte(out, '\n', err));
    TRY(append_series(family, "_count", metric->labels, NULL, out, err));
    return buf_printf(out, err, "%" PRId64 "\n", total);
}

static enum err_code append_metric(const struct family *family, const struct metric *metric, struct buf *out,
                                   struct error *err)
{
    if (metric->kind == METRIC_HISTOGRAM) {
        return append_histogram(family, metric, out, err);
    }
    TRY(append_series(family, "", metric->labels, NULL, out, err));
    if (metric->kind == METRIC_COUNTER) {
        return buf_printf(out, err, "%" PRId64 "\n", read_count(&metric->count));
    }
    TRY(append_double(atomic_load_explicit(&metric->level, memory_order_relaxed), out, err));
    return buf_append_byte(out, '\n', err);
}

static void unlock(pthread_mutex_t **lock)
{
    (void)pthread_mutex_unlock(*lock);
}

enum err_code metrics_format(struct metrics *metrics, struct buf *out, struct error *err)
{
    AUTO(unlock) pthread_mutex_t *lock = &metrics->lock;
    (void)pthread_mutex_lock(lock);
    for (const struct family *family = metrics->first; family != NULL; family = family->next) {
        TRY(buf_printf(out, err, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
                       kind_names[family->kind]));
        for (const struct metric *metric = family->first; metric != NULL; metric = metric->next) {
            TRY(append_metric(family, metric, out, err));
        }
    }
    return OK;
}
