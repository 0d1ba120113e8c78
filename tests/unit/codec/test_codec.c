#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/codec/codec.h"

static const size_t lengths[] = {0, 1, 2, 100, 4096, 300000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 300000 };

static uint8_t sample[LONGEST];

static int fill_sample(void **state)
{
    (void)state;
    uint32_t x = 12345;
    for (size_t i = 0; i < LONGEST; i++) {
        x = x * 1664525 + 1013904223;
        sample[i] = (uint8_t)((x >> 24) % 7 + 'a');
    }
    return 0;
}

static void every_codec_gives_back_what_it_was_given(void **state)
{
    (void)state;
    AUTO(codec_free_auto) struct codec *codec = NULL;
    assert_int_equal(codec_new(0, &codec, NULL), OK);
    for (enum codec_kind kind = 0; kind < CODEC_LZ4_HADOOP; kind++) {
        for (size_t i = 0; i < LENGTHS; i++) {
            AUTO(buf_done) struct buf packed = {0};
            AUTO(free_auto) uint8_t *back = malloc(LONGEST);
            assert_int_equal(buf_append_text(&packed, "before", NULL), OK);
            assert_int_equal(codec_compress(codec, kind, sample, lengths[i], &packed, NULL), OK);
            assert_memory_equal(packed.data, "before", 6);
            assert_int_equal(
                codec_decompress(codec, kind, packed.data + 6, packed.length_bytes - 6, back, lengths[i], NULL), OK);
            assert_memory_equal(back, sample, lengths[i]);
        }
    }
}

static void equal_blocks_compress_to_equal_bytes(void **state)
{
    (void)state;
    AUTO(codec_free_auto) struct codec *codec = NULL;
    assert_int_equal(codec_new(3, &codec, NULL), OK);
    for (enum codec_kind kind = 0; kind < CODEC_LZ4_HADOOP; kind++) {
        AUTO(buf_done) struct buf first = {0}, between = {0}, second = {0};
        assert_int_equal(codec_compress(codec, kind, sample, 5000, &first, NULL), OK);
        assert_int_equal(codec_compress(codec, kind, sample + 77, 9000, &between, NULL), OK);
        assert_int_equal(codec_compress(codec, kind, sample, 5000, &second, NULL), OK);
        assert_int_equal(first.length_bytes, second.length_bytes);
        assert_memory_equal(first.data, second.data, first.length_bytes);
    }
}

static void a_wrong_length_or_a_cut_block_is_corrupt(void **state)
{
    (void)state;
    AUTO(codec_free_auto) struct codec *codec = NULL;
    AUTO(free_auto) uint8_t *back = malloc(LONGEST);
    assert_int_equal(codec_new(0, &codec, NULL), OK);
    for (enum codec_kind kind = 0; kind < CODEC_LZ4_HADOOP; kind++) {
        AUTO(buf_done) struct buf packed = {0};
        assert_int_equal(codec_compress(codec, kind, sample, 4096, &packed, NULL), OK);
        static const size_t wrong[] = {0, 4095, 4097};
        for (size_t i = 0; i < 3; i++) {
            struct error err = {0};
            assert_int_equal(codec_decompress(codec, kind, packed.data, packed.length_bytes, back, wrong[i], &err),
                             ERR_CORRUPT);
            assert_int_equal(err.code, ERR_CORRUPT);
            assert_true(strlen(err.text) > 10);
        }
        for (size_t cut = 0; cut < packed.length_bytes; cut += 13) {
            assert_int_equal(codec_decompress(codec, kind, packed.data, cut, back, 4096, NULL), ERR_CORRUPT);
        }
    }
}

static void a_block_of_gzip_or_zstd_may_have_several_members(void **state)
{
    (void)state;
    static const enum codec_kind kinds[] = {CODEC_GZIP, CODEC_ZSTD};
    static const size_t parts[] = {1000, 0, 2000, 1, 0}; /* also empty ones, at the end too */
    AUTO(codec_free_auto) struct codec *codec = NULL;
    uint8_t back[3001];
    assert_int_equal(codec_new(0, &codec, NULL), OK);
    for (size_t k = 0; k < 2; k++) {
        AUTO(buf_done) struct buf packed = {0};
        struct error err = {0};
        size_t at = 0;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            assert_int_equal(codec_compress(codec, kinds[k], sample + at, parts[i], &packed, NULL), OK);
            at += parts[i];
        }
        assert_int_equal(codec_decompress(codec, kinds[k], packed.data, packed.length_bytes, back, sizeof back, NULL),
                         OK);
        assert_memory_equal(back, sample, sizeof back);
        assert_int_equal(
            codec_decompress(codec, kinds[k], packed.data, packed.length_bytes, back, sizeof back - 1, &err),
            ERR_CORRUPT);
        assert_int_equal(buf_append_text(&packed, "garbage", NULL), OK);
        assert_int_equal(codec_decompress(codec, kinds[k], packed.data, packed.length_bytes, back, sizeof back, &err),
                         ERR_CORRUPT);
        assert_non_null(strstr(err.text, "could not decompress"));
    }
}

static void a_level_out_of_range_is_refused(void **state)
{
    (void)state;
    static const int levels[] = {-1, 20, 1000};
    for (size_t i = 0; i < 3; i++) {
        struct codec *codec = NULL;
        struct error err = {0};
        assert_int_equal(codec_new(levels[i], &codec, &err), ERR_INVALID);
        assert_null(codec);
        assert_non_null(strstr(err.text, "level between 1 and 19"));
    }
}

/* Feeds `data` in pieces of `piece` bytes, with room for `room` bytes at a time. */
static enum err_code feed_all(struct codec_stream *stream, const uint8_t *data, size_t length, size_t piece,
                              size_t room, struct buf *out, struct error *err)
{
    AUTO(free_auto) uint8_t *window = malloc(room);
    enum err_code code = OK;
    for (size_t at = 0; at < length && code == OK; at += piece) {
        struct codec_input input = {data + at, length - at < piece ? length - at : piece};
        size_t written = room;
        while (code == OK && (input.length > 0 || written == room)) {
            code = codec_stream_feed(stream, &input, window, room, &written, err);
            if (code == OK) {
                assert_int_equal(buf_append(out, window, written, NULL), OK);
            }
        }
    }
    return code;
}

static const enum codec_kind stream_kinds[] = {CODEC_NONE, CODEC_GZIP, CODEC_ZSTD};

static void streams_take_any_pieces_and_several_members(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 7, 1000, 1 << 20}, rooms[] = {1, 100, 65536};
    AUTO(codec_free_auto) struct codec *codec = NULL;
    assert_int_equal(codec_new(0, &codec, NULL), OK);
    for (size_t k = 0; k < 3; k++) {
        AUTO(buf_done) struct buf packed = {0};
        assert_int_equal(codec_compress(codec, stream_kinds[k], sample, 20000, &packed, NULL), OK);
        assert_int_equal(codec_compress(codec, stream_kinds[k], sample + 20000, 10000, &packed, NULL), OK);
        for (size_t i = 0; i < 12; i++) {
            AUTO(codec_stream_free_auto) struct codec_stream *stream = NULL;
            AUTO(buf_done) struct buf back = {0};
            assert_int_equal(codec_stream_new(stream_kinds[k], &stream, NULL), OK);
            assert_int_equal(
                feed_all(stream, packed.data, packed.length_bytes, pieces[i % 4], rooms[i / 4], &back, NULL), OK);
            assert_int_equal(codec_stream_finish(stream, NULL), OK);
            assert_int_equal(back.length_bytes, 30000);
            assert_memory_equal(back.data, sample, 30000);
        }
    }
}

static void a_stream_cut_off_anywhere_is_noticed(void **state)
{
    (void)state;
    AUTO(codec_free_auto) struct codec *codec = NULL;
    assert_int_equal(codec_new(0, &codec, NULL), OK);
    for (size_t k = 1; k < 3; k++) {
        AUTO(buf_done) struct buf packed = {0};
        assert_int_equal(codec_compress(codec, stream_kinds[k], sample, 500, &packed, NULL), OK);
        for (size_t cut = 0; cut < packed.length_bytes; cut++) {
            AUTO(codec_stream_free_auto) struct codec_stream *stream = NULL;
            AUTO(buf_done) struct buf back = {0};
            struct error err = {0};
            assert_int_equal(codec_stream_new(stream_kinds[k], &stream, NULL), OK);
            assert_int_equal(feed_all(stream, packed.data, cut, 64, 4096, &back, NULL), OK);
            assert_int_equal(codec_stream_finish(stream, &err), ERR_INVALID);
            assert_non_null(strstr(err.text, "cut off"));
        }
    }
}

static void garbage_in_a_stream_is_invalid(void **state)
{
    (void)state;
    AUTO(codec_free_auto) struct codec *codec = NULL;
    assert_int_equal(codec_new(0, &codec, NULL), OK);
    for (size_t k = 1; k < 3; k++) {
        AUTO(buf_done) struct buf packed = {0}, back = {0};
        AUTO(codec_stream_free_auto) struct codec_stream *stream = NULL;
        struct error err = {0};
        assert_int_equal(codec_compress(codec, stream_kinds[k], sample, 500, &packed, NULL), OK);
        assert_int_equal(buf_append_text(&packed, "garbage behind the last member", NULL), OK);
        assert_int_equal(codec_stream_new(stream_kinds[k], &stream, NULL), OK);
        assert_int_equal(feed_all(stream, packed.data, packed.length_bytes, 4096, 4096, &back, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "could not decompress"));
    }
}

static void codecs_without_a_stream_form_are_refused(void **state)
{
    (void)state;
    static const enum codec_kind kinds[] = {CODEC_SNAPPY, CODEC_LZ4_RAW};
    for (size_t i = 0; i < 2; i++) {
        struct codec_stream *stream = NULL;
        struct error err = {0};
        assert_int_equal(codec_stream_new(kinds[i], &stream, &err), ERR_INVALID);
        assert_null(stream);
        assert_non_null(strstr(err.text, codec_kind_name(kinds[i])));
    }
}

/* --- Hadoop's lz4 ------------------------------------------------------------------------------------------------- */

static void put_be32(struct buf *out, size_t value)
{
    uint32_t swapped = __builtin_bswap32((uint32_t)value);
    assert_int_equal(buf_append(out, &swapped, sizeof swapped, NULL), OK);
}

/* A part of the sample behind the length that it takes. */
static void put_part(struct codec *codec, struct buf *out, size_t first, size_t length)
{
    AUTO(buf_done) struct buf packed = {0};
    assert_int_equal(codec_compress(codec, CODEC_LZ4_RAW, sample + first, length, &packed, NULL), OK);
    put_be32(out, packed.length_bytes);
    assert_int_equal(buf_append(out, packed.data, packed.length_bytes, NULL), OK);
}

static void lz4_is_read_in_frames_of_several_parts_and_without_any(void **state)
{
    (void)state;
    AUTO(codec_free_auto) struct codec *codec = NULL;
    AUTO(buf_done) struct buf framed = {0}, bare = {0};
    uint8_t back[5000];
    assert_int_equal(codec_new(0, &codec, NULL), OK);
    put_be32(&framed, 3000); /* one frame of two parts, then one of one */
    put_part(codec, &framed, 0, 1000);
    put_part(codec, &framed, 1000, 2000);
    put_be32(&framed, 2000);
    put_part(codec, &framed, 3000, 2000);
    assert_int_equal(
        codec_decompress(codec, CODEC_LZ4_HADOOP, framed.data, framed.length_bytes, back, sizeof back, NULL), OK);
    assert_memory_equal(back, sample, sizeof back);
    assert_int_equal(codec_compress(codec, CODEC_LZ4_RAW, sample, sizeof back, &bare, NULL), OK);
    assert_int_equal(codec_decompress(codec, CODEC_LZ4_HADOOP, bare.data, bare.length_bytes, back, sizeof back, NULL),
                     OK);
    assert_memory_equal(back, sample, sizeof back);
    for (size_t cut = 0; cut < framed.length_bytes; cut++) {
        assert_int_equal(codec_decompress(codec, CODEC_LZ4_HADOOP, framed.data, cut, back, sizeof back, NULL),
                         ERR_CORRUPT);
    }
    assert_int_equal(codec_compress(codec, CODEC_LZ4_HADOOP, sample, 10, &bare, NULL), ERR_INVALID);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_codec_gives_back_what_it_was_given),
        cmocka_unit_test(equal_blocks_compress_to_equal_bytes),
        cmocka_unit_test(a_wrong_length_or_a_cut_block_is_corrupt),
        cmocka_unit_test(a_block_of_gzip_or_zstd_may_have_several_members),
        cmocka_unit_test(a_level_out_of_range_is_refused),
        cmocka_unit_test(streams_take_any_pieces_and_several_members),
        cmocka_unit_test(a_stream_cut_off_anywhere_is_noticed),
        cmocka_unit_test(garbage_in_a_stream_is_invalid),
        cmocka_unit_test(codecs_without_a_stream_form_are_refused),
        cmocka_unit_test(lz4_is_read_in_frames_of_several_parts_and_without_any),
    };
    return cmocka_run_group_tests(tests, fill_sample, NULL);
}
