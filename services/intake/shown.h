/* The first rejects of a body, for its answer. All of them stand in the companion table. */
#ifndef GRANARY_INTAKE_SHOWN_H
#define GRANARY_INTAKE_SHOWN_H

#include "common/base/buf.h"
#include "common/ingest/ingest.h"

struct shown {
    size_t most, count;
    struct shown_reject *rejects; /* owned */
};

void shown_done(struct shown *shown);
MUST_CHECK enum err_code shown_add(struct shown *shown, const struct ingest_reject *rejects, size_t count,
                                   struct error *err);
/* Appends the member `,"rejects":[{"row":1,"column":"a","reason":"..."}]`. */
MUST_CHECK enum err_code shown_format(const struct shown *shown, struct buf *out, struct error *err);

#endif
