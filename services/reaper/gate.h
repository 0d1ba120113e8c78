/* May this process delete at all? The operator's brake and the deployment marker, asked once a second. */
#ifndef GRANARY_REAPER_GATE_H
#define GRANARY_REAPER_GATE_H

#include <stdbool.h>

#include "common/catalog/catalog.h"
#include "common/store/store.h"

struct gate {
    bool open;
    bool paused;         /* by an operator */
    struct error reason; /* why it is not open */
};

/* Asks both. Whatever cannot be asked keeps the gate shut (safety rule 1). */
void gate_ask(struct catalog *catalog, struct store *store, struct gate *out);

#endif
