#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/codec/codec.h"
#include "services/intake/load/spool.h"

enum { PIECE_BYTES = 1000, TEXT_BYTES = 300000 };

static atomic_llong total_bytes;

static const char *folder(void)
{
    const char *base = getenv("TMPDIR");
    return base != NULL ? base : P_tmpdir;
}

static struct spool_options options_of(enum ingest_compression compression, int64_t most_bytes)
{
    return (struct spool_options){
        .folder = folder(), .compression = compression, .most_bytes = most_bytes, .total_bytes = &total_bytes};
}

static void compress(enum codec_kind kind, const void *data, size_t length, struct buf *out)
{
    AUTO(codec_free_auto) struct codec *codec = NULL;
    assert_int_equal(codec_new(0, &codec, NULL), OK);
    assert_int_equal(codec_compress(codec, kind, data, length, out, NULL), OK);
}

static void write_in_pieces(struct spool *spool, const uint8_t *data, size_t length)
{
    for (size_t at = 0; at < length; at += PIECE_BYTES) {
        size_t piece = length - at < PIECE_BYTES ? length - at : PIECE_BYTES;
        assert_int_equal(spool_write(spool, data + at, piece, NULL), OK);
    }
}

static void what_was_written_is_read_back_plain(void **state)
{
    (void)state;
    static const struct {
        enum ingest_compression compression;
        enum codec_kind kind;
    } cases[] = {{INGEST_PLAIN, CODEC_NONE}, {INGEST_GZIP, CODEC_GZIP}, {INGEST_ZSTD, CODEC_ZSTD}};
    static uint8_t text[TEXT_BYTES];
    static uint8_t read[TEXT_BYTES];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (uint8_t)(i * i >> 7);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(spool_close_auto) struct spool *spool = NULL;
        AUTO(buf_done) struct buf sent = {0};
        struct parquet_source source;
        const struct spool_options options = options_of(cases[i].compression, TEXT_BYTES);
        compress(cases[i].kind, text, sizeof text, &sent);
        assert_int_equal(spool_open(&options, &spool, NULL), OK);
        write_in_pieces(spool, sent.data, sent.length_bytes);
        assert_int_equal(spool_finish(spool, &source, NULL), OK);
        assert_int_equal(source.size_bytes, sizeof text);
        assert_int_equal(source.read(source.context, 100, sizeof text - 100, read, NULL), OK);
        assert_memory_equal(read, text + 100, sizeof text - 100);
        assert_int_equal(atomic_load(&total_bytes), sizeof text);
    }
    assert_int_equal(atomic_load(&total_bytes), 0);
}

static void what_does_not_fit_or_is_broken_is_refused(void **state)
{
    (void)state;
    AUTO(spool_close_auto) struct spool *small = NULL;
    AUTO(spool_close_auto) struct spool *other = NULL;
    AUTO(spool_close_auto) struct spool *broken = NULL;
    AUTO(spool_close_auto) struct spool *nowhere = NULL;
    struct parquet_source source;
    struct error err;
    struct spool_options options = options_of(INGEST_PLAIN, 10);
    assert_int_equal(spool_open(&options, &small, NULL), OK);
    assert_int_equal(spool_open(&options, &other, NULL), OK);
    assert_int_equal(spool_write(small, "12345678", 8, NULL), OK);
    assert_int_equal(spool_write(other, "123", 3, &err), ERR_UNAVAILABLE); /* the bound is that of all together */
    assert_non_null(strstr(err.text, "expected at most 10 bytes of Parquet on their way but found more"));

    options = options_of(INGEST_GZIP, 1000);
    assert_int_equal(spool_open(&options, &broken, NULL), OK);
    assert_int_equal(spool_finish(broken, &source, &err), ERR_INVALID);
    assert_int_equal(spool_write(broken, "no gzip", 7, &err), ERR_INVALID);

    options.folder = "/nowhere/at/all";
    assert_int_equal(spool_open(&options, &nowhere, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
    assert_null(nowhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_back_plain),
        cmocka_unit_test(what_does_not_fit_or_is_broken_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
