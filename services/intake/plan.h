/* The decisions of intake: pure. */
#ifndef GRANARY_INTAKE_PLAN_H
#define GRANARY_INTAKE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/uuid.h"
#include "common/ingest/ingest.h"
#include "common/lifecycle/settings.h"
#include "common/publish/bucket.h"

/* Beyond this a body is a load, not a message. The bound on rows is that of a message too: what a writer may have gathered
 * (GRANARY_WRITER_MAX_ROWS) and one message more still fit into one batch (BATCH_MAX_ROWS). */
enum { INTAKE_MAX_SEGMENT_BYTES = 8 << 20, INTAKE_MAX_ROWS = 4 << 20, INTAKE_MESSAGE_BYTES = 1 << 20 };

/* --- head -------------------------------------------------------------------------------------------------------- */

/* "application/x-ndjson; charset=utf-8" and the like. NULL is NDJSON. ERR_INVALID names what is taken. */
MUST_CHECK enum err_code intake_plan_format(const char *content_type, enum ingest_format *out, struct error *err);
MUST_CHECK enum err_code intake_plan_compression(const char *content_encoding, enum ingest_compression *out,
                                                 struct error *err);
/* 1 to 200 printable ASCII characters. */
MUST_CHECK enum err_code intake_plan_key(const char *key, struct error *err);
/* The window for the table's timestamps, at now_us. */
void intake_plan_window(const struct table_settings *settings, int64_t now_us, int64_t *out_min_us,
                        int64_t *out_max_us);

/* Shall what was gathered go out as a message? */
struct intake_gathered {
    size_t bytes;
    int64_t waited_us; /* since its first segment came */
    unsigned decoding; /* requests that are being read and may join */
    unsigned messages_in_flight;
};
bool intake_plan_send(const struct intake_gathered *gathered, int64_t linger_us);

/* --- writer ------------------------------------------------------------------------------------------------------ */

struct intake_load { /* what a worker has gathered */
    int64_t rows, bytes;
    int64_t open_us; /* since the first message */
    int64_t messages;
};
struct intake_bounds {
    int64_t max_rows, max_bytes, max_open_us, max_messages;
};
bool intake_plan_flush(const struct intake_load *load, const struct intake_bounds *bounds);

/* A batch that came back three times is written alone, so that a poisoned one harms no other. */
bool intake_plan_alone(uint32_t delivery_count);
/* Near the idempotency horizon (the last eighth of it) a batch id may be forgotten before the message is committed: then it
 * must not be committed. published_us 0: not known, and then it may. */
bool intake_plan_too_old(int64_t published_us, int64_t now_us, int64_t horizon_us);

/* --- loads ------------------------------------------------------------------------------------------------------- */

/* Which buckets a load writes when memory is full: the largest, until half of the rows are chosen. (*out)[i] belongs to
 * ranges[i]; in the arena. */
MUST_CHECK enum err_code intake_plan_spill(const struct publish_range *ranges, size_t count, struct arena *arena,
                                           bool **out, struct error *err);

#endif
