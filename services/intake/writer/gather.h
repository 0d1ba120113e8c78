/* What a writer has gathered and not yet committed: batches by id, and the deliveries that they came in. A batch that comes
 * again while it is here is not added twice. One thread at a time. */
#ifndef GRANARY_INTAKE_WRITER_GATHER_H
#define GRANARY_INTAKE_WRITER_GATHER_H

#include "common/bus/bus.h"
#include "common/rows/batch.h"
#include "services/intake/plan.h"
#include "services/intake/tables.h"

struct gathered_batch { /* one id: a keyed request, or the requests of one message that have none of their own */
    struct uuid batch_id;
    bool keyed;
    bool committed; /* before, by somebody else: about to be dropped */
    uint8_t body_sha256[32];
    const struct intake_table *table; /* of its schema version; counted */
    struct batch *rows;               /* owned; NULL: none */
    struct batch *rejects;            /* owned; NULL: none */
};

struct gather {
    struct gathered_batch *batches; /* in the order of their coming */
    size_t count, capacity;
    uint32_t *index; /* open addressing over the batch ids: place in `batches` plus one; 0 is free */
    size_t index_slots;
    struct bus_delivery **deliveries;
    size_t delivery_count, delivery_capacity;
    struct codec *codec; /* made when first needed */
    struct intake_load load;
    int64_t since_us; /* monotonic */
};

void gather_done(struct gather *gather); /* frees the batches; the deliveries must have been settled */
void gather_clear(struct gather *gather);

/* Decodes the message and takes its batches in; takes the delivery only when OK. ERR_INVALID, ERR_CORRUPT, ERR_NOT_FOUND: the
 * message is bad or too old, or its table is unknown; ERR_UNAVAILABLE: the catalog is away and the schema not known. Nothing of a
 * message that fails is kept. */
MUST_CHECK enum err_code gather_add(struct gather *gather, struct intake_tables *tables, struct bus_delivery *delivery,
                                    struct error *err);
/* Drops the batches with these ids: they were committed before. */
void gather_drop(struct gather *gather, const struct uuid *ids, size_t count);

#endif
