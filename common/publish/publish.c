#include "common/publish/publish.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/publish/internal.h"

enum { OUTCOME_TIMEOUT_US = 5000000, OUTCOME_PAUSE_US = 200000 };

/* --- sessions ----------------------------------------------------------------------------------------------------- */

enum err_code publish_open(const struct publish_options *options, struct publish **out, struct error *err)
{
    AUTO(publish_close_auto) struct publish *publish = calloc(1, sizeof *publish);
    if (publish == NULL) {
        return err_no_memory(err, sizeof *publish);
    }
    publish->options = *options;
    publish->owner = strdup(options->owner);
    publish->reason = strdup(options->reason);
    if (publish->owner == NULL || publish->reason == NULL) {
        return err_no_memory(err, strlen(options->owner) + strlen(options->reason));
    }
    *out = TAKE(publish);
    return OK;
}

/* Best effort: what cannot be given up now is when its lease is over. */
static void give_up(struct publish *publish)
{
    bool staged = !uuid_is_nil(&publish->lock.lock_id);
    if (staged && (publish->state == PUBLISH_OPEN || publish->state == PUBLISH_FAILED)) {
        enum err_code code = catalog_partitions_give_up(publish->options.catalog, &publish->lock.lock_id,
                                                        publish->lock.token, publish->owner, NULL);
        (void)code;
    }
}

void publish_close(struct publish *publish)
{
    if (publish == NULL) {
        return;
    }
    give_up(publish);
    for (size_t i = 0; i < publish->piece_count; i++) {
        partition_facts_done(&publish->pieces[i]->facts);
        free(publish->pieces[i]);
    }
    free(publish->pieces);
    free(publish->owner);
    free(publish->reason);
    free(publish);
}

struct publish_totals publish_totals(const struct publish *publish)
{
    struct publish_totals totals = {.partitions = publish->written_count};
    for (size_t i = 0; i < publish->written_count; i++) {
        totals.rows += publish->pieces[i]->facts.row_count;
        totals.data_bytes += publish->pieces[i]->facts.data_bytes;
    }
    return totals;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static void find_bounds(const struct publish_piece *piece, struct partition_record *record)
{
    const int64_t *times = piece->batch->columns[piece->schema->timestamp_column].values.i64;
    record->min_timestamp_us = INT64_MAX;
    record->max_timestamp_us = INT64_MIN;
    for (uint32_t i = piece->first; i < piece->first + piece->count; i++) {
        int64_t time = times[piece->order == NULL ? i : piece->order[i]];
        record->min_timestamp_us = time < record->min_timestamp_us ? time : record->min_timestamp_us;
        record->max_timestamp_us = time > record->max_timestamp_us ? time : record->max_timestamp_us;
    }
}

static struct piece *piece_new(const struct publish *publish, const struct publish_piece *given)
{
    struct piece *piece = calloc(1, sizeof *piece);
    if (piece == NULL) {
        return NULL;
    }
    piece->given = *given;
    piece->record = (struct partition_record){.partition_id = uuid_v7(),
                                              .table_id = given->schema->table_id,
                                              .schema_version = given->schema->version,
                                              .row_count = given->count,
                                              .origin = publish->options.origin};
    find_bounds(given, &piece->record);
    piece->record.path = partition_path(&piece->record.table_id, piece->record.min_timestamp_us,
                                        &piece->record.partition_id, piece->path);
    return piece;
}

static enum err_code check_open(const struct publish *publish, struct error *err)
{
    if (publish->state != PUBLISH_OPEN) {
        return err_set(err, ERR_INVALID, "expected an open publish session but it is over");
    }
    return OK;
}

enum err_code publish_add(struct publish *publish, const struct publish_piece *piece, struct error *err)
{
    TRY(check_open(publish, err));
    if (publish->piece_count == publish->piece_capacity) {
        size_t capacity = publish->piece_capacity == 0 ? 16 : 2 * publish->piece_capacity;
        struct piece **grown = realloc(publish->pieces, capacity * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        publish->pieces = grown;
        publish->piece_capacity = capacity;
    }
    struct piece *added = piece_new(publish, piece);
    if (added == NULL) {
        return err_no_memory(err, sizeof *added);
    }
    publish->pieces[publish->piece_count++] = added;
    return OK;
}

/* --- staging ------------------------------------------------------------------------------------------------------ */

void publish_note_lease(struct publish *publish, const struct catalog_lock *lock, int64_t asked_us)
{
    publish->lock = *lock;
    publish->renew_at_us = asked_us + publish->options.lease_us / 3;
    atomic_store(&publish->deadline_us, asked_us + (lock->expires_at_us - lock->now_us));
}

static enum err_code stage_records(struct publish *publish, const struct partition_record *records, size_t count,
                                   int32_t *storage_ids, struct error *err)
{
    bool first = uuid_is_nil(&publish->lock.lock_id);
    struct catalog_lock lock = publish->lock;
    const struct catalog_stage stage = {.lock_id = first ? uuid_v7() : lock.lock_id,
                                        .owner = publish->owner,
                                        .reason = publish->reason,
                                        .lease_us = publish->options.lease_us,
                                        .partitions = records,
                                        .count = count,
                                        .storage_ids = storage_ids};
    int64_t asked_us = clock_monotonic_us();
    struct catalog *catalog = publish->options.catalog;
    TRY(first ? catalog_partitions_stage(catalog, &stage, &lock, err)
              : catalog_partitions_stage_more(catalog, &stage, &lock, err));
    publish_note_lease(publish, &lock, asked_us);
    return OK;
}

/* Here, because the threads that write have no catalog to ask. */
static enum err_code find_stores(struct publish *publish, const int32_t *storage_ids, struct error *err)
{
    for (size_t i = publish->staged_count; i < publish->piece_count; i++) {
        struct piece *piece = publish->pieces[i];
        piece->record.storage_id = storage_ids[i - publish->staged_count];
        TRY(storages_get(publish->options.storages, publish->options.catalog, piece->record.storage_id, &piece->store,
                         err));
    }
    return OK;
}

static enum err_code stage_added(struct publish *publish, struct error *err)
{
    size_t count = publish->piece_count - publish->staged_count;
    AUTO(free_auto) struct partition_record *records = calloc(count + 1, sizeof *records);
    AUTO(free_auto) int32_t *storage_ids = calloc(count + 1, sizeof *storage_ids);
    if (records == NULL || storage_ids == NULL) {
        return err_no_memory(err, count * sizeof *records);
    }
    for (size_t i = 0; i < count; i++) {
        records[i] = publish->pieces[publish->staged_count + i]->record;
    }
    enum err_code code = stage_records(publish, records, count, storage_ids, err);
    if (code == ERR_UNKNOWN) {
        /* Rows that are staged twice, or not at all, harm nobody: the session fails, and their lease runs out. */
        return err_set(err, ERR_UNAVAILABLE, "could not tell whether %zu partitions were staged", count);
    }
    TRY(code);
    TRY(find_stores(publish, storage_ids, err));
    publish->staged_count = publish->piece_count;
    return OK;
}

enum err_code publish_write(struct publish *publish, struct error *err)
{
    TRY(check_open(publish, err));
    if (publish->written_count == publish->piece_count) {
        return OK;
    }
    publish->state = PUBLISH_FAILED; /* until all is well */
    TRY(stage_added(publish, err));
    FAULT_POINT("publish.after_stage");
    TRY(publish_write_pieces(publish, err));
    FAULT_POINT("publish.after_write");
    publish->state = PUBLISH_OPEN;
    return OK;
}

enum err_code publish_keep(struct publish *publish, struct error *err)
{
    TRY(check_open(publish, err));
    enum err_code code = publish_renew(publish, err);
    publish->state = code == OK ? PUBLISH_OPEN : PUBLISH_FAILED;
    return code;
}

/* --- committing --------------------------------------------------------------------------------------------------- */

static bool is_stopped(const struct publish *publish)
{
    return publish->options.stopped != NULL && publish->options.stopped(publish->options.context);
}

/* Whether a commit whose answer was lost has landed. Asks for as long as it takes, or until told to stop. */
static enum err_code find_outcome(struct publish *publish, uint64_t xid, bool *out_committed, struct error *err)
{
    for (;;) {
        enum err_code code =
            catalog_transaction_outcome(publish->options.catalog, xid, OUTCOME_TIMEOUT_US, out_committed, err);
        if (code == OK) {
            return OK;
        }
        if (is_stopped(publish)) {
            return err_set(err, ERR_UNKNOWN, "could not find out whether transaction %llu was committed",
                           (unsigned long long)xid);
        }
        clock_pause_us(OUTCOME_PAUSE_US);
    }
}

/* Publishes until it is known to have landed or to be refused. Trying again is safe: it changes exactly the rows staged under
 * this lock, or nothing; and it ends, since the lease does. */
static enum err_code publish_until_known(struct publish *publish, const struct catalog_publish *request,
                                         struct arena *arena, struct catalog_published *published, struct error *err)
{
    for (;;) {
        enum err_code code = catalog_partitions_publish(publish->options.catalog, request, arena, published, err);
        if (code != ERR_UNKNOWN) {
            return code;
        }
        bool committed = false;
        publish->state = PUBLISH_UNCERTAIN;
        TRY(find_outcome(publish, published->xid, &committed, err));
        if (committed) {
            return OK;
        }
        publish->state = PUBLISH_FAILED;
    }
}

enum err_code publish_commit(struct publish *publish, const struct catalog_batch *batches, size_t count,
                             struct arena *arena, struct uuid **out_known, size_t *out_known_count, struct error *err)
{
    TRY(check_open(publish, err));
    if (publish->written_count != publish->piece_count) {
        return err_set(err, ERR_INVALID, "expected %zu partitions written before the commit but found %zu",
                       publish->piece_count, publish->written_count);
    }
    struct catalog_publication *publications = arena_zalloc(arena, publish->piece_count + 1, sizeof *publications);
    if (publications == NULL) {
        return err_no_memory(err, publish->piece_count * sizeof *publications);
    }
    for (size_t i = 0; i < publish->piece_count; i++) {
        const struct piece *piece = publish->pieces[i];
        publications[i] = (struct catalog_publication){&piece->record, piece->facts.columns, piece->facts.column_count};
    }
    const struct catalog_publish request = {.lock_id = publish->lock.lock_id,
                                            .token = publish->lock.token,
                                            .publications = publications,
                                            .count = publish->piece_count,
                                            .batches = batches,
                                            .batch_count = count,
                                            .actor = publish->owner};
    struct catalog_published published = {0};
    publish->state = PUBLISH_FAILED;
    FAULT_POINT("publish.before_commit");
    enum err_code code = publish_until_known(publish, &request, arena, &published, err);
    *out_known = published.known;
    *out_known_count = code == ERR_CONFLICT ? published.known_count : 0;
    TRY(code);
    publish->state = PUBLISH_COMMITTED;
    FAULT_POINT("publish.after_commit");
    return OK;
}
