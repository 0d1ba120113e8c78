/* May this process delete? The one question that every deleter asks, and goes on asking: the operator's brake, and for each
 * storage whether it is the one that this catalog knows (safety rules 1, 4 and 5).
 *
 *   marker   granary-deployment.json names this deployment; else the store, or the catalog, is not the one that was meant
 *   mark     the catalog holds the highest number among the marks of the store, and what stands there is what it wrote;
 *            else the catalog was restored from a backup (the store has seen more than it), or another catalog of the same
 *            deployment, a clone, deletes here too
 *
 * The mark is raised in the catalog first, then created in the store. A crash between the two is made good by whoever asks
 * next: all deleters of a catalog write the same object. Two catalogs cannot both create one number with their own nonce. */
#ifndef GRANARY_GATE_GATE_H
#define GRANARY_GATE_GATE_H

#include "common/metrics/metrics.h"
#include "common/storages/storages.h"

enum gate_state {
    GATE_OPEN,
    GATE_PAUSED,  /* an operator's wish, no fault */
    GATE_REFUSED, /* a marker or a mark says no: until granary recover nothing is deleted anywhere. Jobs exit with 3 */
    GATE_UNKNOWN, /* the catalog, or no storage at all, could be asked: try again */
    GATE_STATE_COUNT
};

struct gate;
struct gate_options {
    struct storages *storages; /* borrowed */
    int64_t every_us;        /* how often the stores are asked and the mark is raised; oftener while a store says no */
    struct metrics *metrics; /* NULL for none */
};
MUST_CHECK enum err_code gate_new(const struct gate_options *options, struct gate **out, struct error *err);
void gate_free(struct gate *gate);
DEFINE_AUTO(struct gate, gate_free)

/* Asks the catalog, and the stores when that is due. Call it before the first delete and then about once a second, always
 * from one thread (whose catalog this is). out_reason: why it is not open; untouched when it is. */
enum gate_state gate_ask(struct gate *gate, struct catalog *catalog, struct error *out_reason);

/* What gate_ask said last, from any thread. */
enum gate_state gate_last(struct gate *gate, struct error *out_reason);

/* Right before deleting in a storage, from any thread; asks nobody. OK only while gate_ask found all well, within the last
 * five minutes. ERR_DENIED: paused or refused. ERR_UNAVAILABLE: this storage could not be asked, or was not yet. */
MUST_CHECK enum err_code gate_check(struct gate *gate, int32_t storage_id, struct error *err);

/* What stands in catalog and store, for people; raises nothing. */
enum gate_finding {
    GATE_AGREES,
    GATE_UNUSED,      /* no marker, and no mark was ever raised: nothing was written yet */
    GATE_OTHER_STORE, /* no marker, or another deployment's */
    GATE_STORE_AHEAD, /* the store has higher marks: the catalog was restored */
    GATE_OTHER_MARK,  /* the same number, written by another catalog */
    GATE_NOT_ASKED,   /* the catalog, or the store, could not be asked */
    GATE_FINDING_COUNT
};
const char *gate_finding_name(enum gate_finding finding); /* "agrees", "unused", ... */
struct gate_view {
    enum gate_finding finding;
    int64_t catalog_number, store_number; /* 0: none */
    struct error reason;                  /* unless it agrees or is unused */
};
void gate_inspect(struct store *store, struct catalog *catalog, int32_t storage_id, const struct uuid *deployment_id,
                  struct gate_view *out);

/* Makes this catalog's mark the highest again, in catalog and store, with an audit row: every other catalog that knows this
 * store stops deleting. For findings GATE_STORE_AHEAD and GATE_OTHER_MARK, once somebody has looked. */
MUST_CHECK enum err_code gate_adopt(struct store *store, struct catalog *catalog, int32_t storage_id,
                                    const struct uuid *deployment_id, const char *reason, const char *actor,
                                    struct error *err);

#endif
