/* Listings. Objects are asked for by the last key, not by a token of the store's: it can be asked again at any time, a page
 * that comes twice is noticed, and there is no token that can break. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/store/s3.h"
#include "common/store/s3_xml.h"

static const struct {
    const char *root;
    const char *entries[2];
    const char *flag; /* the query parameter that asks for it */
    const char *max, *after, *after_id;
    const char *id;
} listings[S3_LISTING_COUNT] = {
    [S3_OBJECTS] = {"ListBucketResult", {"Contents", NULL}, "list-type", "max-keys", "start-after", NULL, NULL},
    [S3_VERSIONS] = {"ListVersionsResult",
                     {"Version", "DeleteMarker"},
                     "versions",
                     "max-keys",
                     "key-marker",
                     "version-id-marker",
                     "VersionId"},
    [S3_UPLOADS] = {"ListMultipartUploadsResult",
                    {"Upload", NULL},
                    "uploads",
                    "max-uploads",
                    "key-marker",
                    "upload-id-marker",
                    "UploadId"},
};

struct parse {
    enum s3_listing listing;
    const char *prefix, *after;
    struct s3_page *page;
    size_t capacity;
    struct s3_entry entry; /* the one whose elements come now */
    bool encoded, whole;
};

/* --- one page ----------------------------------------------------------------------------------------------------- */

static enum err_code push(struct parse *parse, struct error *err)
{
    struct s3_page *page = parse->page;
    if (parse->entry.key == NULL) {
        return err_set(err, ERR_CORRUPT, "expected a key in each entry of a listing but found none");
    }
    if (page->count == parse->capacity) {
        return err_set(err, ERR_CORRUPT, "expected at most %zu entries in a page of a listing but found more",
                       parse->capacity);
    }
    page->entries[page->count++] = parse->entry;
    parse->entry = (struct s3_entry){.id = ""};
    return OK;
}

static enum err_code keep(struct parse *parse, const char *text, const char **out, struct error *err)
{
    *out = arena_strdup(parse->page->arena, text);
    return *out == NULL ? err_no_memory(err, strlen(text)) : OK;
}

static enum err_code take_field(struct parse *parse, const char *name, const char *text, struct error *err)
{
    struct s3_entry *entry = &parse->entry;
    const char *id = listings[parse->listing].id;
    if (strcmp(name, "Key") == 0) {
        return keep(parse, text, &entry->key, err);
    }
    if (strcmp(name, "Size") == 0) {
        entry->size_bytes = strtoull(text, NULL, 10);
    } else if (strcmp(name, "LastModified") == 0 || strcmp(name, "Initiated") == 0) {
        return clock_parse(text, strlen(text), &entry->time_us, err);
    } else if (strcmp(name, "ETag") == 0) {
        size_t quote = text[0] == '"';
        (void)snprintf(entry->etag, sizeof entry->etag, "%.*s", (int)strcspn(text + quote, "\""), text + quote);
    } else if (strcmp(name, "IsLatest") == 0) {
        entry->latest = strcmp(text, "true") == 0;
    } else if (id != NULL && strcmp(name, id) == 0) {
        return keep(parse, text, &entry->id, err);
    }
    return OK;
}

static enum err_code take_property(struct parse *parse, const char *name, const char *text, struct error *err)
{
    struct s3_page *page = parse->page;
    for (size_t i = 0; i < 2; i++) {
        const char *entry = listings[parse->listing].entries[i];
        if (entry != NULL && strcmp(name, entry) == 0) {
            return push(parse, err);
        }
    }
    if (strcmp(name, "IsTruncated") == 0) {
        page->more = strcmp(text, "true") == 0;
    } else if (strcmp(name, "EncodingType") == 0) {
        parse->encoded = strcmp(text, "url") == 0;
    } else if (strcmp(name, "NextKeyMarker") == 0) {
        return keep(parse, text, &page->next_key, err);
    } else if (strcmp(name, "NextVersionIdMarker") == 0 || strcmp(name, "NextUploadIdMarker") == 0) {
        return keep(parse, text, &page->next_id, err);
    }
    return OK;
}

static enum err_code on_element(void *context, const char *path, const char *text, struct error *err)
{
    struct parse *parse = context;
    const char *root = listings[parse->listing].root;
    size_t length = strlen(root);
    if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0')) {
        return OK;
    }
    if (path[length] == '\0') {
        parse->whole = true;
        return OK;
    }
    const char *name = path + length + 1;
    const char *slash = strchr(name, '/');
    if (slash == NULL) {
        return take_property(parse, name, text, err);
    }
    return strchr(slash + 1, '/') == NULL ? take_field(parse, slash + 1, text, err) : OK; /* Owner/ID and the like */
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* In place, in the arena's memory: "%2B" and the blank that some write as "+". A key with a NUL in it would be taken for one
 * that ends before it, and that may be ours. */
static enum err_code decode(const char *encoded, struct error *err)
{
    char *out = (char *)(uintptr_t)encoded;
    for (const char *at = encoded; *at != '\0'; at++) {
        int high = *at == '%' ? digit(at[1]) : -1;
        int low = high >= 0 ? digit(at[2]) : -1;
        if (high == 0 && low == 0) {
            return err_set(err, ERR_CORRUPT, "expected keys without NUL bytes but found one behind \"%.*s\"",
                           (int)(out - encoded), encoded);
        }
        if (low >= 0) {
            *out++ = (char)(high * 16 + low);
            at += 2;
        } else {
            *out++ = *at == '+' ? ' ' : *at;
        }
    }
    if (*out != '\0') { /* something was cut; "" may not be ours */
        *out = '\0';
    }
    return OK;
}

static enum err_code check_entries(const struct parse *parse, struct error *err)
{
    const struct s3_page *page = parse->page;
    const char *last = parse->after;
    size_t length = strlen(parse->prefix);
    for (size_t i = 0; i < page->count; i++) {
        const char *key = page->entries[i].key;
        if (strncmp(key, parse->prefix, length) != 0) {
            return err_set(err, ERR_CORRUPT, "expected keys that begin with \"%.200s\" but found \"%.200s\"",
                           parse->prefix, key);
        }
        if (parse->listing == S3_OBJECTS && strcmp(key, last) <= 0) {
            return err_set(err, ERR_CORRUPT, "expected a key behind \"%.200s\" but found \"%.200s\"", last, key);
        }
        last = parse->listing == S3_OBJECTS ? key : last;
    }
    return page->more && page->count == 0
               ? err_set(err, ERR_CORRUPT, "expected keys in a page that is not the last but found none")
               : OK;
}

static enum err_code read_page(void *context, const struct s3_answer *answer, struct error *err)
{
    struct parse *parse = context;
    struct s3_page *page = parse->page;
    page->count = 0;
    page->more = parse->encoded = parse->whole = false;
    page->next_key = page->next_id = "";
    parse->entry = (struct s3_entry){.id = ""};
    TRY(store_s3_xml_parse((const char *)answer->body.data, answer->body.length_bytes, on_element, parse, err));
    if (!parse->whole) {
        return err_set(err, ERR_CORRUPT, "expected a listing but found another document");
    }
    if (parse->encoded) {
        for (size_t i = 0; i < page->count; i++) {
            TRY(decode(page->entries[i].key, err));
        }
        TRY(decode(page->next_key, err));
    }
    return check_entries(parse, err);
}

enum err_code store_s3_page(struct s3_store *store, enum s3_listing listing, const char *prefix, const char *after_key,
                            const char *after_id, size_t max, struct s3_page *page, struct error *err)
{
    AUTO(store_s3_answer_done) struct s3_answer answer = {0};
    char most[24];
    struct net_header query[6] = {
        {listings[listing].flag, listing == S3_OBJECTS ? "2" : ""},
        {listings[listing].max, most},
        {"encoding-type", "url"},
        {"prefix", prefix},
    };
    size_t count = 4;
    (void)snprintf(most, sizeof most, "%zu", max);
    if (*after_key != '\0') {
        query[count++] = (struct net_header){listings[listing].after, after_key};
    }
    if (listings[listing].after_id != NULL && *after_id != '\0') {
        query[count++] = (struct net_header){listings[listing].after_id, after_id};
    }
    struct parse parse = {.listing = listing, .prefix = prefix, .after = after_key, .page = page, .capacity = max};
    page->entries = arena_zalloc(page->arena, max, sizeof *page->entries);
    if (page->entries == NULL) {
        return err_no_memory(err, max * sizeof *page->entries);
    }
    const struct s3_request request = {
        .verb = "list",
        .method = "GET",
        .query = query,
        .query_count = count,
        .read = read_page,
        .context = &parse,
    };
    TRY(store_s3_send(store, &request, &answer, err));
    return answer.status == 200 ? OK : store_s3_error_set(store, &request, &answer, ERR_UNAVAILABLE, err);
}

/* --- store_list --------------------------------------------------------------------------------------------------- */

struct objects {
    struct store_object *list;
    size_t count, capacity;
};

static void objects_done(struct objects *objects)
{
    free(objects->list);
}

static enum err_code append(struct objects *objects, const struct s3_page *page, size_t skip, struct error *err)
{
    if (objects->capacity < objects->count + page->count) {
        size_t capacity = 2 * (objects->count + page->count);
        struct store_object *grown = realloc(objects->list, capacity * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        objects->list = grown;
        objects->capacity = capacity;
    }
    for (size_t i = 0; i < page->count; i++) {
        const struct s3_entry *entry = &page->entries[i];
        struct store_object *object = &objects->list[objects->count++];
        *object = (struct store_object){
            .key = entry->key + skip, .size_bytes = entry->size_bytes, .modified_at_us = entry->time_us};
        memcpy(object->etag, entry->etag, sizeof object->etag);
    }
    return OK;
}

enum err_code store_s3_list(struct store *base, const char *prefix, const char *after, size_t max, struct arena *arena,
                            struct store_object **out, size_t *out_count, bool *out_more, struct error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    AUTO(objects_done) struct objects objects = {0};
    char whole[S3_KEY_BYTES];
    char last[S3_KEY_BYTES] = "";
    size_t skip = strlen(store->url.prefix) + (store->url.prefix[0] != '\0');
    bool more = max > 0;
    TRY(store_s3_key(store, prefix, whole, err));
    if (*after != '\0' || *prefix == '\0') { /* a folder marker "<prefix>/" has no name below the prefix: behind it */
        TRY(store_s3_key(store, after, last, err));
    }
    while (more && objects.count < max) {
        struct s3_page page = {.arena = arena};
        size_t left = max - objects.count;
        TRY(store_s3_page(store, S3_OBJECTS, whole, last, "", left < S3_BULK_KEYS ? left : S3_BULK_KEYS, &page, err));
        TRY(append(&objects, &page, skip, err));
        more = page.more;
        if (page.count > 0) {
            (void)snprintf(last, sizeof last, "%s", page.entries[page.count - 1].key);
        }
    }
    struct store_object *list = arena_zalloc(arena, objects.count + 1, sizeof *list);
    if (list == NULL) {
        return err_no_memory(err, objects.count * sizeof *list);
    }
    if (objects.count > 0) {
        memcpy(list, objects.list, objects.count * sizeof *list);
    }
    *out = list;
    *out_count = objects.count;
    *out_more = more;
    return OK;
}
