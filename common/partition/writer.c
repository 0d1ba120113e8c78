#include "common/partition/writer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct partition_writer {
    struct store *store;
    char *path;
    struct store_upload *upload; /* NULL once finished */
    struct parquet_writer *file;
    _Atomic int64_t deadline_us;
    char table_id[UUID_TEXT_BYTES], partition_id[UUID_TEXT_BYTES], schema_version[12];
    struct parquet_key_value key_values[3]; /* the file's writer borrows them */
};

void partition_facts_done(struct partition_facts *facts)
{
    free(facts->columns);
    *facts = (struct partition_facts){0};
}

void partition_writer_free(struct partition_writer *writer)
{
    if (writer != NULL) {
        parquet_writer_free(writer->file);
        store_upload_abort(writer->upload);
        free(writer->path);
        free(writer);
    }
}

/* A store that takes no bytes, or keeps others than it was given, has said nothing against rows or inputs: who writes waits
 * as for one that is away, and writes again under another key. */
static enum err_code of_the_store(enum err_code code, struct error *err)
{
    if (code != ERR_DENIED && code != ERR_CORRUPT) {
        return code;
    }
    return err_set(err, ERR_UNAVAILABLE, "%s", err != NULL ? err->text : "");
}

static enum err_code write_to_upload(void *context, const void *data, size_t length, struct error *err)
{
    struct partition_writer *writer = context;
    return of_the_store(store_upload_write(writer->upload, data, length, err), err);
}

static enum err_code open_file(struct partition_writer *writer, const struct schema *schema,
                               const struct partition_writer_options *options, struct error *err)
{
    (void)snprintf(writer->schema_version, sizeof writer->schema_version, "%d", (int)schema->version);
    writer->key_values[0] =
        (struct parquet_key_value){"granary.table_id", uuid_format(&schema->table_id, writer->table_id)};
    writer->key_values[1] =
        (struct parquet_key_value){"granary.partition_id", uuid_format(&options->partition_id, writer->partition_id)};
    writer->key_values[2] = (struct parquet_key_value){"granary.schema_version", writer->schema_version};
    struct parquet_writer_options file_options = {0};
    if (options->parquet != NULL) {
        file_options = *options->parquet;
    }
    file_options.key_values = writer->key_values;
    file_options.key_value_count = sizeof writer->key_values / sizeof *writer->key_values;
    const struct parquet_sink sink = {.context = writer, .write = write_to_upload};
    return parquet_writer_new(schema, &file_options, &sink, &writer->file, err);
}

enum err_code partition_writer_open(struct store *store, const struct schema *schema,
                                    const struct partition_writer_options *options, struct partition_writer **out,
                                    struct error *err)
{
    AUTO(partition_writer_free_auto) struct partition_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return err_no_memory(err, sizeof *writer);
    }
    writer->store = store;
    atomic_store(&writer->deadline_us, options->deadline_us);
    writer->path = strdup(options->path);
    if (writer->path == NULL) {
        return err_no_memory(err, strlen(options->path));
    }
    TRY(of_the_store(store_upload_open(store, writer->path, options->deadline_us, &writer->upload, err), err));
    store_upload_follow_deadline(writer->upload, &writer->deadline_us);
    TRY(open_file(writer, schema, options, err));
    *out = TAKE(writer);
    return OK;
}

enum err_code partition_writer_append(struct partition_writer *writer, const struct batch *batch, uint32_t first,
                                      uint32_t count, struct error *err)
{
    return parquet_writer_append(writer->file, batch, first, count, err);
}

enum err_code partition_writer_copy_group(struct partition_writer *writer, struct parquet_copier *copier,
                                          size_t row_group, bool *out_taken, struct error *err)
{
    return parquet_writer_copy_group(writer->file, copier, row_group, out_taken, err);
}

void partition_writer_set_deadline(struct partition_writer *writer, int64_t deadline_us)
{
    atomic_store(&writer->deadline_us, deadline_us);
}

/* The store has said yes; this asks it what it has. */
static enum err_code verify(struct partition_writer *writer, const struct store_receipt *receipt, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct store_object object;
    if (arena == NULL) {
        return err_no_memory(err, sizeof object);
    }
    TRY(store_head(writer->store, writer->path, arena, &object, err));
    if (object.size_bytes != receipt->size_bytes) {
        return err_set(err, ERR_CORRUPT, "expected %llu bytes in \"%s\" after writing it but found %llu",
                       (unsigned long long)receipt->size_bytes, writer->path, (unsigned long long)object.size_bytes);
    }
    if (receipt->etag[0] != '\0' && object.etag[0] != '\0' && strcmp(object.etag, receipt->etag) != 0) {
        return err_set(err, ERR_CORRUPT, "expected etag %s of \"%s\" after writing it but found %s", receipt->etag,
                       writer->path, object.etag);
    }
    return OK;
}

enum err_code partition_writer_finish(struct partition_writer *writer, struct partition_facts *out, struct error *err)
{
    AUTO(parquet_summary_done) struct parquet_summary summary = {0};
    struct store_receipt receipt = {0};
    TRY(parquet_writer_finish(writer->file, &summary, err));
    TRY(of_the_store(store_upload_finish(TAKE(writer->upload), &receipt, err), err));
    TRY(of_the_store(verify(writer, &receipt, err), err));
    *out = (struct partition_facts){.row_count = summary.row_count,
                                    .data_bytes = receipt.size_bytes,
                                    .memory_bytes = summary.memory_bytes,
                                    .min_timestamp_us = summary.min_timestamp_us,
                                    .max_timestamp_us = summary.max_timestamp_us,
                                    .column_count = summary.column_count,
                                    .columns = TAKE(summary.columns)};
    memcpy(out->sha256, receipt.sha256, sizeof out->sha256);
    memcpy(out->etag, receipt.etag, sizeof out->etag);
    return OK;
}
