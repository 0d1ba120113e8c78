#include "services/admin/run.h"

#include <pthread.h>

#include "common/base/clock.h"
#include "services/admin/admin.h"
#include "services/admin/routes.h"

/* Readiness has a connection of its own: it must not wait behind the requests. */
struct probe {
    struct catalog *catalog;
    pthread_mutex_t lock;
};

static void probe_done(struct probe *probe)
{
    catalog_close(probe->catalog);
    (void)pthread_mutex_destroy(&probe->lock);
}

static void admin_done(struct admin *admin)
{
    connections_close(admin->connections);
    abilities_free(admin->abilities);
    storages_close(admin->storages);
}

static enum err_code check_catalog(void *context, struct error *err)
{
    struct probe *probe = context;
    (void)pthread_mutex_lock(&probe->lock);
    enum err_code code = catalog_ping(probe->catalog, err);
    (void)pthread_mutex_unlock(&probe->lock);
    return code;
}

static enum err_code admin_open(struct admin *admin, struct probe *probe, const struct admin_config *config,
                                struct error *err)
{
    struct metrics *metrics = service_metrics(admin->service);
    const struct catalog_options options = {
        .url = config->catalog.url,
        .password = config->catalog.password,
        .application_name = "granary-admin",
    };
    struct store_options store;
    admin->config = config;
    TRY(bus_options_of(&config->bus, "granary-admin", &admin->bus, err));
    store_options_of(&config->store, metrics, &store);
    TRY(storages_open(config->store.url, &store, &admin->storages, err));
    TRY(abilities_new(&admin->abilities, err));
    TRY(connections_open(&options, (size_t)config->connections, &admin->connections, err));
    TRY(catalog_open(&options, &probe->catalog, err));
    admin->requests =
        metrics_counter(metrics, "granary_admin_requests_total", NULL, "Requests to the admin API begun.");
    admin->scans_under_way =
        metrics_gauge(metrics, "granary_admin_scans_under_way", NULL, "Scans and counts of rows under way.");
    admin->scan_rows =
        metrics_counter(metrics, "granary_admin_scan_rows_total", NULL, "Rows that scans have returned.");
    return OK;
}

/* Broker and store are asked by the requests that need them: without them the rest of the API goes on. */
enum err_code admin_run(struct service *service, const void *config, struct error *err)
{
    AUTO(admin_done) struct admin admin = {.service = service};
    AUTO(probe_done) struct probe probe = {.lock = PTHREAD_MUTEX_INITIALIZER};
    TRY(admin_open(&admin, &probe, config, err));
    service_add_check(service, "catalog", check_catalog, &probe);
    AUTO(service_unlisten_auto) struct service *listening = service; /* the handlers use what this function frees */
    TRY(service_listen(listening, &admin.config->http, admin_routes, admin_route_count, &admin, err));
    while (service_wait(service, CLOCK_HOUR_US) != ERR_STOPPED) {
    }
    return OK;
}
