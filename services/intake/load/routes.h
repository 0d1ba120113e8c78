/* Loads over HTTP. A head has the routes too, and says where loads are taken. */
#ifndef GRANARY_INTAKE_LOAD_ROUTES_H
#define GRANARY_INTAKE_LOAD_ROUTES_H

#include "common/http/http.h"
#include "services/intake/load/loads.h"

enum { LOAD_ROUTE_COUNT = 6 };
/* loads NULL: of a process that takes none. */
void load_routes_make(struct loads *loads, struct http_route out[LOAD_ROUTE_COUNT]);

#endif
