#include "common/publish/marker.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/json/json.h"

enum { MARKER_MAX_BYTES = 4096, UPLOAD_US = 60 * 1000000, MAX_TRIES = 10, PAUSE_US = 5000 };

static enum err_code refuse(struct store *store, struct error *err, const char *what)
{
    return err_set(err, ERR_DENIED,
                   "%s in the store \"%s\"; hint: either this store or this catalog is not the one that was meant",
                   what, store_url(store));
}

/* A store that refuses to be asked has said nothing about whose it is. */
static enum err_code not_asked(enum err_code code, struct error *err)
{
    const struct error reason = err != NULL ? *err : (struct error){0};
    return code == ERR_DENIED ? err_set(err, ERR_UNAVAILABLE, "%s", reason.text) : code;
}

static enum err_code parse_marker(const char *text, size_t length, struct uuid *out, struct error *err)
{
    AUTO(json_free_auto) struct json *json = NULL;
    const char *id = NULL;
    TRY(json_parse(text, length, NULL, &json, err));
    TRY(json_get_string(json, NULL, "deployment_id", &id, err));
    return uuid_parse(id, strlen(id), out, err);
}

/* ERR_NOT_FOUND: there is none. ERR_DENIED: there is one, of another deployment or of none. */
static enum err_code compare_marker(struct store *store, const struct uuid *deployment_id, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store_object object;
    char text[MARKER_MAX_BYTES];
    struct uuid found;
    if (arena == NULL) {
        return err_no_memory(err, MARKER_MAX_BYTES);
    }
    TRY(not_asked(store_head(store, PUBLISH_MARKER_KEY, arena, &object, err), err));
    if (object.size_bytes > sizeof text) {
        return refuse(store, err, "expected a deployment marker but found something larger");
    }
    TRY(not_asked(store_get(store, PUBLISH_MARKER_KEY, 0, (size_t)object.size_bytes, text, err), err));
    if (parse_marker(text, (size_t)object.size_bytes, &found, NULL) != OK) {
        return refuse(store, err, "expected a deployment marker but found something else");
    }
    if (!uuid_equal(&found, deployment_id)) {
        char what[160];
        char theirs[UUID_TEXT_BYTES];
        char ours[UUID_TEXT_BYTES];
        (void)snprintf(what, sizeof what, "expected the marker of deployment %s but found that of %s",
                       uuid_format(deployment_id, ours), uuid_format(&found, theirs));
        return refuse(store, err, what);
    }
    return OK;
}

static enum err_code create_marker(struct store *store, const struct uuid *deployment_id, struct error *err)
{
    AUTO(store_upload_abort_auto) struct store_upload *upload = NULL;
    struct store_receipt receipt;
    char text[128];
    char id[UUID_TEXT_BYTES];
    int length = snprintf(text, sizeof text, "{\"deployment_id\":\"%s\"}\n", uuid_format(deployment_id, id));
    TRY(store_upload_open(store, PUBLISH_MARKER_KEY, clock_monotonic_us() + UPLOAD_US, &upload, err));
    TRY(store_upload_write(upload, text, (size_t)length, err));
    return store_upload_finish(TAKE(upload), &receipt, err);
}

enum err_code publish_marker_verify(struct store *store, const struct uuid *deployment_id, struct error *err)
{
    enum err_code code = compare_marker(store, deployment_id, err);
    return code == ERR_NOT_FOUND ? refuse(store, err, "expected a deployment marker but found none") : code;
}

/* Processes that start together get in each other's way while there is no marker: whoever is not first looks again. */
enum err_code publish_marker_ensure(struct store *store, const struct uuid *deployment_id, struct error *err)
{
    for (int tries = 0;; tries++) {
        enum err_code code = compare_marker(store, deployment_id, err);
        if (code != ERR_NOT_FOUND) {
            return code;
        }
        code = create_marker(store, deployment_id, err);
        if (code != OK && code != ERR_CONFLICT && (code != ERR_UNAVAILABLE || tries == MAX_TRIES)) {
            return code;
        }
        clock_pause_us(code == OK ? 0 : tries * PAUSE_US);
    }
}
