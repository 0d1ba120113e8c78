/* Uploads. Bytes are gathered until there are four parts of them (64 MiB); who ends before that is one PUT, which can be
 * repeated as a whole because all of it is still there. Beyond, what has been gathered goes out in parts, and so does what
 * follows. */
#include <stdlib.h>
#include <string.h>

#include "common/store/s3.h"

enum { SINGLE_PARTS = 4 };

struct s3_upload {
    struct store_upload base;
    struct s3_store *store;
    char key[S3_KEY_BYTES];
    size_t part_bytes;
    struct buf buffer;
    uint64_t size_bytes;
    struct digest_sha256_stream *hash;
    struct s3_multipart *multipart; /* NULL while one PUT may do */
    bool failed;
};

void store_s3_upload_abort(struct store_upload *upload_take)
{
    struct s3_upload *upload = (struct s3_upload *)upload_take;
    store_s3_multipart_close(upload->multipart);
    digest_sha256_stream_free(upload->hash);
    buf_done(&upload->buffer);
    free(upload);
}

static void abort_auto(struct s3_upload **upload)
{
    if (*upload != NULL) {
        store_s3_upload_abort(&(*upload)->base);
    }
}

enum err_code store_s3_upload_open(struct store *store, const char *key, struct store_upload **out, struct error *err)
{
    AUTO(abort_auto) struct s3_upload *upload = calloc(1, sizeof *upload);
    if (upload == NULL) {
        return err_no_memory(err, sizeof *upload);
    }
    upload->store = (struct s3_store *)store;
    upload->part_bytes = (size_t)upload->store->options.part_bytes;
    upload->hash = digest_sha256_stream_new();
    if (upload->hash == NULL) {
        return err_no_memory(err, sizeof *upload);
    }
    TRY(store_s3_key(upload->store, key, upload->key, err));
    *out = &TAKE(upload)->base;
    return OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* All whole parts that the buffer holds; what is left moves to its front. */
static enum err_code send_parts(struct s3_upload *upload, struct error *err)
{
    size_t sent = 0;
    if (upload->multipart == NULL) {
        TRY(store_s3_multipart_begin(upload->store, upload->key, upload->base.deadline_us, &upload->multipart, err));
    }
    for (; upload->buffer.length_bytes - sent >= upload->part_bytes; sent += upload->part_bytes) {
        TRY(store_s3_multipart_add(upload->multipart, upload->buffer.data + sent, upload->part_bytes, err));
    }
    upload->buffer.length_bytes -= sent;
    memmove(upload->buffer.data, upload->buffer.data + sent, upload->buffer.length_bytes);
    return OK;
}

static enum err_code gather(struct s3_upload *upload, const uint8_t *data, size_t length, struct error *err)
{
    while (length > 0) {
        size_t most = upload->multipart == NULL ? SINGLE_PARTS * upload->part_bytes : upload->part_bytes;
        size_t room = most - upload->buffer.length_bytes;
        size_t taken = length < room ? length : room;
        TRY(buf_append(&upload->buffer, data, taken, err));
        data += taken;
        length -= taken;
        /* A full buffer waits for one more byte: four parts exactly are still one PUT, and no part is empty. */
        if (length > 0 && upload->buffer.length_bytes == most) {
            TRY(send_parts(upload, err));
        }
    }
    return OK;
}

enum err_code store_s3_upload_write(struct store_upload *base, const void *data, size_t length, struct error *err)
{
    struct s3_upload *upload = (struct s3_upload *)base;
    enum err_code code = gather(upload, data, length, err);
    upload->failed = upload->failed || code != OK;
    digest_sha256_stream_update(upload->hash, data, length);
    upload->size_bytes += length;
    return code;
}

/* --- finishing ---------------------------------------------------------------------------------------------------- */

enum err_code store_s3_upload_finish(struct store_upload *upload_take, struct store_receipt *out, struct error *err)
{
    AUTO(abort_auto) struct s3_upload *upload = (struct s3_upload *)upload_take;
    const struct buf *rest = &upload->buffer;
    uint8_t sha256[DIGEST_SHA256_BYTES];
    if (upload->failed) {
        return err_set(err, ERR_UNAVAILABLE, "could not finish \"s3://%s/%s\": an earlier write failed",
                       upload->store->url.bucket, upload->key);
    }
    digest_sha256_stream_finish(upload->hash, sha256);
    TRY(store_upload_check_deadline(&upload->base, upload->key, err));
    if (upload->multipart == NULL) {
        return store_s3_put(upload->store, upload->key, rest->data, rest->length_bytes, sha256,
                            upload->base.deadline_us, out, err);
    }
    TRY(store_s3_multipart_add(upload->multipart, rest->data, rest->length_bytes, err));
    return store_s3_multipart_finish(upload->multipart, upload->size_bytes, sha256, out, err);
}
