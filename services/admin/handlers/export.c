/* An export goes through a file without a name: the letters are read from the broker in one visit, and the answer streams
 * from the file at the client's pace. Only when its last byte has been taken are the letters marked as exported: a client
 * that went away before has not got them. */
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/quote.h"
#include "common/log/log.h"
#include "services/admin/base64.h"
#include "services/admin/dead.h"
#include "services/admin/handlers.h"

enum { MAX_EXPORTED = 100000, BLOCK_BYTES = 64 << 10 };

struct export
{
    struct admin *admin;
    FILE *file; /* unlinked */
    char *queue, *actor;
    struct dead_ids ids; /* with its own arena: it outlives the handler */
    struct buf line;
    enum err_code code; /* the first failure */
    struct error err;
};

static void export_free(struct export *export)
{
    if (export == NULL) {
        return;
    }
    if (export->file != NULL) {
        (void)fclose(export->file);
    }
    arena_free(export->ids.arena);
    buf_done(&export->line);
    free(export->queue);
    free(export->actor);
    free(export);
}
DEFINE_AUTO(struct export, export_free)

static enum err_code export_new(struct call *call, const char *queue, struct export **out, struct error *err)
{
    AUTO(export_free_auto) struct export *export = calloc(1, sizeof *export);
    if (export == NULL) {
        return err_no_memory(err, sizeof *export);
    }
    export->admin = call->admin;
    export->ids.arena = arena_new(0);
    export->queue = strdup(queue);
    export->actor = strdup(call->actor);
    export->file = tmpfile();
    if (export->ids.arena == NULL || export->queue == NULL || export->actor == NULL) {
        return err_no_memory(err, strlen(queue));
    }
    if (export->file == NULL) {
        return err_set(err, ERR_UNAVAILABLE, "could not make a temporary file for the export: %m");
    }
    *out = TAKE(export);
    return OK;
}

/* --- in ------------------------------------------------------------------------------------------------------------- */

static enum err_code add_text(struct buf *line, const char *member, const char *text, struct error *err)
{
    TRY(buf_printf(line, err, "\"%s\":", member));
    TRY(quote_json(text, strlen(text), line, err));
    return buf_append_byte(line, ',', err);
}

static enum err_code write_letter(struct export *export, const struct bus_dead_message *message, struct error *err)
{
    struct buf *line = &export->line;
    char time[CLOCK_TEXT_BYTES];
    buf_clear(line);
    TRY(buf_append_byte(line, '{', err));
    TRY(add_text(line, "message_id", message->message_id, err));
    TRY(add_text(line, "type", message->type, err));
    TRY(add_text(line, "reason", message->reason, err));
    TRY(add_text(line, "queue", message->queue, err));
    if (message->dead_at_us == 0) {
        TRY(buf_append_text(line, "\"dead_at\":null,", err));
    } else {
        TRY(add_text(line, "dead_at", clock_format(message->dead_at_us, time), err));
    }
    TRY(buf_append_text(line, "\"body_base64\":\"", err));
    TRY(base64_encode(message->body, message->body_bytes, line, err));
    TRY(buf_append_text(line, "\"}\n", err));
    if (fwrite(line->data, 1, line->length_bytes, export->file) != line->length_bytes) {
        return err_set(err, ERR_UNAVAILABLE, "could not write the export to a temporary file: %m");
    }
    return dead_ids_add(&export->ids, message, err);
}

static enum bus_dead_action take(void *context, const struct bus_dead_message *message)
{
    struct export *export = context;
    if (export->code == OK) {
        export->code = write_letter(export, message, &export->err);
    }
    return BUS_DEAD_KEEP;
}

/* --- out ------------------------------------------------------------------------------------------------------------ */

static enum err_code mark(struct export *export, struct error *err)
{
    struct connection *connection = connections_take(export->admin->connections);
    enum err_code code = dead_mark_exported(connection->catalog, export->queue, &export->ids, export->actor, err);
    connections_give(connection);
    return code;
}

/* Where the marks cannot be made the answer breaks off: to the client the export has failed. */
static enum err_code fill(void *state, struct buf *out, bool *done, struct error *err)
{
    struct export *export = state;
    TRY(buf_reserve(out, BLOCK_BYTES, err));
    size_t length = fread(out->data + out->length_bytes, 1, BLOCK_BYTES, export->file);
    out->length_bytes += length;
    if (length > 0) {
        return OK;
    }
    struct error mark_err = {0};
    *done = true;
    if (ferror(export->file) != 0 || mark(export, &mark_err) != OK) {
        log_warn("an export of dead letters broke off", LOG_TEXT("queue", export->queue), LOG_ERR(&mark_err));
        return err_set(err, ERR_UNAVAILABLE, "could not finish the export");
    }
    return OK;
}

static void free_state(void *state)
{
    export_free(state);
}

enum err_code handle_dead_export(void *context, struct http_request *request, struct error *err)
{
    AUTO(call_done) struct call call;
    AUTO(export_free_auto) struct export *export = NULL;
    const char *queue;
    size_t visited;
    call_begin(&call, context, request);
    TRY(dead_queue(&call, &queue, err));
    TRY(export_new(&call, queue, &export, err));
    TRY(dead_visit(&call, queue, MAX_EXPORTED, take, export, &visited, err));
    if (export->code != OK) {
        return err_set(err, export->code, "%s", export->err.text);
    }
    if (fflush(export->file) != 0 || fseek(export->file, 0, SEEK_SET) != 0) {
        return err_set(err, ERR_UNAVAILABLE, "could not read the export's temporary file: %m");
    }
    return http_reply_stream(request, 200, "application/x-ndjson", fill, free_state, TAKE(export), err);
}
