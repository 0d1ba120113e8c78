#include "services/admin/dead.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/catalog/admin_history.h"
#include "common/catalog/audit.h"
#include "common/digest/digest.h"
#include "services/admin/queues.h"

enum { FIRST_IDS = 64, IDS_A_ROW = 1000 };

enum err_code dead_queue(struct call *call, const char **out, struct error *err)
{
    const char *queue = http_path(call->request, "queue");
    const char *dead = queues_dead(call, queue);
    struct bus_queue_depth depth = {0};
    if (dead == NULL) {
        return err_no_memory(err, strlen(queue));
    }
    enum err_code code = bus_queue_inspect(&call->admin->bus, dead, &depth, err);
    if (code == ERR_INVALID || (code == OK && !depth.exists)) {
        return err_set(err, ERR_NOT_FOUND, "no dead letters of a queue \"%.64s\"; hint: granary dead ls", queue);
    }
    TRY(code);
    *out = queue;
    return OK;
}

enum err_code dead_visit(struct call *call, const char *queue, size_t max, bus_dead_visitor *visit, void *context,
                         size_t *out_visited, struct error *err)
{
    const char *dead = queues_dead(call, queue);
    if (dead == NULL) {
        return err_no_memory(err, strlen(queue));
    }
    return bus_dead_visit(&call->admin->bus, dead, max, visit, context, out_visited, err);
}

/* --- ids ------------------------------------------------------------------------------------------------------------ */

void dead_id(const struct bus_dead_message *message, char out[DEAD_ID_BYTES])
{
    size_t length = strlen(message->message_id);
    if (length > 0 && length < DEAD_ID_BYTES && text_utf8_valid_prefix(message->message_id, length) == length) {
        memcpy(out, message->message_id, length + 1);
        return;
    }
    uint8_t sha256[DIGEST_SHA256_BYTES];
    char hex[2 * DIGEST_SHA256_BYTES + 1];
    digest_sha256(message->body, message->body_bytes, sha256);
    text_hex_encode(sha256, sizeof sha256, hex);
    (void)snprintf(out, DEAD_ID_BYTES, "sha256:%s", hex);
}

enum err_code dead_ids_add(struct dead_ids *ids, const struct bus_dead_message *message, struct error *err)
{
    char id[DEAD_ID_BYTES];
    dead_id(message, id);
    if (ids->count == ids->capacity) { /* the former array stays in the arena: at most as much again */
        size_t capacity = ids->capacity == 0 ? FIRST_IDS : 2 * ids->capacity;
        const char **grown = arena_zalloc(ids->arena, capacity, sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        if (ids->count > 0) {
            memcpy(grown, ids->ids, ids->count * sizeof *grown);
        }
        ids->ids = grown;
        ids->capacity = capacity;
    }
    const char *copy = arena_strdup(ids->arena, id);
    if (copy == NULL) {
        return err_no_memory(err, strlen(id));
    }
    ids->ids[ids->count++] = copy;
    return OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void dead_ids_sort(struct dead_ids *ids)
{
    if (ids->count > 1) {
        qsort(ids->ids, ids->count, sizeof *ids->ids, compare);
    }
}

bool dead_ids_have(const struct dead_ids *ids, const struct bus_dead_message *message)
{
    char id[DEAD_ID_BYTES];
    const char *wanted = id;
    dead_id(message, id);
    return ids->count > 0 && bsearch(&wanted, ids->ids, ids->count, sizeof *ids->ids, compare) != NULL;
}

/* --- the audit log -------------------------------------------------------------------------------------------------- */

static enum err_code record(struct catalog *catalog, const char *actor, const char *action, struct json *details,
                            struct error *err)
{
    AUTO(catalog_rollback_auto) struct catalog_transaction *transaction = NULL;
    AUTO(free_auto) char *text = NULL;
    TRY(json_dump_text(details, JSON_STYLE_COMPACT, &text, err));
    TRY(catalog_begin(catalog, &transaction, err));
    TRY(catalog_audit_record(transaction,
                             &(struct catalog_audit){.actor = actor, .action = action, .details_json = text}, err));
    return catalog_commit(TAKE(transaction), err);
}

enum err_code dead_audit(struct call *call, const char *action, const char *queue, int64_t messages, struct error *err)
{
    AUTO(json_free_auto) struct json *details = json_new_object();
    TRY(json_set_string(details, "queue", queue, err));
    TRY(json_set_i64(details, "messages", messages, err));
    return record(call->catalog, call->actor, action, details, err);
}

static enum err_code mark(struct catalog *catalog, const char *queue, const char *const *ids, size_t count,
                          const char *actor, struct error *err)
{
    AUTO(json_free_auto) struct json *details = json_new_object();
    struct json *array = json_new_array();
    TRY(json_set_string(details, "queue", queue, err));
    TRY(json_set(details, "message_ids", array, err));
    for (size_t i = 0; i < count; i++) {
        TRY(json_append(array, json_new_string(ids[i], strlen(ids[i])), err));
    }
    return record(catalog, actor, "dead.export", details, err);
}

enum err_code dead_mark_exported(struct catalog *catalog, const char *queue, const struct dead_ids *ids,
                                 const char *actor, struct error *err)
{
    for (size_t done = 0; done < ids->count; done += IDS_A_ROW) {
        size_t left = ids->count - done;
        TRY(mark(catalog, queue, ids->ids + done, left < IDS_A_ROW ? left : IDS_A_ROW, actor, err));
    }
    return OK;
}

enum err_code dead_check_exported(struct call *call, const char *queue, const struct dead_ids *ids, struct error *err)
{
    int64_t count;
    const char *first;
    TRY(catalog_admin_unexported(call->catalog, queue, ids->ids, ids->count, call->arena, &count, &first, err));
    if (count > 0) {
        return err_set(err, ERR_CONFLICT,
                       "%lld of %zu dead letters were never exported, such as \"%.64s\"; hint: granary dead export %s",
                       (long long)count, ids->count, first, queue);
    }
    return OK;
}
