/* Uploads. The temporary's name is derived from the key: whoever uploads the key again after a crash replaces it, and
 * whoever deletes the key deletes it too, so that nothing is left that nobody knows of. The key is made as a link to the
 * file that this upload has open, never by renaming the temporary: under that name there may by now be another's file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buf.h"
#include "common/base/fault.h"
#include "common/digest/digest.h"
#include "common/store/file.h"

enum {
    BUFFER_BYTES = 256 * 1024,
    WRITEBACK_BYTES = 8 * 1024 * 1024 /* the kernel is asked to begin writing so often: the sync at the end is short */
};

struct file_upload {
    struct store_upload base;
    struct file_store *store;
    char key[FILE_KEY_BYTES];
    char folder[FILE_KEY_BYTES];
    const char *name; /* in key */
    char temporary[NAME_MAX + 1];
    int folder_fd, fd;
    struct buf buffer;
    uint64_t size_bytes, sent_bytes; /* written to the file; of these asked to be on the way to the disk */
    struct digest_sha256_stream *hash;
    bool failed;
};

static void free_upload(struct file_upload *upload)
{
    if (upload != NULL) {
        store_file_fd_close(&upload->fd);
        store_file_fd_close(&upload->folder_fd);
        digest_sha256_stream_free(upload->hash);
        buf_done(&upload->buffer);
        free(upload);
    }
}
DEFINE_AUTO(struct file_upload, free_upload)

static bool same_file(int fd, int folder_fd, const char *name)
{
    struct stat ours;
    struct stat there;
    return fstat(fd, &ours) == 0 && fstatat(folder_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

static void remove_temporary(struct file_upload *upload)
{
    if (upload->fd >= 0 && same_file(upload->fd, upload->folder_fd, upload->temporary)) {
        (void)unlinkat(upload->folder_fd, upload->temporary, 0);
    }
}

void store_file_upload_abort(struct store_upload *upload_take)
{
    struct file_upload *upload = (struct file_upload *)upload_take;
    remove_temporary(upload);
    free_upload(upload);
}

static void abort_auto(struct file_upload **upload)
{
    if (*upload != NULL) {
        store_file_upload_abort(&(*upload)->base);
    }
}

/* ENOENT: the folder was empty and has been taken away meanwhile. */
static int create_temporary(struct file_upload *upload)
{
    for (int tries = 0; tries < 10; tries++) {
        upload->fd =
            openat(upload->folder_fd, upload->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (upload->fd >= 0) {
            return 0;
        }
        if (errno != EEXIST) {
            return errno;
        }
        (void)unlinkat(upload->folder_fd, upload->temporary, 0);
    }
    return EBUSY;
}

static enum err_code open_temporary(struct file_upload *upload, struct error *err)
{
    struct file_store *store = upload->store;
    int number = ENOENT;
    for (int tries = 0; tries < 10 && number == ENOENT; tries++) {
        store_file_fd_close(&upload->folder_fd);
        upload->folder_fd = -1;
        TRY(store_file_folder_open(store, upload->folder, true, &upload->folder_fd, err));
        number = create_temporary(upload);
    }
    return number == 0 ? OK : store_file_error(store, number, "create", upload->key, err);
}

static enum err_code check_part_lengths(const char *key, struct error *err)
{
    for (const char *part = key;; part++) {
        size_t length = strcspn(part, "/");
        if (length > FILE_PART_MAX_BYTES) {
            return err_set(err, ERR_INVALID,
                           "expected at most %d bytes between the slashes of \"%.300s\" but found %zu",
                           FILE_PART_MAX_BYTES, key, length);
        }
        part += length;
        if (*part == '\0') {
            return OK;
        }
    }
}

enum err_code store_file_upload_open(struct store *store, const char *key, struct store_upload **out, struct error *err)
{
    TRY(check_part_lengths(key, err));
    AUTO(free_upload_auto) struct file_upload *upload = calloc(1, sizeof *upload);
    if (upload == NULL) {
        return err_no_memory(err, sizeof *upload);
    }
    upload->store = (struct file_store *)store;
    upload->fd = upload->folder_fd = -1;
    (void)snprintf(upload->key, sizeof upload->key, "%s", key);
    upload->name = store_file_split(upload->key, upload->folder);
    store_file_temporary(upload->name, upload->temporary);
    upload->hash = digest_sha256_stream_new();
    if (upload->hash == NULL) {
        return err_no_memory(err, BUFFER_BYTES);
    }
    TRY(buf_reserve(&upload->buffer, BUFFER_BYTES, err));
    TRY(open_temporary(upload, err));
    *out = &TAKE(upload)->base;
    return OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int write_all(int fd, const uint8_t *data, size_t length)
{
    while (length > 0) {
        ssize_t written = FAULT_FAIL("store.disk_full") ? (errno = ENOSPC, -1) : write(fd, data, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return errno;
        }
        data += written;
        length -= (size_t)written;
    }
    return 0;
}

static enum err_code write_through(struct file_upload *upload, const void *data, size_t length, struct error *err)
{
    if (length == 0) {
        return OK;
    }
    int number = write_all(upload->fd, data, length);
    if (number != 0) {
        upload->failed = true;
        return store_file_error(upload->store, number, "write", upload->key, err);
    }
    FAULT_POINT("store.mid_upload");
    digest_sha256_stream_update(upload->hash, data, length);
    upload->size_bytes += length;
    if (upload->size_bytes - upload->sent_bytes >= WRITEBACK_BYTES) {
        (void)sync_file_range(upload->fd, (off_t)upload->sent_bytes, (off_t)(upload->size_bytes - upload->sent_bytes),
                              SYNC_FILE_RANGE_WRITE);
        upload->sent_bytes = upload->size_bytes;
    }
    return OK;
}

static enum err_code flush(struct file_upload *upload, struct error *err)
{
    size_t length = upload->buffer.length_bytes;
    upload->buffer.length_bytes = 0;
    return write_through(upload, upload->buffer.data, length, err);
}

enum err_code store_file_upload_write(struct store_upload *base, const void *data, size_t length, struct error *err)
{
    struct file_upload *upload = (struct file_upload *)base;
    if (upload->buffer.length_bytes + length > BUFFER_BYTES) {
        TRY(flush(upload, err));
    }
    if (length >= BUFFER_BYTES) {
        return write_through(upload, data, length, err);
    }
    return buf_append(&upload->buffer, data, length, err); /* within what is reserved */
}

/* --- finishing ---------------------------------------------------------------------------------------------------- */

static enum err_code hash_file(struct file_upload *upload, int fd, uint8_t *out, struct error *err)
{
    AUTO(digest_sha256_stream_free_auto) struct digest_sha256_stream *hash = digest_sha256_stream_new();
    if (hash == NULL) {
        return err_no_memory(err, BUFFER_BYTES);
    }
    for (;;) {
        ssize_t got = read(fd, upload->buffer.data, BUFFER_BYTES);
        if (got < 0 && errno != EINTR) {
            return store_file_error(upload->store, errno, "read", upload->key, err);
        }
        if (got == 0) {
            break;
        }
        digest_sha256_stream_update(hash, upload->buffer.data, got > 0 ? (size_t)got : 0);
    }
    digest_sha256_stream_finish(hash, out);
    return OK;
}

/* The key was there before: equal bytes are what the caller wanted. ERR_NOT_FOUND: it is not there. */
static enum err_code compare_existing(struct file_upload *upload, const struct store_receipt *receipt,
                                      struct error *err)
{
    AUTO(store_file_fd_close) int fd = openat(upload->folder_fd, upload->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat there;
    uint8_t sha256[DIGEST_SHA256_BYTES] = {0};
    if (fd < 0 || fstat(fd, &there) != 0) {
        return store_file_error(upload->store, errno, "compare with", upload->key, err);
    }
    bool equal = S_ISREG(there.st_mode) && (uint64_t)there.st_size == receipt->size_bytes;
    if (equal) {
        TRY(hash_file(upload, fd, sha256, err));
        equal = memcmp(sha256, receipt->sha256, sizeof sha256) == 0;
    }
    if (!equal) {
        return err_set(err, ERR_CONFLICT, "expected no object \"%s/%s\" but found one with other bytes (%lld)",
                       upload->store->root, upload->key, (long long)there.st_size);
    }
    return OK;
}

static int link_to_key(struct file_upload *upload)
{
    char self[32];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", upload->fd);
    return linkat(AT_FDCWD, self, upload->folder_fd, upload->name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

static enum err_code make_visible(struct file_upload *upload, const struct store_receipt *receipt, struct error *err)
{
    int number = link_to_key(upload);
    if (number == 0) {
        return OK;
    }
    if (number != EEXIST && number != ENOENT) {
        return store_file_error(upload->store, number, "create", upload->key, err);
    }
    enum err_code code = compare_existing(upload, receipt, err);
    if (code == ERR_NOT_FOUND) {
        return err_set(err, ERR_UNAVAILABLE,
                       "could not create \"%s/%s\": another upload of it, or its deletion, took the temporary away",
                       upload->store->root, upload->key);
    }
    return code;
}

enum err_code store_file_upload_finish(struct store_upload *upload_take, struct store_receipt *out, struct error *err)
{
    AUTO(abort_auto) struct file_upload *upload = (struct file_upload *)upload_take;
    struct store_receipt receipt = {0};
    if (upload->failed) {
        return err_set(err, ERR_UNAVAILABLE, "could not finish \"%s/%s\": an earlier write failed", upload->store->root,
                       upload->key);
    }
    TRY(flush(upload, err));
    receipt.size_bytes = upload->size_bytes;
    digest_sha256_stream_finish(upload->hash, receipt.sha256);
    if (fsync(upload->fd) != 0) {
        return store_file_error(upload->store, errno, "sync", upload->key, err);
    }
    TRY(store_upload_check_deadline(&upload->base, upload->key, err));
    FAULT_POINT("store.before_rename");
    TRY(make_visible(upload, &receipt, err));
    remove_temporary(upload);
    FAULT_POINT("store.after_rename");
    TRY(store_file_folder_sync(upload->store, upload->folder, upload->folder_fd, err));
    *out = receipt;
    return OK;
}
