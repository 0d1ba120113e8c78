/* Settings of granary-intake, both roles. */
#ifndef GRANARY_INTAKE_CONFIG_H
#define GRANARY_INTAKE_CONFIG_H

#include "common/config/config.h"

struct intake_config {
    struct config_catalog catalog;
    struct config_bus bus;
    struct config_store store; /* writer only; "" for a head */
    struct config_http http;
    const char *role; /* all, head, writer */

    /* head */
    int64_t max_body_bytes;    /* of a request as sent */
    int64_t max_decoded_bytes; /* of a request after decompression */
    int64_t max_row_bytes;
    int64_t max_in_flight_bytes; /* of all requests that are not answered yet */
    int64_t linger_us;
    int64_t schema_ttl_us;
    int64_t queue_max_bytes; /* of the queue, beyond which posts are answered with 429 */

    /* writer */
    int64_t workers;
    int64_t max_rows, max_bytes, max_open_us; /* what a flush gathers */
    int64_t prefetch;
    int64_t threads; /* that write the files of one flush */
    int64_t lease_us;

    /* writer: loads */
    int64_t load_sessions;
    int64_t load_memory_bytes; /* of rows gathered by one load */
    int64_t load_idle_us;
    const char *load_spool; /* folder */
    int64_t load_spool_max_bytes;
};

extern const struct setting intake_settings[];
extern const size_t intake_setting_count;

#endif
