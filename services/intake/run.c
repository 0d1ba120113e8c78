#include "services/intake/run.h"

#include <malloc.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/clock.h"
#include "services/intake/config.h"
#include "services/intake/head/head.h"
#include "services/intake/load/routes.h"
#include "services/intake/queue.h"
#include "services/intake/tables.h"
#include "services/intake/writer/writer.h"

struct process {
    struct catalog *catalog;       /* of the schema cache */
    struct catalog *check_catalog; /* of the readiness check */
    struct intake_tables *tables;
    struct head *head;     /* NULL in a writer */
    struct writer *writer; /* NULL in a head */
    struct loads *loads;   /* likewise */
    struct http_route routes[1 + LOAD_ROUTE_COUNT];
    atomic_bool declared; /* the queue is there */
};

static void process_done(struct process *process)
{
    head_close(process->head);
    loads_close(process->loads);
    writer_close(process->writer);
    intake_tables_free(process->tables);
    catalog_close(process->catalog);
    catalog_close(process->check_catalog);
}

static enum err_code check_catalog(void *context, struct error *err)
{
    return catalog_check_version(((struct process *)context)->check_catalog, err);
}

static enum err_code check_head(void *context, struct error *err)
{
    if (!atomic_load(&((struct process *)context)->declared)) {
        return err_set(err, ERR_UNAVAILABLE, "the queue has not been declared yet");
    }
    return head_check(((struct process *)context)->head, err);
}

static enum err_code check_writer(void *context, struct error *err)
{
    return writer_check_bus(((struct process *)context)->writer, err);
}

static enum err_code check_store(void *context, struct error *err)
{
    return writer_check_store(((struct process *)context)->writer, err);
}

static enum err_code wait_for(void *service, int64_t timeout_us)
{
    return service_wait(service, timeout_us);
}

static enum err_code open_catalogs(struct process *process, const struct intake_config *config, struct error *err)
{
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-intake",
        .connect_timeout_us = 2 * CLOCK_SECOND_US, /* a request for a table not yet known waits for it */
        .statement_timeout_us = 5 * CLOCK_SECOND_US,
    };
    TRY(catalog_open(&options, &process->catalog, err));
    TRY(catalog_open(&options, &process->check_catalog, err));
    return intake_tables_new(process->catalog, config->schema_ttl_us, &process->tables, err);
}

static enum err_code check_config(const struct intake_config *config, bool writes, struct error *err)
{
    if (writes && *config->store.url == '\0') {
        return err_set(err, ERR_INVALID,
                       "a writer needs GRANARY_STORE_URL; hint: file:///path, or "
                       "GRANARY_INTAKE_ROLE=head");
    }
    return OK;
}

static enum err_code open_roles(struct service *service, struct process *process, const struct intake_config *config,
                                const struct bus_options *bus, struct error *err)
{
    const bool heads = strcmp(config->role, "writer") != 0;
    const bool writes = strcmp(config->role, "head") != 0;
    TRY(check_config(config, writes, err));
    service_add_check(service, "catalog", check_catalog, process);
    if (heads) {
        TRY(head_open(config, bus, process->tables, service_metrics(service), &process->head, err));
        service_add_check(service, "bus_publish", check_head, process);
    }
    if (writes) {
        TRY(writer_open(service, config, bus, process->tables, &process->writer, err));
        service_add_check(service, "bus_consume", check_writer, process);
        service_add_check(service, "store", check_store, process);
        const struct loads_options loads = {.config = config,
                                            .service = service,
                                            .storages = writer_storages(process->writer),
                                            .tables = process->tables};
        TRY(loads_open(&loads, &process->loads, err));
    }
    return OK;
}

/* Loads everywhere, if only to say where they are taken; rows where there is a head. */
static size_t make_routes(struct process *process)
{
    load_routes_make(process->loads, process->routes);
    if (process->head == NULL) {
        return LOAD_ROUTE_COUNT;
    }
    process->routes[LOAD_ROUTE_COUNT] = *head_route(process->head);
    return LOAD_ROUTE_COUNT + 1;
}

/* Batches and row groups come and go in blocks of any size, on many threads. glibc would keep them all in its arenas, and
 * raise its bound for blocks that go back to the system with each that it frees: a load of 20 M rows then held 556 MiB. Where
 * too much goes back, its pages are made anew for the next block, which took half of the processor's time: hence these. */
static void bound_memory(void)
{
    enum { MAPPED_BYTES = 16 << 20, KEPT_BYTES = 64 << 20, ARENAS = 4 };
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_ARENA_MAX, ARENAS);
}

enum err_code intake_run(struct service *service, const void *config_of_service, struct error *err)
{
    const struct intake_config *config = config_of_service;
    const struct bus_queue_spec queue = intake_queue(config->queue_max_bytes);
    struct bus_options bus;
    AUTO(process_done) struct process process = {0};
    bound_memory();
    TRY(bus_options_of(&config->bus, "granary-intake", &bus, err));
    TRY(open_catalogs(&process, config, err));
    TRY(open_roles(service, &process, config, &bus, err));
    AUTO(service_unlisten_auto)
    struct service *listening = service; /* routes and checks use what this function frees */
    TRY(service_listen(listening, &config->http, process.routes, make_routes(&process), process.head, err));
    enum err_code code = bus_declare_patiently(&bus, &queue, 1, wait_for, service, err);
    atomic_store(&process.declared, code == OK);
    while (code == OK && service_wait(service, CLOCK_HOUR_US) != ERR_STOPPED) {
    }
    if (process.head != NULL) {
        head_stop(process.head); /* answers all that wait, so that the listener can close */
    }
    if (process.loads != NULL) {
        loads_stop(process.loads);
    }
    return code;
}
