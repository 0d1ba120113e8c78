/* Files whose footer says something else than the writer made it say. */
#ifndef GRANARY_TESTS_PARQUET_FOOTER_H
#define GRANARY_TESTS_PARQUET_FOOTER_H

#include "tests/unit/parquet/support.h"

#include "common/parquet/reader_internal.h"

/* The file with another footer. */
__attribute__((unused)) static void replace_footer(const struct memory_file *file, const struct parquet_reader *reader,
                                                   const struct meta_file *meta, struct memory_file *out)
{
    AUTO(buf_done) struct buf footer = {0};
    assert_int_equal(parquet_meta_encode(meta, &footer, NULL), OK);
    uint32_t length = (uint32_t)footer.length_bytes;
    assert_int_equal(buf_append(&out->bytes, file->bytes.data, reader->footer_at, NULL), OK);
    assert_int_equal(buf_append(&out->bytes, footer.data, footer.length_bytes, NULL), OK);
    assert_int_equal(buf_append(&out->bytes, &length, sizeof length, NULL), OK);
    assert_int_equal(buf_append(&out->bytes, "PAR1", 4, NULL), OK);
}

#endif
