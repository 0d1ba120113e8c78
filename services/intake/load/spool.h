/* A body that must be there as a whole before it can be read: Parquet has its footer at the end. It lies in a file without a
 * name, which the system removes when the process ends, however it ends. */
#ifndef GRANARY_INTAKE_LOAD_SPOOL_H
#define GRANARY_INTAKE_LOAD_SPOOL_H

#include <stdatomic.h>

#include "common/ingest/ingest.h"
#include "common/parquet/sink.h"

struct spool;

struct spool_options {
    const char *folder;
    enum ingest_compression compression; /* of what is written; read again, it is plain */
    int64_t most_bytes;                  /* of all spools that count into: */
    atomic_llong *total_bytes;           /* borrowed */
};
/* ERR_UNAVAILABLE: the folder cannot be written. */
MUST_CHECK enum err_code spool_open(const struct spool_options *options, struct spool **out, struct error *err);
void spool_close(struct spool *spool);
DEFINE_AUTO(struct spool, spool_close)

/* ERR_INVALID: bad compression. ERR_UNAVAILABLE: no room. */
MUST_CHECK enum err_code spool_write(struct spool *spool, const void *data, size_t length, struct error *err);
/* No more comes. The source is good until the close. */
MUST_CHECK enum err_code spool_finish(struct spool *spool, struct parquet_source *out, struct error *err);

#endif
