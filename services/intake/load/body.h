/* One body of a load on its way: decoded as it comes, its rows handed on to the load. One thread at a time. */
#ifndef GRANARY_INTAKE_LOAD_BODY_H
#define GRANARY_INTAKE_LOAD_BODY_H

#include "services/intake/load/load.h"
#include "services/intake/load/spool.h"
#include "services/intake/shown.h"

struct load_body;

struct load_body_options {
    struct load *load;
    struct ingest_options ingest; /* texts are borrowed until the body is closed */
    struct ingest_limits limits;
    struct uuid body_id; /* stands beside its rejects */
    size_t shown_rejects;
    const char *spool_folder;
    int64_t spool_most_bytes;
    atomic_llong *spool_bytes;
};
/* Enters the load. */
MUST_CHECK enum err_code load_body_open(const struct load_body_options *options, struct load_body **out,
                                        struct error *err);
/* A body that was not finished fails its load: some of its rows may be in. */
void load_body_close(struct load_body *body);
DEFINE_AUTO(struct load_body, load_body_close)

/* The load has failed when this fails. May wait: for other bodies, and for partitions to be written. */
MUST_CHECK enum err_code load_body_feed(struct load_body *body, const void *data, size_t length, struct error *err);
MUST_CHECK enum err_code load_body_finish(struct load_body *body, struct error *err);

struct load_body_totals {
    int64_t rows, rejects;
};
struct load_body_totals load_body_totals(const struct load_body *body);
const struct shown *load_body_shown(const struct load_body *body);

#endif
