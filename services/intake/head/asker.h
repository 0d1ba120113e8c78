/* Asks the catalog for batch ids, for all requests together: before publishing whether a keyed batch is known already, and
 * after it whether a batch that somebody waits for has been committed. One thread with one connection. */
#ifndef GRANARY_INTAKE_HEAD_ASKER_H
#define GRANARY_INTAKE_HEAD_ASKER_H

#include "common/catalog/catalog.h"
#include "services/intake/head/request.h"

struct asker;

typedef void asker_go_fn(void *context, struct request *request); /* a keyed request that is new: publish it */

struct asker_options {
    struct catalog *catalog; /* used by the asker's thread alone */
    asker_go_fn *go;
    void *context;
};
MUST_CHECK enum err_code asker_open(const struct asker_options *options, struct asker **out, struct error *err);
/* Stops the thread. Keyed requests not yet published fail with ERR_STOPPED; those that wait are told "not yet". */
void asker_stop(struct asker *asker);
void asker_close(struct asker *asker);

void asker_check(struct asker *asker, struct request *request_take); /* before publishing */
void asker_wait(struct asker *asker, struct request *request_take);  /* after the confirm */

#endif
