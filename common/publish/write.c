/* The files of a session are written by a few threads, because a durable write spends most of its time waiting for the
 * disk, and a disk that is asked by several at once answers them together. The calling thread owns the catalog's
 * connection: it renews the lease meanwhile and moves the deadline that all uploads obey. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/publish/internal.h"

enum { SLAB_ROWS = 8192, MAX_THREADS = 64, RETRY_US = 1000000 };

enum err_code publish_renew(struct publish *publish, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    if (uuid_is_nil(&publish->lock.lock_id) || now_us < publish->renew_at_us) {
        return OK;
    }
    struct catalog_lock lock = publish->lock;
    struct error failure = {0};
    enum err_code code = catalog_lock_renew(publish->options.catalog, &lock, publish->options.lease_us, &failure);
    if (code == OK) {
        publish_note_lease(publish, &lock, now_us);
        return OK;
    }
    bool away = code == ERR_UNAVAILABLE || code == ERR_TIMEOUT;
    if (away && clock_monotonic_us() < atomic_load(&publish->deadline_us)) {
        publish->renew_at_us = clock_monotonic_us() + RETRY_US;
        return OK;
    }
    return err_set(err, away ? ERR_TIMEOUT : code, "%s", failure.text);
}

/* --- one piece ---------------------------------------------------------------------------------------------------- */

static enum err_code append_slab(struct partition_writer *writer, const struct publish_piece *piece, uint32_t first,
                                 uint32_t count, struct batch *slab, struct error *err)
{
    if (piece->order == NULL) {
        return partition_writer_append(writer, piece->batch, first, count, err);
    }
    batch_clear(slab);
    TRY(batch_append_rows(slab, piece->batch, piece->order + first, count, err));
    return partition_writer_append(writer, slab, 0, count, err);
}

static enum err_code append_rows(struct publish *publish, struct partition_writer *writer,
                                 const struct publish_piece *piece, struct error *err)
{
    AUTO(batch_free_auto) struct batch *slab = NULL;
    uint32_t end = piece->first + piece->count;
    TRY(batch_new(piece->schema, piece->order == NULL ? 0 : SLAB_ROWS, &slab, err));
    for (uint32_t first = piece->first; first < end;) {
        uint32_t count = end - first < SLAB_ROWS ? end - first : SLAB_ROWS;
        TRY(append_slab(writer, piece, first, count, slab, err));
        partition_writer_set_deadline(writer, atomic_load(&publish->deadline_us));
        FAULT_POINT("publish.mid_write");
        first += count;
    }
    return OK;
}

static enum err_code write_piece(struct publish *publish, struct piece *piece, struct error *err)
{
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    const struct partition_writer_options options = {.path = piece->path,
                                                     .partition_id = piece->record.partition_id,
                                                     .deadline_us = atomic_load(&publish->deadline_us)};
    TRY(partition_writer_open(piece->store, piece->given.schema, &options, &writer, err));
    TRY(append_rows(publish, writer, &piece->given, err));
    TRY(partition_writer_finish(writer, &piece->facts, err));

    const struct partition_facts *facts = &piece->facts;
    struct partition_record *record = &piece->record;
    record->row_count = (int64_t)facts->row_count;
    record->data_bytes = (int64_t)facts->data_bytes;
    record->memory_bytes = (int64_t)facts->memory_bytes;
    record->min_timestamp_us = facts->min_timestamp_us;
    record->max_timestamp_us = facts->max_timestamp_us;
    record->etag = facts->etag;
    memcpy(record->sha256, facts->sha256, sizeof record->sha256);
    return OK;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

struct crew {
    struct publish *publish;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next;        /* piece to write */
    unsigned at_work;   /* threads that have not ended */
    enum err_code code; /* of the first that failed: the others stop after their piece */
    struct error error;
};

static void crew_init(struct crew *crew, struct publish *publish)
{
    pthread_condattr_t attributes;
    *crew = (struct crew){.publish = publish, .next = publish->written_count};
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&crew->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

static void crew_done(struct crew *crew)
{
    (void)pthread_cond_destroy(&crew->changed);
    (void)pthread_mutex_destroy(&crew->lock);
}

static struct piece *take_piece(struct crew *crew)
{
    struct publish *publish = crew->publish;
    (void)pthread_mutex_lock(&crew->lock);
    bool more = crew->code == OK && crew->next < publish->piece_count;
    struct piece *piece = more ? publish->pieces[crew->next++] : NULL;
    (void)pthread_mutex_unlock(&crew->lock);
    return piece;
}

static void note_failure(struct crew *crew, enum err_code code, const struct error *error)
{
    (void)pthread_mutex_lock(&crew->lock);
    if (crew->code == OK) {
        crew->code = code;
        crew->error = *error;
    }
    (void)pthread_mutex_unlock(&crew->lock);
}

static void *work(void *argument)
{
    struct crew *crew = argument;
    for (struct piece *piece = take_piece(crew); piece != NULL; piece = take_piece(crew)) {
        struct error error = {0};
        enum err_code code = write_piece(crew->publish, piece, &error);
        if (code != OK) {
            note_failure(crew, code, &error);
        }
    }
    (void)pthread_mutex_lock(&crew->lock);
    crew->at_work--;
    (void)pthread_cond_signal(&crew->changed);
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Waits for a thread to end, or until the lease is to be renewed; once something has failed, no longer for that. Under the
 * lock. */
static bool is_renewal_due(struct crew *crew)
{
    if (crew->code != OK) {
        (void)pthread_cond_wait(&crew->changed, &crew->lock);
        return false;
    }
    int64_t until_us = crew->publish->renew_at_us;
    const struct timespec until = {.tv_sec = until_us / CLOCK_SECOND_US, .tv_nsec = until_us % CLOCK_SECOND_US * 1000};
    return pthread_cond_timedwait(&crew->changed, &crew->lock, &until) != 0;
}

/* Sees to the lease until all have ended. A lease that is lost ends the work: nothing it still writes could be published. */
static void oversee(struct crew *crew)
{
    (void)pthread_mutex_lock(&crew->lock);
    while (crew->at_work > 0) {
        if (!is_renewal_due(crew)) {
            continue;
        }
        (void)pthread_mutex_unlock(&crew->lock);
        struct error error = {0};
        enum err_code code = publish_renew(crew->publish, &error);
        if (code != OK) {
            note_failure(crew, code, &error);
        }
        (void)pthread_mutex_lock(&crew->lock);
    }
    (void)pthread_mutex_unlock(&crew->lock);
}

static unsigned start_threads(struct crew *crew, pthread_t *threads, size_t wanted)
{
    unsigned count = 0;
    (void)pthread_mutex_lock(&crew->lock);
    while (count < wanted && pthread_create(&threads[count], NULL, work, crew) == 0) {
        count++;
    }
    crew->at_work = count;
    (void)pthread_mutex_unlock(&crew->lock);
    return count;
}

enum err_code publish_write_pieces(struct publish *publish, struct error *err)
{
    AUTO(crew_done) struct crew crew;
    pthread_t threads[MAX_THREADS];
    size_t pieces = publish->piece_count - publish->written_count;
    size_t wanted = publish->options.threads < 1 ? 1 : publish->options.threads;
    wanted = wanted < MAX_THREADS ? wanted : MAX_THREADS;
    crew_init(&crew, publish);
    unsigned count = start_threads(&crew, threads, wanted < pieces ? wanted : pieces);
    if (count == 0) {
        return err_set(err, ERR_NO_MEMORY, "could not start a thread to write partitions");
    }
    oversee(&crew);
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    if (crew.code != OK) {
        return err_set(err, crew.code, "%s", crew.error.text);
    }
    publish->written_count = publish->piece_count;
    return OK;
}
