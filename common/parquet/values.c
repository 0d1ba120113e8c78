#include "common/parquet/values.h"

#include <string.h>

#include "common/parquet/page.h"
#include "common/rows/batch.h"

void parquet_values_done(struct values *values)
{
    buf_done(&values->fixed);
    buf_done(&values->texts);
    buf_done(&values->physical);
    buf_done(&values->bad);
    free(values->spans.starts);
    free(values->spans.lengths);
    values->spans = (struct spans){0};
    values->spans_capacity = 0;
}

static enum err_code reserve_spans(struct values *values, size_t count, struct error *err)
{
    if (values->spans_capacity > count) {
        return OK;
    }
    size_t capacity = count + 1; /* never a null pointer */
    uint32_t *starts = realloc(values->spans.starts, capacity * sizeof *starts);
    if (starts == NULL) {
        return err_no_memory(err, capacity * sizeof *starts);
    }
    values->spans.starts = starts;
    uint32_t *lengths = realloc(values->spans.lengths, capacity * sizeof *lengths);
    if (lengths == NULL) {
        return err_no_memory(err, capacity * sizeof *lengths);
    }
    values->spans.lengths = lengths;
    values->spans_capacity = capacity;
    return OK;
}

static enum err_code refuse(int32_t encoding, const char *what, struct error *err)
{
    return err_set(err, ERR_INVALID, "could not read %s in the encoding %s (%d)", what, parquet_encoding_name(encoding),
                   (int)encoding);
}

static enum err_code decode_spans(struct values *values, int32_t encoding, struct encoded in, size_t count,
                                  struct error *err)
{
    TRY(reserve_spans(values, count, err));
    switch (encoding) {
    case ENCODING_PLAIN: return parquet_plain_decode_texts(in, &values->spans, count, err);
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY: return parquet_delta_length_decode(in, &values->spans, count, err);
    case ENCODING_DELTA_BYTE_ARRAY:
        return parquet_delta_byte_array_decode(in, &values->spans, count, &values->texts, err);
    }
    return refuse(encoding, "texts", err);
}

/* FIXED values by way of DELTA_BYTE_ARRAY, of which each must have the right length. */
static enum err_code decode_fixed_by_prefix(struct values *values, size_t width, struct encoded in, size_t count,
                                            uint8_t *out, struct error *err)
{
    TRY(decode_spans(values, ENCODING_DELTA_BYTE_ARRAY, in, count, err));
    for (size_t i = 0; i < count; i++) {
        if (values->spans.lengths[i] != width) {
            return err_set(err, ERR_CORRUPT, "expected values of %zu bytes but found %u", width,
                           values->spans.lengths[i]);
        }
        memcpy(out + i * width, values->spans.data + values->spans.starts[i], width);
    }
    return OK;
}

static enum err_code decode_bools(int32_t encoding, struct encoded in, uint8_t *out, size_t count, struct error *err)
{
    uint32_t length = 0;
    size_t ones;
    if (encoding == ENCODING_PLAIN) {
        return parquet_plain_decode_bools(in, out, count, err);
    }
    if (encoding != ENCODING_RLE) {
        return refuse(encoding, "bools", err);
    }
    if (in.end - in.at < (ptrdiff_t)sizeof length) {
        return err_set(err, ERR_CORRUPT, "expected the length of runs but the bytes end");
    }
    memcpy(&length, in.at, sizeof length);
    in.at += sizeof length;
    if (length > (uint64_t)(in.end - in.at)) {
        return err_set(err, ERR_CORRUPT, "expected runs of %u bytes but %td are left", length, in.end - in.at);
    }
    return parquet_rle_decode_bits(in, out, count, &ones, err);
}

static enum err_code decode_physical(struct values *values, const struct column_layout *layout, int32_t encoding,
                                     struct encoded in, size_t count, struct buf *out, struct error *err)
{
    size_t width = parquet_physical_width(layout);
    buf_clear(out);
    TRY(buf_reserve(out, count * width + 1, err));
    bool splits = layout->physical != PHYSICAL_BOOLEAN && layout->physical != PHYSICAL_INT96;
    if (layout->physical == PHYSICAL_BOOLEAN) {
        TRY(decode_bools(encoding, in, out->data, count, err));
    } else if (encoding == ENCODING_PLAIN) {
        TRY(parquet_plain_decode_fixed(in, out->data, count, width, err));
    } else if (encoding == ENCODING_DELTA_BINARY_PACKED && layout->physical == PHYSICAL_INT32) {
        TRY(parquet_delta_decode_i32(&in, (int32_t *)(void *)out->data, count, err));
    } else if (encoding == ENCODING_DELTA_BINARY_PACKED && layout->physical == PHYSICAL_INT64) {
        TRY(parquet_delta_decode_i64(&in, (int64_t *)(void *)out->data, count, err));
    } else if (encoding == ENCODING_BYTE_STREAM_SPLIT && splits) {
        TRY(parquet_split_decode(in, out->data, count, width, err));
    } else if (encoding == ENCODING_DELTA_BYTE_ARRAY && layout->physical == PHYSICAL_FIXED) {
        TRY(decode_fixed_by_prefix(values, width, in, count, out->data, err));
    } else {
        return refuse(encoding, "values of this type", err);
    }
    out->length_bytes = count * width;
    return OK;
}

/* --- conversions ------------------------------------------------------------------------------------------------- */

static struct physical_values physical_of(const struct values *values, const struct values_form *form)
{
    size_t width = parquet_physical_width(&form->layout);
    const struct spans *spans = &values->spans;
    return (struct physical_values){.data = width > 0 ? values->physical.data : spans->data,
                                    .width = width,
                                    .starts = spans->starts,
                                    .lengths = spans->lengths};
}

static enum err_code mark_bad(struct values *values, size_t i, size_t count, struct error *err)
{
    if (values->bad_count == 0) {
        buf_clear(&values->bad);
        TRY(buf_reserve(&values->bad, count, err));
        memset(values->bad.data, 0, count);
    }
    values->bad.data[i] = 1;
    values->bad_count++;
    return OK;
}

static enum err_code convert(struct values *values, const struct values_form *form, size_t count, struct error *err)
{
    TRY(buf_reserve(&values->fixed, count * sizeof(int64_t) + 1, err));
    void *out = values->fixed.data;
    const struct physical_values from = physical_of(values, form);
    for (size_t i = 0;; i++) {
        i = parquet_convert(&form->layout, &from, form->round_times, out, i, count);
        if (i >= count) {
            return OK;
        }
        TRY(mark_bad(values, i, count, err));
    }
}

char *parquet_values_explain(const struct values *values, const struct values_form *form, size_t i,
                             char text[CONVERT_TEXT_BYTES])
{
    const struct physical_values from = physical_of(values, form);
    return parquet_convert_explain(&form->layout, &from, i, text);
}

/* FIXED without a type of its own becomes bytes of equal length. */
static enum err_code spans_of_fixed(struct values *values, size_t width, size_t count, struct error *err)
{
    TRY(reserve_spans(values, count, err));
    for (size_t i = 0; i < count; i++) {
        values->spans.starts[i] = (uint32_t)(i * width);
        values->spans.lengths[i] = (uint32_t)width;
    }
    values->spans.data = values->physical.data;
    return OK;
}

enum err_code parquet_values_decode(struct values *values, const struct values_form *form, int32_t encoding,
                                    struct encoded in, size_t count, struct error *err)
{
    const struct column_layout *layout = &form->layout;
    size_t physical_width = parquet_physical_width(layout);
    bool converts = layout->conversion != CONVERSION_NONE;
    values->width = column_type_width(form->type);
    values->count = 0;
    values->bad_count = 0;
    if (physical_width == 0) {
        TRY(decode_spans(values, encoding, in, count, err));
    } else if (!converts && values->width > 0) {
        TRY(decode_physical(values, layout, encoding, in, count, &values->fixed, err));
    } else if (physical_width * (uint64_t)count > PARQUET_VALUES_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "expected at most %d bytes of values in a page", PARQUET_VALUES_MAX_BYTES);
    } else {
        TRY(decode_physical(values, layout, encoding, in, count, &values->physical, err));
    }
    if (converts) {
        TRY(convert(values, form, count, err));
    } else if (values->width == 0 && physical_width > 0) {
        TRY(spans_of_fixed(values, physical_width, count, err));
    }
    values->count = count;
    return OK;
}

enum err_code parquet_values_detach(struct values *values, struct error *err)
{
    bool has_spans = values->width == 0 || (values->bad_count > 0 && values->spans.starts != NULL);
    if (!has_spans) {
        return OK;
    }
    AUTO(buf_done) struct buf texts = {0};
    for (size_t i = 0; i < values->count; i++) {
        uint32_t start = (uint32_t)texts.length_bytes;
        TRY(buf_append(&texts, values->spans.data + values->spans.starts[i], values->spans.lengths[i], err));
        values->spans.starts[i] = start;
    }
    TRY(buf_reserve(&texts, PAGE_SLACK_BYTES, err));
    buf_done(&values->texts);
    values->texts = texts;
    texts = (struct buf){0};
    values->spans.data = values->texts.data;
    return OK;
}
