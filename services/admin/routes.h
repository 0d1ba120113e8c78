/* The route table: openapi.json describes the same, and a test holds the two against each other. */
#ifndef GRANARY_ADMIN_ROUTES_H
#define GRANARY_ADMIN_ROUTES_H

#include "common/http/http.h"

extern const struct http_route admin_routes[];
extern const size_t admin_route_count;

#endif
