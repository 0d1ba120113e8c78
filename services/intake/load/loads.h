/* The loads of this process by id, and the thread that keeps them: renews their leases, gives up those that are idle for too
 * long or broken, and forgets those that are over. Thread safe. */
#ifndef GRANARY_INTAKE_LOAD_LOADS_H
#define GRANARY_INTAKE_LOAD_LOADS_H

#include <stdatomic.h>

#include "common/service/service.h"
#include "services/intake/config.h"
#include "services/intake/load/load.h"

struct loads;

struct loads_options {
    const struct intake_config *config; /* all borrowed */
    struct service *service;
    struct storages *storages;
    struct intake_tables *tables;
};
MUST_CHECK enum err_code loads_open(const struct loads_options *options, struct loads **out, struct error *err);
/* All loads fail, and no new one begins. */
void loads_stop(struct loads *loads);
/* After the listener was closed. Gives up what is not committed. */
void loads_close(struct loads *loads);
DEFINE_AUTO(struct loads, loads_close)

const struct loads_options *loads_options_of(const struct loads *loads);
atomic_llong *loads_spool_bytes(struct loads *loads);

/* --- one of them: used until it is released ------------------------------------------------------------------------- */
struct load_handle;

struct loads_begin {
    const struct intake_table *table;
    struct uuid load_id, batch_id;
    bool keyed, dry_run;
    int64_t max_rejects;
};
/* No I/O. ERR_UNAVAILABLE: there are as many as this process takes. */
MUST_CHECK enum err_code loads_begin(struct loads *loads, const struct loads_begin *begin, struct load_handle **out,
                                     struct error *err);
/* ERR_NOT_FOUND: this process has none of that id for that table. */
MUST_CHECK enum err_code loads_find(struct loads *loads, const struct uuid *load_id, const struct uuid *table_id,
                                    struct load_handle **out, struct error *err);
struct load *loads_get(const struct load_handle *handle); /* borrowed */
void loads_release(struct load_handle *handle);
DEFINE_AUTO(struct load_handle, loads_release)
/* The same, and nobody will ask for it any more: what is not committed is given up. */
void loads_end(struct load_handle *handle);
DEFINE_AUTO(struct load_handle, loads_end)

#endif
