/* The file holds hashes, so that who reads it can do nothing with it. A presented token is hashed and compared with every
 * entry in the same time, whether it matches or not. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/digest/digest.h"
#include "common/http/internal.h"
#include "common/json/json.h"

enum { LARGEST_FILE_BYTES = 1 << 20, CHECK_EVERY_US = 1000000 };

struct entry {
    uint8_t sha256[DIGEST_SHA256_BYTES];
    const char *name;
    unsigned roles;
};

struct table {
    struct arena *arena; /* of the names */
    struct entry *entries;
    size_t count;
    size_t capacity;
};

struct version { /* of the file */
    struct timespec modified;
    ino_t inode;
    off_t bytes;
};

struct http_tokens {
    char *path;
    void (*on_fault)(const struct error *fault);
    _Atomic int64_t check_at_us;
    pthread_rwlock_t lock; /* around table; version belongs to whoever moved check_at_us */
    struct table table;
    struct version version;
};

static void table_done(struct table *table)
{
    arena_free(table->arena);
    free(table->entries);
    *table = (struct table){0};
}

static enum err_code parse_roles(const struct json *object, unsigned *out, struct error *err)
{
    static const struct {
        const char *name;
        enum http_role role;
    } names[] = {{"read", HTTP_ROLE_READ}, {"write", HTTP_ROLE_WRITE}, {"operate", HTTP_ROLE_OPERATE}};
    struct json *roles;
    TRY(json_get_array(object, NULL, "roles", &roles, err));
    unsigned found = HTTP_ROLE_NONE;
    for (size_t i = 0; i < json_length(roles); i++) {
        const char *text;
        TRY(json_string_at(roles, NULL, i, &text, err));
        unsigned role = HTTP_ROLE_NONE;
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            role = strcmp(text, names[j].name) == 0 ? names[j].role : role;
        }
        if (role == HTTP_ROLE_NONE) {
            return err_set(err, ERR_INVALID, "expected a role of read, write or operate but found \"%.64s\"", text);
        }
        found |= role;
    }
    *out = found;
    return OK;
}

static enum err_code parse_entry(const char *line, size_t length, struct table *table, struct error *err)
{
    static const char *const members[] = {"name", "sha256", "roles", NULL};
    AUTO(json_free_auto) struct json *object = NULL;
    struct entry entry = {0};
    const char *name;
    const char *hash;
    TRY(json_parse(line, length, NULL, &object, err));
    TRY(json_check_members(object, NULL, members, err));
    TRY(json_get_string(object, NULL, "name", &name, err));
    TRY(json_get_string(object, NULL, "sha256", &hash, err));
    TRY(parse_roles(object, &entry.roles, err));
    if (!text_hex_decode(hash, strlen(hash), entry.sha256, sizeof entry.sha256)) {
        return err_set(err, ERR_INVALID, "expected 64 hex digits at \"sha256\" but found %zu characters", strlen(hash));
    }
    if (table->count == table->capacity) {
        size_t capacity = table->capacity == 0 ? 16 : 2 * table->capacity; /* bounded by the size of the file */
        struct entry *entries = realloc(table->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return err_no_memory(err, capacity * sizeof *entries);
        }
        table->entries = entries;
        table->capacity = capacity;
    }
    entry.name = arena_strdup(table->arena, name);
    if (entry.name == NULL) {
        return err_no_memory(err, strlen(name));
    }
    table->entries[table->count++] = entry;
    return OK;
}

static enum err_code parse_table(const char *text, size_t length, struct table *out, struct error *err)
{
    AUTO(table_done) struct table table = {.arena = arena_new(0)};
    if (table.arena == NULL) {
        return err_no_memory(err, 4096);
    }
    size_t line = 1;
    for (size_t at = 0; at < length; line++) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t line_length = newline == NULL ? length - at : (size_t)(newline - text) - at;
        if (line_length > 0 && parse_entry(text + at, line_length, &table, err) != OK) {
            return err_wrap(err, "line %zu", line);
        }
        at += line_length + 1;
    }
    *out = table;
    table = (struct table){0};
    return OK;
}

static void close_file(int *file)
{
    if (*file >= 0) {
        (void)close(*file);
    }
}

static enum err_code read_table(const char *path, struct table *out, struct error *err)
{
    AUTO(close_file) int file = open(path, O_RDONLY | O_CLOEXEC);
    AUTO(buf_done) struct buf text = {0};
    if (file < 0) {
        return err_set(err, ERR_INVALID, "could not open: %s", strerror(errno));
    }
    TRY(buf_reserve(&text, LARGEST_FILE_BYTES + 1, err));
    ssize_t got;
    while ((got = read(file, text.data + text.length_bytes, LARGEST_FILE_BYTES + 1 - text.length_bytes)) > 0) {
        text.length_bytes += (size_t)got;
    }
    if (got < 0) {
        return err_set(err, ERR_INVALID, "could not read: %s", strerror(errno));
    }
    if (text.length_bytes > LARGEST_FILE_BYTES) {
        return err_set(err, ERR_INVALID, "expected at most %d bytes but found more", LARGEST_FILE_BYTES);
    }
    return parse_table((const char *)text.data, text.length_bytes, out, err);
}

static struct version look(const char *path)
{
    struct stat status = {0};
    (void)stat(path, &status); /* an absent file is a version, too */
    return (struct version){.modified = status.st_mtim, .inode = status.st_ino, .bytes = status.st_size};
}

static bool same_version(const struct version *a, const struct version *b)
{
    return a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec &&
           a->inode == b->inode && a->bytes == b->bytes;
}

/* One caller a second looks; the others go on with what is known. */
static void reload_if_changed(struct http_tokens *tokens)
{
    int64_t now_us = clock_monotonic_us();
    int64_t check_at_us = atomic_load(&tokens->check_at_us);
    /* INT64_MAX: somebody is looking at it. */
    if (now_us < check_at_us || !atomic_compare_exchange_strong(&tokens->check_at_us, &check_at_us, INT64_MAX)) {
        return;
    }
    struct version version = look(tokens->path);
    if (!same_version(&version, &tokens->version)) {
        struct error err;
        struct table table = {0};
        tokens->version = version; /* a bad file is reported once */
        if (read_table(tokens->path, &table, &err) == OK) {
            (void)pthread_rwlock_wrlock(&tokens->lock);
            struct table old = tokens->table;
            tokens->table = table;
            (void)pthread_rwlock_unlock(&tokens->lock);
            table_done(&old);
        } else if (tokens->on_fault != NULL) {
            (void)err_wrap(&err, "tokens file \"%.256s\"", tokens->path);
            tokens->on_fault(&err);
        }
    }
    atomic_store(&tokens->check_at_us, now_us + CHECK_EVERY_US);
}

void http_tokens_close(struct http_tokens *tokens)
{
    if (tokens != NULL) {
        table_done(&tokens->table);
        (void)pthread_rwlock_destroy(&tokens->lock);
        free(tokens->path);
        free(tokens);
    }
}
DEFINE_AUTO(struct http_tokens, http_tokens_close)

enum err_code http_tokens_open(const char *path, void (*on_fault)(const struct error *fault), struct http_tokens **out,
                               struct error *err)
{
    AUTO(http_tokens_close_auto) struct http_tokens *tokens = calloc(1, sizeof *tokens);
    if (tokens == NULL) {
        return err_no_memory(err, sizeof *tokens);
    }
    (void)pthread_rwlock_init(&tokens->lock, NULL);
    tokens->path = strdup(path);
    tokens->on_fault = on_fault;
    if (tokens->path == NULL) {
        return err_no_memory(err, strlen(path));
    }
    if (*path == '\0') {
        atomic_store(&tokens->check_at_us, INT64_MAX);
    } else {
        tokens->version = look(path); /* before reading: a change in between is seen at the next look */
        if (read_table(path, &tokens->table, err) != OK) {
            return err_wrap(err, "tokens file \"%.256s\"", path);
        }
        atomic_store(&tokens->check_at_us, clock_monotonic_us() + CHECK_EVERY_US);
    }
    *out = TAKE(tokens);
    return OK;
}

static const struct entry *find_entry(const struct table *table, const char *token)
{
    uint8_t sha256[DIGEST_SHA256_BYTES];
    const struct entry *found = NULL;
    digest_sha256(token, strlen(token), sha256);
    for (size_t i = 0; i < table->count; i++) {
        found = digest_equal(table->entries[i].sha256, sha256, sizeof sha256) ? &table->entries[i] : found;
    }
    return found;
}

static void unlock(pthread_rwlock_t **lock)
{
    (void)pthread_rwlock_unlock(*lock);
}

enum err_code http_tokens_find(struct http_tokens *tokens, const char *authorization, struct arena *arena,
                               const char **out_name, unsigned *out_roles, struct error *err)
{
    static const char scheme[] = "Bearer ";
    if (authorization == NULL || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) {
        return err_set(err, ERR_NOT_FOUND,
                       "expected a bearer token but found none; hint: send \"Authorization: Bearer TOKEN\"");
    }
    reload_if_changed(tokens);
    const char *token = authorization + sizeof scheme - 1;
    AUTO(unlock) pthread_rwlock_t *lock = &tokens->lock;
    (void)pthread_rwlock_rdlock(lock);
    const struct entry *entry = find_entry(&tokens->table, token);
    if (entry == NULL) {
        return err_set(err, ERR_NOT_FOUND, "expected a known bearer token but found another");
    }
    const char *name = arena_strdup(arena, entry->name);
    if (name == NULL) {
        return err_no_memory(err, strlen(entry->name));
    }
    *out_name = name;
    *out_roles = entry->roles;
    return OK;
}
