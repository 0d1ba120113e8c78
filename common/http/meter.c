/* What an operator wants to know about any HTTP server. Classes rather than codes, so that a client cannot make series. */
#include <stdio.h>

#include "common/base/clock.h"
#include "common/http/internal.h"

void http_meter_init(struct http_meter *meter, struct metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    for (int i = 0; i < HTTP_STATUS_CLASSES; i++) {
        char labels[32];
        (void)snprintf(labels, sizeof labels, "code=\"%dxx\"", i + 1);
        meter->answers[i] =
            metrics_counter(metrics, "granary_http_requests_total", labels, "Answers by the class of their status.");
    }
    meter->in_progress =
        metrics_gauge(metrics, "granary_http_requests_in_progress", NULL, "Requests begun and not yet answered.");
    meter->duration = metrics_histogram(metrics, "granary_http_request_duration_seconds", NULL,
                                        "From the headers of a request to the end of its answer.");
}

void http_meter_begin(struct http_meter *meter)
{
    if (meter->in_progress != NULL) {
        metric_add(meter->in_progress, 1);
    }
}

void http_meter_answer(struct http_meter *meter, unsigned status)
{
    if (status >= 100 && status < 100 * (HTTP_STATUS_CLASSES + 1) && meter->answers[status / 100 - 1] != NULL) {
        metric_add(meter->answers[status / 100 - 1], 1);
    }
}

void http_meter_end(struct http_meter *meter, int64_t start_us)
{
    if (meter->in_progress != NULL) {
        metric_add(meter->in_progress, -1);
        metric_observe_us(meter->duration, clock_monotonic_us() - start_us);
    }
}
