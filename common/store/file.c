/* The file:// driver: an object is a file, "/" in its key a folder. What is under a key is whole and on disk: bytes are
 * written to a temporary name beside it, synced, and only then linked to the key, which fails where the key exists; the
 * folder is synced after that. Folders come with the first object below them and go with the last. */
#include "common/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/clock.h"

/* What the caller can do about it. */
static enum err_code code_of(int number)
{
    switch (number) {
    case ENOENT: return ERR_NOT_FOUND;
    case ENOMEM: return ERR_NO_MEMORY;
    case EACCES:
    case EPERM: return ERR_DENIED;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP: return ERR_INVALID;
    default: return ERR_UNAVAILABLE; /* ENOSPC, EDQUOT, EIO, EROFS, EMFILE, ESTALE, ...: somebody has to see to it */
    }
}

enum err_code store_file_error(const struct file_store *store, int number, const char *verb, const char *key,
                               struct error *err)
{
    char reason[128];
    return err_set(err, code_of(number), "could not %s \"%s/%s\": %s", verb, store->root, key,
                   strerror_r(number, reason, sizeof reason));
}

/* --- names -------------------------------------------------------------------------------------------------------- */

const char *store_file_split(const char *key, char *folder)
{
    const char *slash = strrchr(key, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - key);
    memcpy(folder, key, length);
    folder[length] = '\0';
    return slash == NULL ? key : slash + 1;
}

void store_file_temporary(const char *name, char *out)
{
    (void)snprintf(out, NAME_MAX + 1, ".%.*s.tmp", FILE_PART_MAX_BYTES, name);
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

static char **find_pending(struct file_store *store, const char *folder)
{
    for (size_t i = 0; i < store->pending_count; i++) {
        if (strcmp(store->pending[i], folder) == 0) {
            return &store->pending[i];
        }
    }
    return NULL;
}

static bool add_pending(struct file_store *store, const char *folder)
{
    if (find_pending(store, folder) != NULL) {
        return true;
    }
    if (store->pending_count == store->pending_capacity) {
        size_t capacity = store->pending_capacity == 0 ? 16 : 2 * store->pending_capacity;
        char **grown = realloc(store->pending, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        store->pending = grown;
        store->pending_capacity = capacity;
    }
    char *copy = strdup(folder);
    if (copy == NULL) {
        return false;
    }
    store->pending[store->pending_count++] = copy;
    return true;
}

/* Under the lock, so that who finds a folder also finds it pending. It is noted before it is made: noting it can fail. */
static enum err_code make_folder(struct file_store *store, const char *folder, struct error *err)
{
    (void)pthread_mutex_lock(&store->lock);
    struct stat there;
    enum err_code code = OK;
    if (fstatat(store->root_fd, folder, &there, 0) != 0) {
        if (!add_pending(store, folder)) {
            code = err_no_memory(err, strlen(folder));
        } else if (mkdirat(store->root_fd, folder, 0755) != 0 && errno != EEXIST) {
            code = store_file_error(store, errno, "make the folder", folder, err);
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
    return code;
}

static enum err_code make_folders(struct file_store *store, const char *folder, struct error *err)
{
    char path[FILE_KEY_BYTES];
    for (size_t i = 1; folder[i - 1] != '\0'; i++) {
        if (folder[i] == '/' || folder[i] == '\0') {
            memcpy(path, folder, i);
            path[i] = '\0';
            TRY(make_folder(store, path, err));
        }
    }
    return OK;
}

enum err_code store_file_folder_open(struct file_store *store, const char *folder, bool make, int *out_fd,
                                     struct error *err)
{
    const char *path = folder[0] == '\0' ? "." : folder;
    for (int tries = 0;; tries++) {
        int fd = openat(store->root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            *out_fd = fd;
            return OK;
        }
        /* A deleter may take the folder away, being empty, as often as it likes: but hardly ten times in a row. */
        if (errno != ENOENT || !make || tries == 10) {
            return store_file_error(store, errno, "open the folder", folder, err);
        }
        enum err_code code = make_folders(store, folder, err);
        if (code != OK && code != ERR_NOT_FOUND) {
            return code;
        }
    }
}

static bool is_pending(struct file_store *store, const char *folder)
{
    (void)pthread_mutex_lock(&store->lock);
    bool pending = find_pending(store, folder) != NULL;
    (void)pthread_mutex_unlock(&store->lock);
    return pending;
}

static void settle_pending(struct file_store *store, const char *folder)
{
    (void)pthread_mutex_lock(&store->lock);
    char **found = find_pending(store, folder);
    if (found != NULL) {
        free(*found);
        *found = store->pending[--store->pending_count];
    }
    (void)pthread_mutex_unlock(&store->lock);
}

static enum err_code settle_folder(struct file_store *store, const char *folder, struct error *err)
{
    AUTO(store_file_fd_close) int parent_fd = -1;
    char parent[FILE_KEY_BYTES];
    if (!is_pending(store, folder)) {
        return OK;
    }
    (void)store_file_split(folder, parent);
    TRY(store_file_folder_open(store, parent, false, &parent_fd, err));
    if (fsync(parent_fd) != 0) {
        return store_file_error(store, errno, "sync the folder", parent, err);
    }
    settle_pending(store, folder);
    return OK;
}

enum err_code store_file_folder_sync(struct file_store *store, const char *folder, int fd, struct error *err)
{
    if (fsync(fd) != 0) {
        return store_file_error(store, errno, "sync the folder", folder, err);
    }
    char child[FILE_KEY_BYTES];
    (void)snprintf(child, sizeof child, "%s", folder);
    while (child[0] != '\0') {
        TRY(settle_folder(store, child, err));
        char *slash = strrchr(child, '/');
        *(slash == NULL ? child : slash) = '\0';
    }
    return OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum err_code get(struct store *base, const char *key, uint64_t offset, size_t length, void *out,
                         struct error *err)
{
    struct file_store *store = (struct file_store *)base;
    AUTO(store_file_fd_close) int fd = openat(store->root_fd, key, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return store_file_error(store, errno == ENOTDIR ? ENOENT : errno, "read", key, err);
    }
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(fd, (char *)out + done, length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return store_file_error(store, errno == EISDIR ? ENOENT : errno, "read", key, err);
        }
        if (got == 0) {
            return err_set(err, ERR_CORRUPT, "expected at least %llu bytes in \"%s/%s\" but found %llu",
                           (unsigned long long)(offset + length), store->root, key,
                           (unsigned long long)(offset + done));
        }
        done += (size_t)got;
    }
    return OK;
}

static enum err_code head(struct store *base, const char *key, struct arena *arena, struct store_object *out,
                          struct error *err)
{
    struct file_store *store = (struct file_store *)base;
    struct stat found;
    if (fstatat(store->root_fd, key, &found, AT_SYMLINK_NOFOLLOW) != 0) {
        return store_file_error(store, errno == ENOTDIR ? ENOENT : errno, "look at", key, err);
    }
    if (!S_ISREG(found.st_mode)) {
        return store_file_error(store, ENOENT, "look at", key, err);
    }
    const char *copy = arena_strdup(arena, key);
    if (copy == NULL) {
        return err_no_memory(err, strlen(key));
    }
    *out =
        (struct store_object){.key = copy,
                              .size_bytes = (uint64_t)found.st_size,
                              .modified_at_us = found.st_mtim.tv_sec * CLOCK_SECOND_US + found.st_mtim.tv_nsec / 1000};
    return OK;
}

static enum err_code probe(struct store *store, struct store_probe *out, struct error *err)
{
    out->bulk_delete = true;
    out->versioned = STORE_NO;
    out->object_lock = STORE_NO;
    return store_probe_by_doing(store, out, err);
}

/* Temporaries go with their key. */
static enum err_code sweep_uploads(struct store *store, int64_t older_than_us, store_sweep_fn *wanted, void *context,
                                   size_t *out_ended, struct error *err)
{
    (void)store;
    (void)older_than_us;
    (void)wanted;
    (void)context;
    (void)err;
    *out_ended = 0;
    return OK;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void close_store(struct store *base)
{
    struct file_store *store = (struct file_store *)base;
    for (size_t i = 0; i < store->pending_count; i++) {
        free(store->pending[i]);
    }
    free(store->pending);
    store_file_fd_close(&store->root_fd);
    (void)pthread_mutex_destroy(&store->lock);
    free(store->root);
    free(store);
}

static const struct store_driver driver = {
    .close = close_store,
    .probe = probe,
    .upload_open = store_file_upload_open,
    .upload_write = store_file_upload_write,
    .upload_finish = store_file_upload_finish,
    .upload_abort = store_file_upload_abort,
    .get = get,
    .head = head,
    .list = store_file_list,
    .delete_keys = store_file_delete,
    .sweep_uploads = sweep_uploads,
};

static void free_unopened(struct file_store **store)
{
    if (*store != NULL) {
        free(TAKE((*store)->base.url));
        close_store(&(*store)->base);
    }
}

/* The root and what is above it, each synced into its parent. */
static enum err_code make_root(struct file_store *store, struct error *err)
{
    AUTO(store_file_fd_close) int parent = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *at = store->root;
    while (parent >= 0 && at != NULL) {
        char *part = at + 1;
        at = strchr(part, '/');
        if (at != NULL) {
            *at = '\0';
        }
        bool made = mkdirat(parent, part, 0755) == 0;
        int child = made || errno == EEXIST ? openat(parent, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        int number = child >= 0 && made && fsync(parent) != 0 ? errno : child < 0 ? errno : 0;
        if (at != NULL) {
            *at = '/';
        }
        store_file_fd_close(&parent);
        parent = child;
        if (number != 0) {
            return store_file_error(store, number, "open the store at", "", err);
        }
    }
    if (parent < 0) {
        return store_file_error(store, errno, "open the store at", "", err);
    }
    store->root_fd = store_file_fd_take(&parent);
    return OK;
}

enum err_code store_file_open(const char *url, struct store **out, struct error *err)
{
    const char *path = url + strlen("file://");
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    if (length < 2 || path[0] != '/' || strstr(path, "//") != NULL || strstr(path, "/../") != NULL) {
        return err_set(err, ERR_INVALID, "expected \"file:///absolute/path\" but found \"%.200s\"", url);
    }
    AUTO(free_unopened) struct file_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return err_no_memory(err, sizeof *store);
    }
    store->base.driver = &driver;
    store->root_fd = -1;
    (void)pthread_mutex_init(&store->lock, NULL);
    store->base.url = strndup(url, strlen("file://") + length);
    store->root = strndup(path, length);
    if (store->base.url == NULL || store->root == NULL) {
        return err_no_memory(err, length);
    }
    TRY(make_root(store, err));
    *out = &TAKE(store)->base;
    return OK;
}
