/* The form in which batches travel through the broker.
 *
 *   header   28 bytes, little-endian: magic, compression, schema version, rows, columns, raw bytes, stored bytes
 *   payload  raw bytes, or one zstd frame of them; column after column:
 *              type (1 byte), has nulls (1 byte), the bitmap if it has (unused bits zero), and then
 *              fixed width: the values; variable width: a 32-bit length per row, then the bytes
 *   guard    XXH3 of all before it (8 bytes)
 *
 * Lengths rather than offsets, because they compress to almost nothing. The guard finds accidents; that hostile bytes
 * with a right guard do no harm is the business of the checks below. */
#include "common/codec/codec.h"
#include "common/digest/digest.h"
#include "common/rows/internal.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the column buffers are the wire format");

enum {
    WIRE_MAGIC = 0x31425247, /* "GRB1" */
    WIRE_RAW = 0,
    WIRE_ZSTD = 1,
    WIRE_ZSTD_LEVEL = 1,
    WIRE_SMALL_BYTES = 256, /* compression would not pay */
    GUARD_BYTES = 8
};

struct wire_header {
    uint32_t magic;
    uint32_t compression;
    int32_t version;
    uint32_t row_count;
    uint32_t column_count;
    uint32_t raw_bytes;
    uint32_t stored_bytes;
};
_Static_assert(sizeof(struct wire_header) == 28, "no padding on the wire");

/* --- encode ------------------------------------------------------------------------------------------------------ */

static enum err_code encode_bitmap(const struct column *column, uint32_t rows, struct buf *out, struct error *err)
{
    TRY(buf_append(out, column->valid, BITMAP_BYTES(rows), err));
    if (rows % 8 != 0) {
        out->data[out->length_bytes - 1] &= (uint8_t)((1U << rows % 8) - 1);
    }
    return OK;
}

static enum err_code encode_column(const struct column *column, uint32_t rows, struct buf *out, struct error *err)
{
    bool has_nulls = column->null_count != 0;
    size_t width = column_type_width(column->type);
    TRY(buf_append_byte(out, (uint8_t)column->type, err));
    TRY(buf_append_byte(out, has_nulls, err));
    if (has_nulls) {
        TRY(encode_bitmap(column, rows, out, err));
    }
    if (width != 0) {
        return buf_append(out, column->values.raw, rows * width, err);
    }
    TRY(buf_reserve(out, rows * sizeof(uint32_t) + column->offsets[rows], err));
    uint8_t *lengths = out->data + out->length_bytes;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t length = column->offsets[i + 1] - column->offsets[i];
        memcpy(lengths + i * sizeof length, &length, sizeof length);
    }
    out->length_bytes += rows * sizeof(uint32_t);
    return buf_append(out, column->data, column->offsets[rows], err);
}

static enum err_code encode_raw(const struct batch *batch, struct buf *raw, struct error *err)
{
    TRY(buf_reserve(raw, batch_memory_bytes(batch), err));
    for (size_t i = 0; i < batch->schema->column_count; i++) {
        TRY(encode_column(&batch->columns[i], batch->row_count, raw, err));
    }
    return raw->length_bytes <= INT32_MAX
               ? OK
               : err_set(err, ERR_INVALID, "expected a batch of at most 2 GiB but found %zu bytes", raw->length_bytes);
}

/* Header, payload and guard; `codec` is NULL when the payload goes as it is. */
static enum err_code encode_frame(const struct batch *batch, const struct buf *raw, struct codec *codec,
                                  struct buf *out, struct error *err)
{
    size_t start = out->length_bytes;
    struct wire_header header = {
        .magic = WIRE_MAGIC,
        .compression = codec == NULL ? WIRE_RAW : WIRE_ZSTD,
        .version = batch->schema->version,
        .row_count = batch->row_count,
        .column_count = (uint32_t)batch->schema->column_count,
        .raw_bytes = (uint32_t)raw->length_bytes,
    };
    TRY(buf_append(out, &header, sizeof header, err));
    TRY(codec == NULL ? buf_append(out, raw->data, raw->length_bytes, err)
                      : codec_compress(codec, CODEC_ZSTD, raw->data, raw->length_bytes, out, err));
    size_t end = out->length_bytes;
    header.stored_bytes = (uint32_t)(end - start - sizeof header);
    memcpy(out->data + start, &header, sizeof header);
    uint64_t guard = digest_xxh3(out->data + start, end - start);
    return buf_append(out, &guard, sizeof guard, err);
}

enum err_code batch_encode_with(const struct batch *batch, struct codec *codec, struct buf *out, struct error *err)
{
    AUTO(buf_done) struct buf raw = {0};
    size_t before = out->length_bytes;
    TRY(encode_raw(batch, &raw, err));
    bool is_small = raw.length_bytes < WIRE_SMALL_BYTES;
    enum err_code code = encode_frame(batch, &raw, is_small ? NULL : codec, out, err);
    if (code != OK) {
        out->length_bytes = before;
    }
    return code;
}

enum err_code batch_encode(const struct batch *batch, struct buf *out, struct error *err)
{
    AUTO(codec_free_auto) struct codec *codec = NULL;
    TRY(codec_new(WIRE_ZSTD_LEVEL, &codec, err));
    return batch_encode_with(batch, codec, out, err);
}

/* --- decode ------------------------------------------------------------------------------------------------------ */

static enum err_code read_header(const void *data, size_t length, struct wire_header *out, struct error *err)
{
    struct wire_header header;
    if (length < sizeof header) {
        return err_set(err, ERR_CORRUPT, "expected a batch but found only %zu bytes", length);
    }
    memcpy(&header, data, sizeof header);
    if (header.magic != WIRE_MAGIC || header.compression > WIRE_ZSTD) {
        return err_set(err, ERR_CORRUPT, "expected a batch but found other bytes");
    }
    if (header.version < 1 || header.row_count > BATCH_MAX_ROWS || header.raw_bytes > INT32_MAX) {
        return err_set(err, ERR_CORRUPT, "expected a batch but its header is damaged");
    }
    *out = header;
    return OK;
}

enum err_code batch_peek(const void *data, size_t length, int32_t *out_version, uint32_t *out_rows, struct error *err)
{
    struct wire_header header;
    TRY(read_header(data, length, &header, err));
    *out_version = header.version;
    *out_rows = header.row_count;
    return OK;
}

/* The fewest raw bytes that so many rows of the schema need: what is allocated never exceeds what was paid for. */
static uint64_t least_raw_bytes(const struct schema *schema, uint32_t rows)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        size_t width = column_type_width(schema->columns[i].type);
        bytes += 2 + (uint64_t)rows * (width != 0 ? width : sizeof(uint32_t));
    }
    return bytes;
}

static enum err_code check_header(const struct wire_header *header, const uint8_t *data, size_t length,
                                  const struct schema *schema, size_t max_bytes, struct error *err)
{
    size_t guarded = sizeof *header + (size_t)header->stored_bytes;
    uint64_t guard;
    if (length < guarded + sizeof guard) {
        return err_set(err, ERR_CORRUPT, "expected a batch of %zu bytes but found %zu", guarded + sizeof guard, length);
    }
    memcpy(&guard, data + guarded, sizeof guard);
    if (guard != digest_xxh3(data, guarded)) {
        return err_set(err, ERR_CORRUPT, "expected a batch but its checksum does not fit");
    }
    if (header->version != schema->version) {
        return err_set(err, ERR_INVALID, "expected rows of schema version %d but found version %d", schema->version,
                       header->version);
    }
    if (header->raw_bytes > max_bytes) {
        return err_set(err, ERR_INVALID, "expected a batch of at most %zu bytes but found %u", max_bytes,
                       header->raw_bytes);
    }
    if (header->column_count != schema->column_count ||
        header->raw_bytes < least_raw_bytes(schema, header->row_count)) {
        return err_set(err, ERR_CORRUPT, "expected %zu columns in a batch of %u bytes and %u rows but found %u",
                       schema->column_count, header->raw_bytes, header->row_count, header->column_count);
    }
    return OK;
}

struct reader {
    const uint8_t *next;
    size_t left;
};

/* Borrowed bytes of the payload, or NULL when it ends before. */
static const uint8_t *read_bytes(struct reader *reader, size_t bytes)
{
    if (reader->left < bytes) {
        return NULL;
    }
    const uint8_t *start = reader->next;
    reader->next += bytes;
    reader->left -= bytes;
    return start;
}

static enum err_code corrupt(const struct batch *batch, uint32_t column, const char *what, struct error *err)
{
    return err_set(err, ERR_CORRUPT, "expected %s in column \"%s\" of a batch", what,
                   batch->schema->columns[column].name);
}

static enum err_code decode_bitmap(struct reader *reader, struct batch *batch, uint32_t column_index, uint32_t rows,
                                   struct error *err)
{
    const uint8_t *bits = read_bytes(reader, BITMAP_BYTES(rows));
    if (bits == NULL) {
        return corrupt(batch, column_index, "a bitmap", err);
    }
    uint32_t valid = 0;
    for (size_t i = 0; i < BITMAP_BYTES(rows); i++) {
        valid += (uint32_t)__builtin_popcount(bits[i]);
    }
    bool has_stray = rows % 8 != 0 && bits[rows / 8] >> rows % 8 != 0;
    if (has_stray || valid >= rows || !batch->schema->columns[column_index].nullable) {
        return corrupt(batch, column_index, "a bitmap with nulls, where they are allowed,", err);
    }
    memcpy(batch_need_valid(batch, column_index), bits, BITMAP_BYTES(rows));
    batch->columns[column_index].null_count = rows - valid;
    return OK;
}

static enum err_code decode_fixed(struct reader *reader, struct batch *batch, uint32_t column_index, uint32_t rows,
                                  struct error *err)
{
    struct column *column = &batch->columns[column_index];
    size_t bytes = rows * column_type_width(column->type);
    const uint8_t *values = read_bytes(reader, bytes);
    if (values == NULL) {
        return corrupt(batch, column_index, "a value for each row", err);
    }
    if (bytes != 0) {
        memcpy(column->values.raw, values, bytes);
    }
    uint8_t any = 0;
    for (uint32_t i = 0; column->type == COLUMN_BOOL && i < rows; i++) {
        any |= values[i];
    }
    return any > 1 ? corrupt(batch, column_index, "booleans of 0 and 1", err) : OK;
}

static enum err_code decode_variable(struct reader *reader, struct batch *batch, uint32_t column_index, uint32_t rows,
                                     struct error *err)
{
    struct column *column = &batch->columns[column_index];
    const uint8_t *lengths = read_bytes(reader, rows * sizeof(uint32_t));
    if (lengths == NULL) {
        return corrupt(batch, column_index, "a length for each row", err);
    }
    uint64_t total = 0; /* cannot overflow: at most 2^24 lengths below 2^32 */
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t length;
        memcpy(&length, lengths + i * sizeof length, sizeof length);
        total += length;
        column->offsets[i + 1] = (uint32_t)total;
    }
    const uint8_t *data = total > reader->left ? NULL : read_bytes(reader, total);
    if (data == NULL) {
        return corrupt(batch, column_index, "as many bytes as the lengths say", err);
    }
    TRY(batch_reserve_data(batch, column_index, total, err));
    if (total != 0) {
        memcpy(column->data, data, total);
    }
    return OK;
}

static enum err_code decode_column(struct reader *reader, struct batch *batch, uint32_t column_index, uint32_t rows,
                                   struct error *err)
{
    enum column_type type = batch->columns[column_index].type;
    const uint8_t *head = read_bytes(reader, 2);
    if (head == NULL || head[0] != (uint8_t)type || head[1] > 1) {
        char text[COLUMN_TYPE_TEXT_BYTES];
        return corrupt(batch, column_index, column_type_format(&batch->schema->columns[column_index], text), err);
    }
    if (head[1] == 1) {
        TRY(decode_bitmap(reader, batch, column_index, rows, err));
    }
    return column_type_is_variable(type) ? decode_variable(reader, batch, column_index, rows, err)
                                         : decode_fixed(reader, batch, column_index, rows, err);
}

/* The raw payload: borrowed from `data`, or decompressed into `raw`. */
static enum err_code open_payload(const struct wire_header *header, const uint8_t *data, struct codec *codec,
                                  struct buf *raw, struct reader *out, struct error *err)
{
    if (header->compression == WIRE_RAW) {
        if (header->stored_bytes != header->raw_bytes) {
            return err_set(err, ERR_CORRUPT, "expected a batch of %u bytes but found %u", header->raw_bytes,
                           header->stored_bytes);
        }
        *out = (struct reader){.next = data + sizeof *header, .left = header->raw_bytes};
        return OK;
    }
    TRY(buf_reserve(raw, header->raw_bytes, err));
    TRY(codec_decompress(codec, CODEC_ZSTD, data + sizeof *header, header->stored_bytes, raw->data, header->raw_bytes,
                         err));
    *out = (struct reader){.next = raw->data, .left = header->raw_bytes};
    return OK;
}

enum err_code batch_decode_with(const void *data, size_t length, const struct schema *schema, size_t max_bytes,
                                struct codec *codec, struct batch **out, size_t *out_used, struct error *err)
{
    AUTO(buf_done) struct buf raw = {0};
    AUTO(batch_free_auto) struct batch *batch = NULL;
    struct wire_header header;
    struct reader reader = {0};
    TRY(read_header(data, length, &header, err));
    TRY(check_header(&header, data, length, schema, max_bytes, err));
    TRY(open_payload(&header, data, codec, &raw, &reader, err));
    TRY(batch_new(schema, header.row_count, &batch, err));
    for (uint32_t i = 0; i < schema->column_count; i++) {
        TRY(decode_column(&reader, batch, i, header.row_count, err));
    }
    if (reader.left != 0) {
        return err_set(err, ERR_CORRUPT, "expected a batch to end after its columns but found %zu more bytes",
                       reader.left);
    }
    batch->row_count = header.row_count;
    *out = TAKE(batch);
    *out_used = sizeof header + header.stored_bytes + GUARD_BYTES;
    return OK;
}

enum err_code batch_decode(const void *data, size_t length, const struct schema *schema, size_t max_bytes,
                           struct batch **out, size_t *out_used, struct error *err)
{
    AUTO(codec_free_auto) struct codec *codec = NULL;
    TRY(codec_new(WIRE_ZSTD_LEVEL, &codec, err));
    return batch_decode_with(data, length, schema, max_bytes, codec, out, out_used, err);
}
