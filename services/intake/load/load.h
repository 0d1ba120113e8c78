/* One load: rows that come in any number of bodies and appear in one commit, or not at all (docs/adr/0015-load-sessions.md).
 *
 * Rows are gathered up to a bound of memory; then the largest time buckets are sorted, written and staged under the one
 * lock of the load, and the next rows come. Thread safe: bodies may come at the same time. */
#ifndef GRANARY_INTAKE_LOAD_LOAD_H
#define GRANARY_INTAKE_LOAD_LOAD_H

#include "common/catalog/catalog.h"
#include "common/ingest/ingest.h"
#include "common/storages/storages.h"
#include "services/intake/tables.h"

enum { LOAD_SHOWN_REJECTS = 100, LOAD_SHOWN_BUCKETS = 1000, LOAD_MAX_PARTITIONS = 100000 };
#define LOAD_ANY_REJECTS INT64_MAX

enum load_state {
    LOAD_OPEN,
    LOAD_COMMITTING, /* nothing more is taken */
    LOAD_COMMITTED,
    LOAD_FAILED, /* or aborted: nothing of it will ever be seen */
    LOAD_STATE_COUNT
};
const char *load_state_name(enum load_state state);

struct load_options {
    const struct intake_table *table; /* counted: the load takes a share */
    const struct catalog_options *catalog;
    struct storages *storages; /* borrowed */
    const char *owner;
    struct uuid load_id;
    struct uuid batch_id; /* of its commit; when keyed, of everyone who loads under this key */
    bool keyed;
    int64_t received_at_us; /* of its rejects */
    int64_t memory_bytes;   /* of rows gathered; about twice that is used while they are written */
    int64_t max_rejects;    /* more fail the load; LOAD_ANY_REJECTS */
    int64_t lease_us;
    unsigned threads;
    bool dry_run; /* counts, and writes nothing */
    bool (*stopped)(void *context);
    void *context;
};

struct load_totals {
    int64_t rows, rejects, bodies;
    int64_t partitions, data_bytes; /* written, or of a dry run the least that would be */
};

struct load;

/* No I/O. */
MUST_CHECK enum err_code load_open(const struct load_options *options, struct load **out, struct error *err);
/* Gives up what is staged and not committed. Nobody may be at work with it. */
void load_close(struct load *load);
DEFINE_AUTO(struct load, load_close)

/* --- what was there before: asks store and catalog ------------------------------------------------------------------ */

struct load_before {
    bool known; /* the load's id has been committed before */
    uint8_t body_sha256[32];
    int64_t rows, rejects;
};
/* ERR_DENIED: the store is another deployment's. */
MUST_CHECK enum err_code load_look(struct load *load, struct load_before *out, struct error *err);

/* --- bodies --------------------------------------------------------------------------------------------------------- */

/* A body begins. ERR_CONFLICT: the load is over; of a failed one with the reason why. */
MUST_CHECK enum err_code load_enter(struct load *load, struct error *err);
/* Takes rows and rejects in; body_id stands beside the rejects. Fails the load when it fails. */
MUST_CHECK enum err_code load_append(struct load *load, const struct batch *rows, const struct ingest_reject *rejects,
                                     size_t reject_count, const struct uuid *body_id, struct error *err);
/* A body is over. `failure` says why it is not whole: the load fails with it, since some of its rows may be in. NULL: whole. */
void load_leave(struct load *load, const struct error *failure);

/* --- the end -------------------------------------------------------------------------------------------------------- */

/* Writes what is gathered and commits. ERR_CONFLICT with out->known: the id was committed meanwhile by somebody else. A
 * load that has been committed may be asked again. Of a dry run nothing is written. */
MUST_CHECK enum err_code load_commit(struct load *load, const uint8_t body_sha256[32], struct load_before *out,
                                     struct error *err);
void load_fail(struct load *load, const struct error *why);
/* Drops rows and staged partitions of a load that is over, as far as nobody is at work with it. */
void load_bury(struct load *load);
/* Renews the lease where it is due, unless somebody is at work, who does it himself. A lease that is lost fails the load. */
void load_keep(struct load *load);

/* --- looking -------------------------------------------------------------------------------------------------------- */

struct load_bucket {
    int64_t start_us;
    int64_t rows;
};
struct load_view {
    enum load_state state;
    struct error failure; /* of a failed one */
    struct load_totals totals;
    unsigned bodies_under_way;
    int64_t touched_us; /* monotonic: the end of the last body */
};
void load_look_at(struct load *load, struct load_view *out);
/* The first rejects, the first buckets of a dry run: as JSON members `,"rejects":[...]`, `,"buckets":[...]`. */
MUST_CHECK enum err_code load_format_rejects(struct load *load, struct buf *out, struct error *err);
MUST_CHECK enum err_code load_format_buckets(struct load *load, struct buf *out, struct error *err);

const struct intake_table *load_table(const struct load *load); /* borrowed */
const struct load_options *load_options_of(const struct load *load);

#endif
