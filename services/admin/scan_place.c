#include "services/admin/scan_place.h"

enum err_code scan_place_take(struct call *call, struct admin **out, struct error *err)
{
    struct admin *admin = call->admin;
    if (atomic_fetch_add(&admin->scans, 1) >= admin->config->scans) {
        (void)atomic_fetch_sub(&admin->scans, 1);
        http_set_header(call->request, "Retry-After", "1");
        http_set_error_status(call->request, 429);
        return err_set(err, ERR_UNAVAILABLE, "%lld scans are under way, as many as may be; hint: try again in a moment",
                       (long long)admin->config->scans);
    }
    metric_add(admin->scans_under_way, 1);
    *out = admin;
    return OK;
}

void scan_place_give(struct admin *admin)
{
    if (admin != NULL) {
        (void)atomic_fetch_sub(&admin->scans, 1);
        metric_add(admin->scans_under_way, -1);
    }
}
