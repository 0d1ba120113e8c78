#include "services/merge-controller/run.h"

#include "common/base/clock.h"
#include "common/catalog/merge.h"
#include "common/log/log.h"
#include "services/merge-controller/controller.h"
#include "services/merge-controller/lead.h"

#define ELECTION_PAUSE_US CLOCK_SECOND_US
enum { PUBLISH_WINDOW_BYTES = 64 << 20 };

struct process {
    struct controller controller;
    struct catalog *check_catalog; /* of the readiness check */
};

static void process_done(struct process *process)
{
    bus_publisher_close(process->controller.publisher);
    catalog_close(process->controller.catalog);
    catalog_close(process->controller.leader_catalog);
    catalog_close(process->check_catalog);
}

static enum err_code check_catalog(void *context, struct error *err)
{
    return catalog_check_version(((struct process *)context)->check_catalog, err);
}

static enum err_code check_bus(void *context, struct error *err)
{
    return bus_publisher_ready(((struct process *)context)->controller.publisher, err) ? OK : ERR_UNAVAILABLE;
}

static enum err_code open_catalog(const struct merge_config *config, const char *url, struct catalog **out,
                                  struct error *err)
{
    const struct catalog_options options = {
        .url = url,
        .password = config->catalog.password,
        .application_name = "granary-merge-controller",
    };
    return catalog_open(&options, out, err);
}

static enum err_code open_all(struct process *process, const struct merge_config *config, struct error *err)
{
    struct controller *controller = &process->controller;
    const char *url = config->catalog.url;
    TRY(bus_options_of(&config->bus, "granary-merge-controller", &controller->bus, err));
    TRY(open_catalog(config, url, &controller->catalog, err));
    TRY(open_catalog(config, url, &process->check_catalog, err));
    TRY(open_catalog(config, *config->leader_url != '\0' ? config->leader_url : url, &controller->leader_catalog, err));
    return bus_publisher_open(&controller->bus, PUBLISH_WINDOW_BYTES, &controller->publisher, err);
}

static enum err_code wait_for(void *service, int64_t timeout_us)
{
    return service_wait(service, timeout_us);
}

/* --- elections ----------------------------------------------------------------------------------------------------- */

enum standing { STANDING_UNKNOWN, STANDING_BY, STANDING_TROUBLE };

static void tell_standing(enum standing *told, enum standing now, const struct error *err)
{
    if (*told != now && now == STANDING_BY) {
        log_info("another controller leads, standing by");
    } else if (*told != now) {
        log_warn("the leader cannot be elected", LOG_ERR(err));
    }
    *told = now;
}

static void serve_as_leader(struct controller *controller)
{
    struct error err = {0};
    metric_set(controller->metrics->leading, 1);
    log_info("leading", LOG_INT("epoch", controller->leadership.epoch));
    if (lead(controller, &err) != OK) {
        log_warn("leads no more", LOG_ERR(&err));
    }
    metric_set(controller->metrics->leading, 0);
    (void)!catalog_leader_resign(controller->leader_catalog, CATALOG_MERGE_LEADER, NULL);
    controller->leadership = (struct catalog_leadership){0};
}

static void take_part(struct controller *controller)
{
    enum standing told = STANDING_UNKNOWN;
    do {
        struct error err = {0};
        bool leads = false;
        enum err_code code = catalog_leader_try(controller->leader_catalog, CATALOG_MERGE_LEADER, controller->owner,
                                                &leads, &controller->leadership, &err);
        if (code == OK && leads) {
            serve_as_leader(controller);
            told = STANDING_UNKNOWN;
        } else {
            tell_standing(&told, code == OK ? STANDING_BY : STANDING_TROUBLE, &err);
        }
    } while (service_wait(controller->service, ELECTION_PAUSE_US) != ERR_STOPPED);
}

enum err_code merge_run(struct service *service, const void *config_of_service, struct error *err)
{
    const struct merge_config *config = config_of_service;
    struct merge_metrics metrics;
    merge_metrics_init(&metrics, service_metrics(service));
    AUTO(process_done)
    struct process process = {
        .controller = {.service = service, .config = config, .owner = service_instance(service), .metrics = &metrics},
    };
    const struct bus_queue_spec queue = {.name = MERGE_RESULT_QUEUE};
    TRY(open_all(&process, config, err));
    service_add_check(service, "catalog", check_catalog, &process);
    service_add_check(service, "bus", check_bus, &process);
    AUTO(service_unlisten_auto) struct service *listening = service; /* the checks use what this function frees */
    TRY(service_listen(listening, &config->http, NULL, 0, NULL, err));
    TRY(bus_declare_patiently(&process.controller.bus, &queue, 1, wait_for, service, err));
    take_part(&process.controller);
    return OK;
}
