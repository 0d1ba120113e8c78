/* Listing in the order of whole keys, though the disk has folders in no order at all. Within one folder a sub-folder sorts
 * as its name with a slash behind: all that is below it begins so, and no other name does. So folders are read one at a time,
 * their names sorted, and descended into; held in memory are the names of the folders on the way down. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/store/file.h"

struct listing {
    struct file_store *store;
    const char *prefix, *after;
    size_t max;
    struct arena *arena;
    struct buf found; /* struct store_object[] */
    bool more;
};

static size_t found_count(const struct listing *listing)
{
    return listing->found.length_bytes / sizeof(struct store_object);
}

static int compare_start(const char *a, const char *b)
{
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    return memcmp(a, b, a_length < b_length ? a_length : b_length);
}

/* Can the object, or anything below the folder (a slash at its end), be wanted? */
static bool is_wanted(const struct listing *listing, const char *path)
{
    if (path[strlen(path) - 1] == '/') {
        return compare_start(path, listing->prefix) == 0 && compare_start(path, listing->after) >= 0;
    }
    return strncmp(path, listing->prefix, strlen(listing->prefix)) == 0 && strcmp(path, listing->after) > 0;
}

static enum err_code add_object(struct listing *listing, const char *key, struct error *err)
{
    struct stat there;
    if (fstatat(listing->store->root_fd, key, &there, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? OK : store_file_error(listing->store, errno, "look at", key, err);
    }
    if (!S_ISREG(there.st_mode)) {
        return OK;
    }
    if (found_count(listing) == listing->max) {
        listing->more = true;
        return OK;
    }
    struct store_object object = {.key = arena_strdup(listing->arena, key),
                                  .size_bytes = (uint64_t)there.st_size,
                                  .modified_at_us =
                                      there.st_mtim.tv_sec * CLOCK_SECOND_US + there.st_mtim.tv_nsec / 1000};
    if (object.key == NULL) {
        return err_no_memory(err, strlen(key));
    }
    return buf_append(&listing->found, &object, sizeof object, err);
}

/* --- one folder --------------------------------------------------------------------------------------------------- */

static void close_folder(DIR **folder)
{
    if (*folder != NULL) {
        (void)closedir(*folder);
    }
}

static bool is_folder(DIR *folder, const struct dirent *entry)
{
    struct stat there;
    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type == DT_DIR;
    }
    return fstatat(dirfd(folder), entry->d_name, &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(there.st_mode);
}

/* ERR_NOT_FOUND: it went away, being empty. */
static enum err_code open_folder(struct file_store *store, const char *path, DIR **out, struct error *err)
{
    AUTO(store_file_fd_close)
    int fd = openat(store->root_fd, path[0] == '\0' ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return store_file_error(store, errno == ENOTDIR ? ENOENT : errno, "list", path, err);
    }
    *out = fdopendir(fd);
    if (*out == NULL) {
        return err_no_memory(err, sizeof(DIR *));
    }
    (void)store_file_fd_take(&fd);
    return OK;
}

/* Temporaries, which no key looks like; and what file systems keep at their root, closed to all but the superuser. */
static bool is_hidden(const char *path, const char *name)
{
    return name[0] == '.' || (path[0] == '\0' && strcmp(name, "lost+found") == 0);
}

/* Paths of what is wanted in the folder `path` ("" or ending in a slash), into the arena. */
static enum err_code read_folder(struct listing *listing, const char *path, struct arena *arena, struct buf *names,
                                 struct error *err)
{
    AUTO(close_folder) DIR *folder = NULL;
    TRY(open_folder(listing->store, path, &folder, err));
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (entry == NULL) {
            return errno == 0 ? OK : store_file_error(listing->store, errno, "list", path, err);
        }
        if (is_hidden(path, entry->d_name)) {
            continue;
        }
        const char *name = arena_printf(arena, "%s%s%s", path, entry->d_name, is_folder(folder, entry) ? "/" : "");
        if (name == NULL) {
            return err_no_memory(err, strlen(entry->d_name));
        }
        if (is_wanted(listing, name)) {
            TRY(buf_append(names, &name, sizeof name, err));
        }
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err_code list_folder(struct listing *listing, const char *path, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(buf_done) struct buf names = {0};
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    enum err_code code = read_folder(listing, path, arena, &names, err);
    if (code == ERR_NOT_FOUND) {
        return OK;
    }
    TRY(code);
    const char **name = (const char **)(void *)names.data;
    size_t count = names.length_bytes / sizeof *name;
    if (count > 0) {
        qsort(name, count, sizeof *name, compare_names);
    }
    for (size_t i = 0; i < count && !listing->more; i++) {
        bool folder = name[i][strlen(name[i]) - 1] == '/';
        TRY(folder ? list_folder(listing, name[i], err) : add_object(listing, name[i], err));
    }
    return OK;
}

enum err_code store_file_list(struct store *store, const char *prefix, const char *after, size_t max,
                              struct arena *arena, struct store_object **out, size_t *out_count, bool *out_more,
                              struct error *err)
{
    struct listing listing = {
        .store = (struct file_store *)store, .prefix = prefix, .after = after, .max = max, .arena = arena};
    AUTO(buf_done) struct buf found = {0};
    char start[FILE_KEY_BYTES]; /* nothing outside of the prefix's folder is looked at */
    const char *slash = strrchr(prefix, '/');
    (void)snprintf(start, sizeof start, "%.*s", slash == NULL ? 0 : (int)(slash + 1 - prefix), prefix);
    enum err_code code = list_folder(&listing, start, err);
    found = listing.found;
    TRY(code);

    struct store_object *objects = arena_alloc(arena, found.length_bytes + 1);
    if (objects == NULL) {
        return err_no_memory(err, found.length_bytes);
    }
    if (found.length_bytes > 0) {
        memcpy(objects, found.data, found.length_bytes);
    }
    *out = objects;
    *out_count = found.length_bytes / sizeof *objects;
    *out_more = listing.more;
    return OK;
}
