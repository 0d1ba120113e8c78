#include "services/intake/writer/gather.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/codec/codec.h"
#include "common/digest/digest.h"
#include "common/events/events.h"

enum { MAX_BATCH_BYTES = 1 << 30 };

static void batch_release(struct gathered_batch *batch)
{
    batch_free(batch->rows);
    batch_free(batch->rejects);
    intake_table_release(batch->table);
}

void gather_clear(struct gather *gather)
{
    for (size_t i = 0; i < gather->count; i++) {
        batch_release(&gather->batches[i]);
    }
    gather->count = 0;
    if (gather->index != NULL) {
        memset(gather->index, 0, gather->index_slots * sizeof *gather->index);
    }
    gather->delivery_count = 0;
    gather->load = (struct intake_load){0};
}

void gather_done(struct gather *gather)
{
    gather_clear(gather);
    free(gather->batches);
    free(gather->index);
    free(gather->deliveries);
    codec_free(gather->codec);
    *gather = (struct gather){0};
}

static enum err_code grow(void *array, size_t *capacity, size_t needed, size_t item_bytes, struct error *err)
{
    void **pointer = array;
    size_t wanted = *capacity == 0 ? 64 : *capacity;
    while (wanted < needed) {
        wanted *= 2;
    }
    if (wanted == *capacity) {
        return OK;
    }
    void *memory = realloc(*pointer, wanted * item_bytes);
    if (memory == NULL) {
        return err_no_memory(err, wanted * item_bytes);
    }
    *pointer = memory;
    *capacity = wanted;
    return OK;
}

static enum err_code decode_batch(struct codec *codec, const void *data, size_t length, const struct schema *schema,
                                  uint32_t row_count, struct batch **out, struct error *err)
{
    AUTO(batch_free_auto) struct batch *batch = NULL;
    size_t used = 0;
    if (length == 0) {
        return row_count == 0
                   ? OK
                   : err_set(err, ERR_CORRUPT, "expected %u rows in an intake segment but found none", row_count);
    }
    TRY(batch_decode_with(data, length, schema, MAX_BATCH_BYTES, codec, &batch, &used, err));
    if (used != length || batch->row_count != row_count) {
        return err_set(err, ERR_CORRUPT, "expected %u rows in %zu bytes of an intake segment but found %u in %zu",
                       row_count, length, batch->row_count, used);
    }
    *out = TAKE(batch);
    return OK;
}

/* --- the index ---------------------------------------------------------------------------------------------------- */

/* The slot of this id, or the free one where it belongs. */
static uint32_t *find_slot(const struct gather *gather, const struct uuid *batch_id)
{
    size_t at = (size_t)digest_xxh3(batch_id->bytes, sizeof batch_id->bytes);
    for (;; at++) {
        uint32_t *slot = &gather->index[at & (gather->index_slots - 1)];
        if (*slot == 0 || uuid_equal(&gather->batches[*slot - 1].batch_id, batch_id)) {
            return slot;
        }
    }
}

static void index_all(struct gather *gather)
{
    memset(gather->index, 0, gather->index_slots * sizeof *gather->index);
    for (size_t i = 0; i < gather->count; i++) {
        *find_slot(gather, &gather->batches[i].batch_id) = (uint32_t)i + 1;
    }
}

/* Room for `more` batches, at most half full. */
static enum err_code index_reserve(struct gather *gather, size_t more, struct error *err)
{
    size_t slots = gather->index_slots == 0 ? 1024 : gather->index_slots;
    while (slots < 2 * (gather->count + more)) {
        slots *= 2;
    }
    if (slots == gather->index_slots) {
        return OK;
    }
    uint32_t *index = calloc(slots, sizeof *index);
    if (index == NULL) {
        return err_no_memory(err, slots * sizeof *index);
    }
    free(gather->index);
    gather->index = index;
    gather->index_slots = slots;
    index_all(gather);
    return OK;
}

/* --- taking in ---------------------------------------------------------------------------------------------------- */

static enum err_code decode_segment(struct codec *codec, const struct intake_table *table,
                                    const struct event_intake_segment *segment, struct gathered_batch *out,
                                    struct error *err)
{
    AUTO(batch_free_auto) struct batch *rows = NULL;
    AUTO(batch_free_auto) struct batch *rejects = NULL;
    TRY(decode_batch(codec, segment->rows, segment->rows_bytes, table->schema, segment->row_count, &rows, err));
    TRY(decode_batch(codec, segment->rejects, segment->rejects_bytes, table->rejects_schema, segment->reject_count,
                     &rejects, err));
    *out = (struct gathered_batch){.batch_id = segment->batch_id, .keyed = segment->keyed};
    memcpy(out->body_sha256, segment->body_sha256, sizeof out->body_sha256);
    out->rows = TAKE(rows);
    out->rejects = TAKE(rejects);
    return OK;
}

/* One more request of a message whose requests share its id. */
static enum err_code join(struct batch **into, struct batch **more, struct error *err)
{
    if (*into == NULL) {
        *into = TAKE(*more);
        return OK;
    }
    return *more == NULL ? OK : batch_append_range(*into, *more, 0, (*more)->row_count, err);
}

static void count_in(struct gather *gather, const struct gathered_batch *batch)
{
    const struct batch *parts[] = {batch->rows, batch->rejects};
    for (size_t i = 0; i < 2; i++) {
        if (parts[i] != NULL) {
            gather->load.rows += parts[i]->row_count;
            gather->load.bytes += (int64_t)batch_memory_bytes(parts[i]);
        }
    }
}

/* `first_own` is where the batches of this message begin: an id before it is here already (a redelivery, or a key sent
 * again), and so is a key that comes twice in one message; other requests of the message share its id and are joined. */
static enum err_code add_segment(struct gather *gather, const struct intake_table *table,
                                 const struct event_intake_segment *segment, size_t first_own, struct error *err)
{
    struct gathered_batch batch;
    uint32_t *slot = find_slot(gather, &segment->batch_id);
    if (*slot != 0 && (*slot <= first_own || segment->keyed)) {
        return OK;
    }
    TRY(decode_segment(gather->codec, table, segment, &batch, err));
    count_in(gather, &batch);
    if (*slot == 0) {
        batch.table = intake_table_share(table);
        gather->batches[gather->count++] = batch;
        *slot = (uint32_t)gather->count;
        return OK;
    }
    struct gathered_batch *mate = &gather->batches[*slot - 1];
    enum err_code code = join(&mate->rows, &batch.rows, err);
    if (code == OK) {
        code = join(&mate->rejects, &batch.rejects, err);
    }
    batch_release(&batch);
    return code;
}

static void take_back(struct gather *gather, size_t count_before, const struct intake_load *load_before)
{
    while (gather->count > count_before) {
        batch_release(&gather->batches[--gather->count]);
    }
    gather->load = *load_before;
    index_all(gather);
}

enum err_code gather_add(struct gather *gather, struct intake_tables *tables, struct bus_delivery *delivery,
                         struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(intake_table_release_auto) const struct intake_table *table = NULL;
    struct event_intake event;
    const size_t count_before = gather->count;
    const struct intake_load load_before = gather->load;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    if (gather->codec == NULL) {
        TRY(codec_new(0, &gather->codec, err));
    }
    TRY(event_intake_decode(delivery->body, delivery->body_bytes, arena, &event, err));
    TRY(grow(&gather->deliveries, &gather->delivery_capacity, gather->delivery_count + 1, sizeof *gather->deliveries,
             err));
    TRY(grow(&gather->batches, &gather->capacity, gather->count + event.segment_count, sizeof *gather->batches, err));
    TRY(index_reserve(gather, event.segment_count, err));
    TRY(intake_tables_find_version(tables, &event.table_id, event.schema_version, &table, err));
    if (table->dropped) {
        return err_set(err, ERR_NOT_FOUND, "the table of the message was dropped; hint: granary dead export intake");
    }
    if (intake_plan_too_old(delivery->published_at_us, intake_tables_now_us(tables),
                            table->settings.idempotency_horizon_us)) {
        return err_set(err, ERR_INVALID,
                       "the message is too near its table's idempotency.horizon to be committed safely; hint: granary "
                       "dead export intake, and load it again");
    }
    for (size_t i = 0; i < event.segment_count; i++) {
        enum err_code code = add_segment(gather, table, &event.segments[i], count_before, err);
        if (code != OK) {
            take_back(gather, count_before, &load_before);
            return code;
        }
    }
    if (gather->delivery_count == 0) {
        gather->since_us = clock_monotonic_us();
    }
    gather->deliveries[gather->delivery_count++] = delivery;
    gather->load.messages++;
    return OK;
}

void gather_drop(struct gather *gather, const struct uuid *ids, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t place = *find_slot(gather, &ids[i]);
        if (place != 0) {
            gather->batches[place - 1].committed = true;
        }
    }
    for (size_t i = 0; i < gather->count; i++) {
        if (gather->batches[i].committed) {
            batch_release(&gather->batches[i]);
        } else {
            gather->batches[kept++] = gather->batches[i];
        }
    }
    gather->count = kept;
    index_all(gather);
}
