/* What the files of the file:// driver share. */
#ifndef GRANARY_STORE_FILE_H
#define GRANARY_STORE_FILE_H

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "common/store/internal.h"

/* ".<name>.tmp" must fit a name of the file system. */
enum { FILE_PART_MAX_BYTES = NAME_MAX - 5, FILE_KEY_BYTES = 1024 + 8 };

struct file_store {
    struct store base;
    char *root;  /* for messages */
    int root_fd; /* everything is named relative to it: the store stays the one that was opened */
    pthread_mutex_t lock;
    char **pending; /* folders made but not known to be on disk: whoever finishes below one syncs its parent */
    size_t pending_count, pending_capacity;
};

/* "could not <verb> "<root>/<key>": <reason>" with the code that errno stands for. */
enum err_code store_file_error(const struct file_store *store, int number, const char *verb, const char *key,
                               struct error *err) __attribute__((cold));

/* Owned descriptors: `AUTO(store_file_fd_close) int fd = -1;`, handed on with store_file_fd_take(&fd). */
static inline void store_file_fd_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
}
static inline int store_file_fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* The folder's descriptor; with `make` it and those above it are made where absent. "" is the root. */
MUST_CHECK enum err_code store_file_folder_open(struct file_store *store, const char *folder, bool make, int *out_fd,
                                                struct error *err);
/* Makes the entries of this folder survive a crash, and the way from the root to it. */
MUST_CHECK enum err_code store_file_folder_sync(struct file_store *store, const char *folder, int fd,
                                                struct error *err);

/* "a/b/c" -> "a/b" in `folder` (FILE_KEY_BYTES); returns the name, "c". */
const char *store_file_split(const char *key, char *folder);
/* "c" -> ".c.tmp" (NAME_MAX + 1): where the bytes of the key wait. */
void store_file_temporary(const char *name, char *out);

enum err_code store_file_upload_open(struct store *store, const char *key, struct store_upload **out,
                                     struct error *err);
enum err_code store_file_upload_write(struct store_upload *upload, const void *data, size_t length, struct error *err);
enum err_code store_file_upload_finish(struct store_upload *upload_take, struct store_receipt *out, struct error *err);
void store_file_upload_abort(struct store_upload *upload_take);
enum err_code store_file_list(struct store *store, const char *prefix, const char *after, size_t max,
                              struct arena *arena, struct store_object **out, size_t *out_count, bool *out_more,
                              struct error *err);
enum err_code store_file_delete(struct store *store, const char *const *keys, size_t count,
                                struct store_delete_result *results, struct error *err);

#endif
