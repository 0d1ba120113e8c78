/* Reads the pages of one column chunk in order: header, checksum, decompression. Hostile lengths end in ERR_CORRUPT. */
#ifndef GRANARY_PARQUET_PAGE_H
#define GRANARY_PARQUET_PAGE_H

#include "common/codec/codec.h"
#include "common/parquet/encoding.h"
#include "common/parquet/meta.h"
#include "common/parquet/sink.h"

enum {
    PAGE_MAX_VALUES = 1 << 24, /* no writer makes larger pages; a header that claims more wants our memory */
    PAGE_MAX_BYTES = 1 << 30,
    PAGE_SLACK_BYTES = 16 /* readable behind a page: short texts are copied 16 bytes at a time */
};

struct page_reader {
    const struct parquet_source *source; /* borrowed */
    struct codec *codec;                 /* borrowed */
    enum codec_kind kind;
    uint64_t at, end;   /* of the chunk in the file */
    struct buf raw;     /* as in the file */
    struct buf payload; /* decompressed */
};

struct page {
    struct page_header header;
    uint64_t passed_rows;               /* of data pages before it that were passed by */
    struct encoded repetitions, levels; /* PAGE_DATA_V2: repetition and definition levels; elsewhere empty */
    struct encoded values;              /* PAGE_DATA: its levels first */
};

void parquet_page_reader_done(struct page_reader *reader);
/* Moves to another chunk of the same column; memory is kept. */
void parquet_page_reader_start(struct page_reader *reader, uint64_t begin, uint64_t end);

/* The next data or dictionary page (others are skipped). Data pages that are wholly within the next `pass_rows` rows are passed
 * by: only their headers are read. Its bytes live until the next call. ERR_CORRUPT at the end of the chunk: the caller knows
 * how many values there are. */
MUST_CHECK enum err_code parquet_page_next(struct page_reader *reader, uint64_t pass_rows, struct page *out,
                                           struct error *err);

#endif
