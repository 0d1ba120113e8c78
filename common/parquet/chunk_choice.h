/* Which encoding a column chunk gets. */
#ifndef GRANARY_PARQUET_CHUNK_CHOICE_H
#define GRANARY_PARQUET_CHUNK_CHOICE_H

#include "common/codec/codec.h"
#include "common/parquet/dictionary.h"
#include "common/parquet/meta.h"

struct chunk_choice {
    struct codec *codec; /* borrowed */
    enum codec_kind kind;
    struct buf encoded, compressed; /* scratch */
};
void parquet_chunk_choice_done(struct chunk_choice *choice);

/* ENCODING_RLE_DICTIONARY says that `dictionary` has been built and pays. A pure function of the values. */
MUST_CHECK enum err_code parquet_chunk_choose(struct chunk_choice *choice, const struct dense *dense,
                                              struct dictionary *dictionary, enum parquet_encoding *out,
                                              struct error *err);

/* Bits of a dictionary code; at least one, as not every reader takes none. */
int parquet_chunk_code_width(const struct dictionary *dictionary);

/* Values [first, first + count) in an encoding that is not a dictionary's. */
MUST_CHECK enum err_code parquet_chunk_encode_values(const struct dense *dense, size_t first, size_t count,
                                                     enum parquet_encoding encoding, struct buf *out,
                                                     struct error *err);

#endif
