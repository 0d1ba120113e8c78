/* Deleting in batches: first every name goes, then every folder that became empty, and only then are the folders synced
 * that are left, each once. A journalling file system has by then written most of it with the first sync. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault.h"
#include "common/store/file.h"

struct deletion {
    const char *key;
    struct store_delete_result *result;
    char *folder; /* owned: first the key's, then the nearest one that is still there */
};

static void remove_temporary(struct file_store *store, const struct deletion *deletion)
{
    char path[FILE_KEY_BYTES + NAME_MAX];
    char temporary[NAME_MAX + 1];
    const char *name = strrchr(deletion->key, '/');
    store_file_temporary(name == NULL ? deletion->key : name + 1, temporary);
    (void)snprintf(path, sizeof path, "%s%s%s", deletion->folder, deletion->folder[0] == '\0' ? "" : "/", temporary);
    (void)unlinkat(store->root_fd, path, 0);
}

static void remove_object(struct file_store *store, const struct deletion *deletion)
{
    struct store_delete_result *result = deletion->result;
    FAULT_POINT("store.before_unlink");
    if (unlinkat(store->root_fd, deletion->key, 0) == 0) {
        result->outcome = STORE_DELETED;
    } else if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR) {
        result->outcome = STORE_WAS_ABSENT;
    } else {
        result->outcome = STORE_DELETE_FAILED;
        (void)store_file_error(store, errno, "delete", deletion->key, &result->error);
        return;
    }
    remove_temporary(store, deletion);
    FAULT_POINT("store.after_unlink");
}

static int compare_folders(const void *a, const void *b)
{
    return strcmp(((const struct deletion *)a)->folder, ((const struct deletion *)b)->folder);
}

static void cut_last_part(char *folder)
{
    char *slash = strrchr(folder, '/');
    *(slash == NULL ? folder : slash) = '\0';
}

/* Up to the nearest folder that is not empty: it is the one to sync. A folder that an upload is just about to use may go
 * too: the upload makes it again. */
static void remove_empty_folders(struct file_store *store, char *folder)
{
    while (folder[0] != '\0' && (unlinkat(store->root_fd, folder, AT_REMOVEDIR) == 0 || errno == ENOENT)) {
        cut_last_part(folder);
    }
}

static int sync_folder(struct file_store *store, const char *folder)
{
    AUTO(store_file_fd_close)
    int fd = openat(store->root_fd, folder[0] == '\0' ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? 0 : errno; /* gone again: whoever took it has to sync above it */
    }
    return fsync(fd) == 0 ? 0 : errno;
}

static void sync_folders(struct file_store *store, struct deletion *deletions, size_t count)
{
    int number = 0;
    qsort(deletions, count, sizeof *deletions, compare_folders);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(deletions[i].folder, deletions[i - 1].folder) != 0) {
            number = sync_folder(store, deletions[i].folder);
        }
        struct store_delete_result *result = deletions[i].result;
        if (number != 0 && result->outcome != STORE_DELETE_FAILED) {
            result->outcome = STORE_DELETE_FAILED;
            (void)store_file_error(store, number, "sync the deletion of", deletions[i].key, &result->error);
        }
    }
}

static void free_folders(struct deletion *deletions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(deletions[i].folder);
    }
}

enum err_code store_file_delete(struct store *base, const char *const *keys, size_t count,
                                struct store_delete_result *results, struct error *err)
{
    struct file_store *store = (struct file_store *)base;
    AUTO(free_auto) struct deletion *deletions = calloc(count + 1, sizeof *deletions);
    if (deletions == NULL) {
        return err_no_memory(err, count * sizeof *deletions);
    }
    for (size_t i = 0; i < count; i++) {
        deletions[i] = (struct deletion){.key = keys[i], .result = &results[i], .folder = strdup(keys[i])};
        if (deletions[i].folder == NULL) {
            free_folders(deletions, i);
            return err_no_memory(err, strlen(keys[i]));
        }
        cut_last_part(deletions[i].folder);
    }
    for (size_t i = 0; i < count; i++) {
        remove_object(store, &deletions[i]);
    }
    for (size_t i = 0; i < count; i++) {
        remove_empty_folders(store, deletions[i].folder);
    }
    sync_folders(store, deletions, count);
    free_folders(deletions, count);
    return OK;
}
