/* Where file bytes go to and come from: the seam between the partition file and the store. */
#ifndef GRANARY_PARQUET_SINK_H
#define GRANARY_PARQUET_SINK_H

#include <stdint.h>

#include "common/base/error.h"

struct parquet_sink {
    void *context;
    enum err_code (*write)(void *context, const void *data, size_t length, struct error *err);
};

struct parquet_source {
    void *context;
    uint64_t size_bytes;
    /* Exactly `length` bytes at `offset`, or an error. Ranges past size_bytes are never asked for. */
    enum err_code (*read)(void *context, uint64_t offset, size_t length, void *out, struct error *err);
};

#endif
