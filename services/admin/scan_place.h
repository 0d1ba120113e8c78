/* A place among the scans under way: whatever streams for long and reads much takes one. */
#ifndef GRANARY_ADMIN_SCAN_PLACE_H
#define GRANARY_ADMIN_SCAN_PLACE_H

#include "services/admin/admin.h"

/* ERR_UNAVAILABLE, with the status 429 and Retry-After, when all are taken. *out is what to give back. */
MUST_CHECK enum err_code scan_place_take(struct call *call, struct admin **out, struct error *err);
void scan_place_give(struct admin *admin); /* NULL is fine: none was taken */

#endif
