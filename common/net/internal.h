/* What the files of this module share. */
#ifndef GRANARY_NET_INTERNAL_H
#define GRANARY_NET_INTERNAL_H

#include <curl/curl.h>

#include "common/net/net.h"

struct net_client {
    CURL *curl;          /* its connections are reused from one request to the next */
    char *ca_file;       /* NULL: the system's */
    char *authorization; /* whole header line; NULL: none */
    char *user_agent;
    int64_t connect_timeout_us;
    int64_t stall_timeout_us;
};

/* One try. *out_streamed: on_data got something, so that another try would repeat it. */
MUST_CHECK enum err_code net_try(struct net_client *client, const struct net_request *request, struct net_answer *out,
                                 bool *out_streamed, struct error *err);

#endif
