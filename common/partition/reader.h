/* Reads a partition from the store. The footer comes with one read of the file's last 64 KiB; pages come through a few
 * windows of read-ahead, so that the many small reads of a cursor become few ranges of the store. One thread at a time. */
#ifndef GRANARY_PARTITION_READER_H
#define GRANARY_PARTITION_READER_H

#include "common/parquet/reader.h"
#include "common/store/store.h"

struct partition_reader;

struct partition_reader_options {
    uint64_t size_bytes; /* of the object, as the catalog says; 0: ask the store */
    size_t window_bytes; /* of read-ahead, for each column of the file; 0: 64 KiB, less for very many columns */
};

/* ERR_NOT_FOUND: no such object. ERR_CORRUPT: it is shorter than the catalog says, or no partition file. options may be
 * NULL. */
MUST_CHECK enum err_code partition_reader_open(struct store *store, const char *path,
                                               const struct partition_reader_options *options,
                                               struct partition_reader **out, struct error *err);
void partition_reader_free(struct partition_reader *reader);
DEFINE_AUTO(struct partition_reader, partition_reader_free)

struct parquet_reader *partition_reader_file(struct partition_reader *reader); /* borrowed */
const char *partition_reader_path(const struct partition_reader *reader);
uint64_t partition_reader_size_bytes(const struct partition_reader *reader);

#endif
