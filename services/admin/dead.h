/* What listing, exporting and dropping dead letters share. */
#ifndef GRANARY_ADMIN_DEAD_H
#define GRANARY_ADMIN_DEAD_H

#include "services/admin/admin.h"

/* {queue}: a work queue, such as "reap". ERR_NOT_FOUND when the broker has no dead letters of that name. */
MUST_CHECK enum err_code dead_queue(struct call *call, const char **out, struct error *err);
/* bus_dead_visit on the queue's dead letters. */
MUST_CHECK enum err_code dead_visit(struct call *call, const char *queue, size_t max, bus_dead_visitor *visit,
                                    void *context, size_t *out_visited, struct error *err);

/* How a letter is known: its message id, or "sha256:<hex of its body>" where it has none. */
enum { DEAD_ID_BYTES = 256 };
void dead_id(const struct bus_dead_message *message, char out[DEAD_ID_BYTES]);

struct dead_ids {
    struct arena *arena;
    const char **ids;
    size_t count, capacity;
};
MUST_CHECK enum err_code dead_ids_add(struct dead_ids *ids, const struct bus_dead_message *message, struct error *err);
void dead_ids_sort(struct dead_ids *ids);
bool dead_ids_have(const struct dead_ids *ids, const struct bus_dead_message *message); /* sorted */

/* {"queue":...,"messages":n} in the audit log, in a transaction of its own. */
MUST_CHECK enum err_code dead_audit(struct call *call, const char *action, const char *queue, int64_t messages,
                                    struct error *err);
/* Remembers in the audit log that these letters were exported; whose principal `actor` is. */
MUST_CHECK enum err_code dead_mark_exported(struct catalog *catalog, const char *queue, const struct dead_ids *ids,
                                            const char *actor, struct error *err);
/* ERR_CONFLICT unless every one of them was. */
MUST_CHECK enum err_code dead_check_exported(struct call *call, const char *queue, const struct dead_ids *ids,
                                             struct error *err);

#endif
