/* The writer: messages from the queue, gathered and flushed. Each worker gathers for itself and has its own connection to the
 * catalog; while one writes, another gathers. */
#ifndef GRANARY_INTAKE_WRITER_WRITER_H
#define GRANARY_INTAKE_WRITER_WRITER_H

#include "common/bus/bus.h"
#include "common/service/service.h"
#include "common/store/store.h"
#include "services/intake/config.h"
#include "services/intake/tables.h"

struct writer;

/* Opens store and consumer and starts the workers, which wait until the deployment marker has been seen to. */
MUST_CHECK enum err_code writer_open(struct service *service, const struct intake_config *config,
                                     const struct bus_options *bus, struct intake_tables *tables, struct writer **out,
                                     struct error *err);
/* Waits for flushes in progress; what is gathered goes back to the queue. */
void writer_close(struct writer *writer);
DEFINE_AUTO(struct writer, writer_close)

struct storages *writer_storages(struct writer *writer); /* borrowed until the close */
/* A store of another deployment is never written to: ERR_DENIED. */
MUST_CHECK enum err_code writer_see_to_marker(struct catalog *catalog, struct storages *storages, struct error *err);

MUST_CHECK enum err_code writer_check_bus(struct writer *writer, struct error *err);
MUST_CHECK enum err_code writer_check_store(struct writer *writer, struct error *err);

#endif
