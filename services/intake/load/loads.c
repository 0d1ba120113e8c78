#include "services/intake/load/loads.h"

#include <pthread.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/log/log.h"

#define LOOK_EVERY_US CLOCK_SECOND_US
enum { MOST_REMEMBERED = 256 };

struct load_handle {
    struct load_handle *next;
    struct loads *loads;
    struct load *load; /* owned */
    unsigned users;
    bool forgotten; /* goes when nobody uses it */
    bool counted;   /* how it ended, in the metrics */
};

struct loads {
    struct loads_options options;
    struct catalog_options catalog;
    atomic_llong spool_bytes;
    struct metric *open, *committed, *failed, *rows, *rejects, *partitions, *bytes;

    pthread_t keeper;
    bool keeping;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool stopping, closing;
    struct load_handle *first; /* the youngest; only the keeper takes out of it */
};

const struct loads_options *loads_options_of(const struct loads *loads)
{
    return &loads->options;
}

atomic_llong *loads_spool_bytes(struct loads *loads)
{
    return &loads->spool_bytes;
}

struct load *loads_get(const struct load_handle *handle)
{
    return handle->load;
}

/* --- beginning and finding ------------------------------------------------------------------------------------------ */

static bool is_stopped(void *context)
{
    return service_stopping(context);
}

static enum err_code make_handle(struct loads *loads, const struct loads_begin *begin, struct load_handle **out,
                                 struct error *err)
{
    const struct intake_config *config = loads->options.config;
    const struct load_options options = {
        .table = begin->table,
        .catalog = &loads->catalog,
        .storages = loads->options.storages,
        .owner = service_instance(loads->options.service),
        .load_id = begin->load_id,
        .batch_id = begin->batch_id,
        .keyed = begin->keyed,
        .received_at_us = intake_tables_now_us(loads->options.tables),
        .memory_bytes = config->load_memory_bytes,
        .max_rejects = begin->max_rejects,
        .lease_us = config->lease_us,
        .threads = (unsigned)config->threads,
        .dry_run = begin->dry_run,
        .stopped = is_stopped,
        .context = loads->options.service,
    };
    struct load_handle *handle = calloc(1, sizeof *handle);
    if (handle == NULL) {
        return err_no_memory(err, sizeof *handle);
    }
    *handle = (struct load_handle){.loads = loads, .users = 1};
    enum err_code code = load_open(&options, &handle->load, err);
    if (code != OK) {
        free(handle);
        return code;
    }
    *out = handle;
    return OK;
}

/* Under the lock. How many loads are under way; one that is over is only remembered, for whoever missed its answer. Of too
 * many such the oldest is forgotten. */
static size_t count_open(struct loads *loads)
{
    size_t open = 0, remembered = 0;
    struct load_handle *oldest = NULL;
    for (struct load_handle *handle = loads->first; handle != NULL; handle = handle->next) {
        struct load_view view;
        load_look_at(handle->load, &view);
        bool over = (view.state == LOAD_COMMITTED || view.state == LOAD_FAILED) && view.bodies_under_way == 0;
        open += !over;
        remembered += over && !handle->forgotten;
        oldest = over && !handle->forgotten ? handle : oldest;
    }
    if (remembered > MOST_REMEMBERED) {
        oldest->forgotten = true;
    }
    metric_set(loads->open, (double)open);
    return open;
}

static enum err_code insert(struct loads *loads, struct load_handle *handle, struct error *err)
{
    const int64_t most = loads->options.config->load_sessions;
    enum err_code code = OK;
    (void)pthread_mutex_lock(&loads->lock);
    const size_t open = count_open(loads);
    if (loads->stopping) {
        code = err_set(err, ERR_STOPPED, "shutting down; hint: try again");
    } else if ((int64_t)open >= most) {
        code = err_set(err, ERR_UNAVAILABLE,
                       "expected at most %lld loads at once but found as many; hint: try again later, or raise "
                       "GRANARY_WRITER_LOAD_SESSIONS",
                       (long long)most);
    } else {
        handle->next = loads->first;
        loads->first = handle;
        metric_set(loads->open, (double)(open + 1));
    }
    (void)pthread_mutex_unlock(&loads->lock);
    return code;
}

enum err_code loads_begin(struct loads *loads, const struct loads_begin *begin, struct load_handle **out,
                          struct error *err)
{
    struct load_handle *handle = NULL;
    TRY(make_handle(loads, begin, &handle, err));
    enum err_code code = insert(loads, handle, err);
    if (code != OK) {
        load_close(handle->load); /* nothing is staged: this asks nobody */
        free(handle);
        return code;
    }
    *out = handle;
    return OK;
}

enum err_code loads_find(struct loads *loads, const struct uuid *load_id, const struct uuid *table_id,
                         struct load_handle **out, struct error *err)
{
    char id[UUID_TEXT_BYTES];
    struct load_handle *found = NULL;
    (void)pthread_mutex_lock(&loads->lock);
    for (struct load_handle *handle = loads->first; handle != NULL && found == NULL; handle = handle->next) {
        if (!handle->forgotten && uuid_equal(&load_options_of(handle->load)->load_id, load_id) &&
            uuid_equal(&load_table(handle->load)->table_id, table_id)) {
            handle->users++;
            found = handle;
        }
    }
    (void)pthread_mutex_unlock(&loads->lock);
    if (found == NULL) {
        return err_set(
            err, ERR_NOT_FOUND,
            "no load \"%s\" of this table; hint: a load lives in the process that began it, as long as it is "
            "in use",
            uuid_format(load_id, id));
    }
    *out = found;
    return OK;
}

static void release(struct load_handle *handle, bool forget)
{
    if (handle == NULL) {
        return;
    }
    struct loads *loads = handle->loads;
    (void)pthread_mutex_lock(&loads->lock);
    handle->users--;
    handle->forgotten = handle->forgotten || forget;
    (void)pthread_cond_signal(&loads->changed);
    (void)pthread_mutex_unlock(&loads->lock);
}

void loads_release(struct load_handle *handle)
{
    release(handle, false);
}

void loads_end(struct load_handle *handle)
{
    release(handle, true);
}

/* --- keeping -------------------------------------------------------------------------------------------------------- */

static void give_up_idle(struct load *load, const struct load_view *view, bool forgotten)
{
    char id[UUID_TEXT_BYTES];
    struct error why;
    if (forgotten) {
        err_set(&why, ERR_STOPPED, "nobody asks for it any more");
    } else {
        err_set(&why, ERR_TIMEOUT, "it was idle for too long; hint: GRANARY_WRITER_LOAD_IDLE");
        log_warn("a load was idle for too long and is given up",
                 LOG_TEXT("load_id", uuid_format(&load_options_of(load)->load_id, id)),
                 LOG_INT("rows", view->totals.rows));
    }
    load_fail(load, &why);
}

/* Without the lock; the keeper is a user. True: the load can be forgotten. */
static bool tend(struct loads *loads, struct load *load, bool only_user, bool forgotten)
{
    struct load_view view;
    load_look_at(load, &view);
    const bool idle =
        view.bodies_under_way == 0 && clock_monotonic_us() - view.touched_us > loads->options.config->load_idle_us;
    if (view.state == LOAD_OPEN && only_user && (forgotten || idle)) {
        give_up_idle(load, &view, forgotten);
        view.state = LOAD_FAILED;
    }
    if (view.state == LOAD_OPEN) {
        load_keep(load);
    } else if (view.state != LOAD_COMMITTING) {
        load_bury(load);
    }
    return view.state != LOAD_OPEN && view.state != LOAD_COMMITTING && (idle || forgotten);
}

/* Under the lock. */
static void take_out(struct loads *loads, const struct load_handle *handle)
{
    struct load_handle **link = &loads->first;
    while (*link != handle) {
        link = &(*link)->next;
    }
    *link = handle->next;
}

/* Under the lock; once for each load. What was aborted, or was there before, has not failed. */
static void count_end(const struct loads *loads, struct load_handle *handle)
{
    struct load_view view;
    load_look_at(handle->load, &view);
    if (handle->counted || (view.state != LOAD_COMMITTED && view.state != LOAD_FAILED)) {
        return;
    }
    handle->counted = true;
    if (view.state == LOAD_FAILED) {
        metric_add(loads->failed, view.failure.code != ERR_STOPPED);
    } else if (!load_options_of(handle->load)->dry_run) {
        metric_add(loads->committed, 1);
        metric_add(loads->rows, view.totals.rows);
        metric_add(loads->rejects, view.totals.rejects);
        metric_add(loads->partitions, view.totals.partitions);
        metric_add(loads->bytes, view.totals.data_bytes);
    }
}

static void close_handle(struct load_handle *handle_take)
{
    load_close(handle_take->load);
    free(handle_take);
}

/* Under the lock, which is let go while a load is tended. Others only put in at the front. */
static void tend_all(struct loads *loads)
{
    for (struct load_handle *handle = loads->first; handle != NULL;) {
        struct load_handle *next = handle->next;
        const bool only_user = handle->users == 0;
        const bool forgotten = handle->forgotten;
        handle->users++;
        (void)pthread_mutex_unlock(&loads->lock);
        bool over = tend(loads, handle->load, only_user, forgotten);
        (void)pthread_mutex_lock(&loads->lock);
        handle->users--;
        count_end(loads, handle);
        if (over && handle->users == 0) {
            take_out(loads, handle);
            (void)pthread_mutex_unlock(&loads->lock);
            close_handle(handle);
            (void)pthread_mutex_lock(&loads->lock);
        }
        handle = next;
    }
    (void)count_open(loads);
}

static void *keep(void *context)
{
    struct loads *loads = context;
    (void)pthread_mutex_lock(&loads->lock);
    while (!loads->closing) {
        tend_all(loads);
        int64_t until_us = clock_monotonic_us() + LOOK_EVERY_US;
        const struct timespec until = {.tv_sec = until_us / CLOCK_SECOND_US,
                                       .tv_nsec = until_us % CLOCK_SECOND_US * 1000};
        if (!loads->closing) {
            (void)pthread_cond_timedwait(&loads->changed, &loads->lock, &until);
        }
    }
    (void)pthread_mutex_unlock(&loads->lock);
    return NULL;
}

/* --- opening and closing -------------------------------------------------------------------------------------------- */

static void register_metrics(struct loads *loads, struct metrics *metrics)
{
    static const char total[] = "granary_loads_total";
    static const char help[] = "Loads that were committed or failed; aborted ones are neither.";
    loads->open = metrics_gauge(metrics, "granary_loads_open", NULL, "Loads that are under way in this process.");
    loads->committed = metrics_counter(metrics, total, "result=\"committed\"", help);
    loads->failed = metrics_counter(metrics, total, "result=\"failed\"", help);
    loads->rows = metrics_counter(metrics, "granary_loads_rows_total", NULL, "Rows of committed loads.");
    loads->rejects = metrics_counter(metrics, "granary_loads_rejects_total", NULL, "Rejects of committed loads.");
    loads->partitions =
        metrics_counter(metrics, "granary_loads_partitions_total", NULL, "Partitions of committed loads.");
    loads->bytes =
        metrics_counter(metrics, "granary_loads_bytes_total", NULL, "Bytes of partitions of committed loads.");
}

static void init_locks(struct loads *loads)
{
    pthread_condattr_t attributes;
    (void)pthread_mutex_init(&loads->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&loads->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

enum err_code loads_open(const struct loads_options *options, struct loads **out, struct error *err)
{
    struct loads *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return err_no_memory(err, sizeof *made);
    }
    init_locks(made);
    AUTO(loads_close_auto) struct loads *loads = made;
    loads->options = *options;
    loads->catalog = (struct catalog_options){
        .url = options->config->catalog.url,
        .password = options->config->catalog.password,
        .application_name = "granary-intake-load",
    };
    register_metrics(loads, service_metrics(options->service));
    if (pthread_create(&loads->keeper, NULL, keep, loads) != 0) {
        return err_set(err, ERR_NO_MEMORY, "could not start the thread that keeps loads");
    }
    loads->keeping = true;
    *out = TAKE(loads);
    return OK;
}

void loads_stop(struct loads *loads)
{
    struct error why;
    err_set(&why, ERR_STOPPED, "shutting down; hint: begin the load again");
    (void)pthread_mutex_lock(&loads->lock);
    loads->stopping = true;
    for (struct load_handle *handle = loads->first; handle != NULL; handle = handle->next) {
        load_fail(handle->load, &why);
    }
    (void)pthread_mutex_unlock(&loads->lock);
}

void loads_close(struct loads *loads)
{
    if (loads == NULL) {
        return;
    }
    loads_stop(loads);
    (void)pthread_mutex_lock(&loads->lock);
    loads->closing = true;
    (void)pthread_cond_signal(&loads->changed);
    (void)pthread_mutex_unlock(&loads->lock);
    if (loads->keeping) {
        (void)pthread_join(loads->keeper, NULL);
    }
    while (loads->first != NULL) {
        struct load_handle *handle = loads->first;
        take_out(loads, handle);
        close_handle(handle);
    }
    (void)pthread_cond_destroy(&loads->changed);
    (void)pthread_mutex_destroy(&loads->lock);
    free(loads);
}
