/* intake.v1, little-endian:
 *
 *   "GRI1", table uuid (16), schema version (i32), segment count (u32)
 *   per segment: batch uuid (16), keyed (u8: 0 or 1), body sha256 (32), row count (u32), reject count (u32),
 *                rows length (u32), rows, rejects length (u32), rejects
 *   XXH3 of all before (u64)
 *
 * Rows stay where they are in the message: a writer decodes them from there. */
#include <string.h>

#include "common/digest/digest.h"
#include "common/events/internal.h"

static const char magic[4] = {'G', 'R', 'I', '1'};

enum { CHECKSUM_BYTES = 8, HEADER_BYTES = 4 + 16 + 4 + 4, SEGMENT_BYTES = 16 + 1 + 32 + 4 + 4 + 4 + 4 };

/* --- encoding ---------------------------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *at, const void *data, size_t length)
{
    if (length > 0) {
        memcpy(at, data, length);
    }
    return at + length;
}

static uint8_t *put_number(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
    return at + bytes;
}

static enum err_code check_part(const char *what, uint32_t count, size_t bytes, struct error *err)
{
    if ((count == 0) != (bytes == 0)) {
        return err_set(err, ERR_INVALID, "expected %s and their bytes both, or neither, but found %u in %zu bytes",
                       what, (unsigned)count, bytes);
    }
    return OK;
}

static enum err_code check_segment(const struct event_intake_segment *segment, struct error *err)
{
    TRY(check_part("rows", segment->row_count, segment->rows_bytes, err));
    return check_part("rejects", segment->reject_count, segment->rejects_bytes, err);
}

/* Bounds each length, so that the sum cannot overflow. */
static enum err_code measure(const struct event_intake *event, size_t *out, struct error *err)
{
    enum { MAX_BYTES = 1 << 30 };
    size_t total = HEADER_BYTES + CHECKSUM_BYTES;
    for (size_t i = 0; i < event->segment_count; i++) {
        const struct event_intake_segment *segment = &event->segments[i];
        TRY(check_segment(segment, err));
        if (segment->rows_bytes > MAX_BYTES || segment->rejects_bytes > MAX_BYTES ||
            (total += SEGMENT_BYTES + segment->rows_bytes + segment->rejects_bytes) > MAX_BYTES) {
            return err_set(err, ERR_INVALID, "expected a message of at most 1 GiB");
        }
    }
    *out = total;
    return OK;
}

static uint8_t *put_segment(uint8_t *at, const struct event_intake_segment *segment)
{
    at = put(at, segment->batch_id.bytes, sizeof segment->batch_id.bytes);
    at = put_number(at, segment->keyed, 1);
    at = put(at, segment->body_sha256, sizeof segment->body_sha256);
    at = put_number(at, segment->row_count, 4);
    at = put_number(at, segment->reject_count, 4);
    at = put_number(at, segment->rows_bytes, 4);
    at = put(at, segment->rows, segment->rows_bytes);
    at = put_number(at, segment->rejects_bytes, 4);
    return put(at, segment->rejects, segment->rejects_bytes);
}

enum err_code event_intake_encode(const struct event_intake *event, struct buf *out, struct error *err)
{
    size_t total = 0;
    TRY(events_check_count(event->segment_count, 1, EVENT_INTAKE_MAX_SEGMENTS, "segments", err));
    if (event->schema_version < 1) {
        return err_set(err, ERR_INVALID, "expected a schema version from 1 but found %d", (int)event->schema_version);
    }
    TRY(measure(event, &total, err));
    TRY(buf_reserve(out, total, err));
    uint8_t *start = out->data + out->length_bytes, *at = start;
    at = put(at, magic, sizeof magic);
    at = put(at, event->table_id.bytes, sizeof event->table_id.bytes);
    at = put_number(at, (uint32_t)event->schema_version, 4);
    at = put_number(at, event->segment_count, 4);
    for (size_t i = 0; i < event->segment_count; i++) {
        at = put_segment(at, &event->segments[i]);
    }
    (void)put_number(at, digest_xxh3(start, total - CHECKSUM_BYTES), CHECKSUM_BYTES);
    out->length_bytes += total;
    return OK;
}

/* --- decoding ---------------------------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at, *end;
};

/* The next bytes; NULL (ERR_INVALID) when there are not so many. */
static const uint8_t *take(struct reader *reader, size_t length, const char *what, struct error *err)
{
    if (length > (size_t)(reader->end - reader->at)) {
        (void)err_set(err, ERR_INVALID, "expected %zu bytes of \"%s\" but found %zu", length, what,
                      (size_t)(reader->end - reader->at));
        return NULL;
    }
    const uint8_t *taken = reader->at;
    reader->at += length;
    return taken;
}

static uint64_t number_at(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

static enum err_code take_u32(struct reader *reader, const char *what, uint32_t *out, struct error *err)
{
    const uint8_t *at = take(reader, 4, what, err);
    if (at == NULL) {
        return ERR_INVALID;
    }
    *out = (uint32_t)number_at(at, 4);
    return OK;
}

static enum err_code take_uuid(struct reader *reader, const char *what, struct uuid *out, struct error *err)
{
    const uint8_t *at = take(reader, sizeof out->bytes, what, err);
    if (at == NULL) {
        return ERR_INVALID;
    }
    memcpy(out->bytes, at, sizeof out->bytes);
    return OK;
}

/* A length, and that many bytes, borrowed. */
static enum err_code take_part(struct reader *reader, const char *what, const void **out, size_t *out_bytes,
                               struct error *err)
{
    uint32_t length = 0;
    TRY(take_u32(reader, what, &length, err));
    const uint8_t *at = take(reader, length, what, err);
    if (at == NULL) {
        return ERR_INVALID;
    }
    *out = at;
    *out_bytes = length;
    return OK;
}

static enum err_code take_segment(struct reader *reader, struct event_intake_segment *segment, struct error *err)
{
    TRY(take_uuid(reader, "batch id", &segment->batch_id, err));
    const uint8_t *at = take(reader, 1, "keyed", err);
    if (at == NULL) {
        return ERR_INVALID;
    }
    if (*at > 1) {
        return err_set(err, ERR_INVALID, "expected 0 or 1 at \"keyed\" but found %u", (unsigned)*at);
    }
    segment->keyed = *at == 1;
    at = take(reader, sizeof segment->body_sha256, "body sha256", err);
    if (at == NULL) {
        return ERR_INVALID;
    }
    memcpy(segment->body_sha256, at, sizeof segment->body_sha256);
    TRY(take_u32(reader, "row count", &segment->row_count, err));
    TRY(take_u32(reader, "reject count", &segment->reject_count, err));
    TRY(take_part(reader, "rows", &segment->rows, &segment->rows_bytes, err));
    TRY(take_part(reader, "rejects", &segment->rejects, &segment->rejects_bytes, err));
    return check_segment(segment, err);
}

/* The checksum tells damage on the way; a message that it holds for may still be wrong, or hostile. */
static enum err_code open_envelope(const void *data, size_t length, struct reader *out, struct error *err)
{
    const uint8_t *bytes = data;
    if (length < HEADER_BYTES + CHECKSUM_BYTES || memcmp(bytes, magic, sizeof magic) != 0) {
        return err_set(err, ERR_INVALID, "expected a message that begins with \"GRI1\"");
    }
    size_t covered = length - CHECKSUM_BYTES;
    if (number_at(bytes + covered, CHECKSUM_BYTES) != digest_xxh3(bytes, covered)) {
        return err_set(err, ERR_CORRUPT, "expected the checksum of %zu bytes but found another", covered);
    }
    *out = (struct reader){.at = bytes + sizeof magic, .end = bytes + covered};
    return OK;
}

enum err_code event_intake_decode(const void *data, size_t length, struct arena *arena, struct event_intake *out,
                                  struct error *err)
{
    struct reader reader = {0};
    struct event_intake event = {0};
    uint32_t version = 0, count = 0;
    void *segments = NULL;
    TRY(open_envelope(data, length, &reader, err));
    TRY(take_uuid(&reader, "table id", &event.table_id, err));
    TRY(take_u32(&reader, "schema version", &version, err));
    if (version < 1 || version > INT32_MAX) {
        return err_set(err, ERR_INVALID, "expected a schema version from 1 but found %u", (unsigned)version);
    }
    TRY(take_u32(&reader, "segment count", &count, err));
    TRY(events_check_count(count, 1, EVENT_INTAKE_MAX_SEGMENTS, "segments", err));
    event.schema_version = (int32_t)version;
    event.segment_count = count;
    TRY(events_alloc(arena, count, sizeof *event.segments, &segments, err));
    event.segments = segments;
    for (size_t i = 0; i < count; i++) {
        TRY(take_segment(&reader, &event.segments[i], err));
    }
    if (reader.at != reader.end) {
        return err_set(err, ERR_INVALID, "expected the end after %u segments but found %zu bytes more", (unsigned)count,
                       (size_t)(reader.end - reader.at));
    }
    *out = event;
    return OK;
}
