/* Partitions for a merge to work on: sorted, of one time range, so that every row of the output comes from another input.
 *   bench_partitions STORE_URL TABLE_ID PARTITIONS ROWS
 * The first line that it prints is the schema; then comes one line for each partition, as JSON. */
#include <string.h>

#include "common/base/clock.h"
#include "common/partition/writer.h"
#include "tests/bench/log_rows.h"

enum { BATCH_ROWS = 8192 };

static void check(enum err_code code, const struct error *err)
{
    if (code != OK) {
        (void)fprintf(stderr, "bench_partitions: %s: %s\n", err_code_name(code), err->text);
        exit(1);
    }
}

static void show(const char *id, const char *path, const struct partition_facts *facts)
{
    printf("{\"id\":\"%s\",\"path\":\"%s\",\"rows\":%llu,\"bytes\":%llu,\"sha256\":\"", id, path,
           (unsigned long long)facts->row_count, (unsigned long long)facts->data_bytes);
    for (size_t i = 0; i < sizeof facts->sha256; i++) {
        printf("%02x", facts->sha256[i]);
    }
    printf("\"}\n");
}

static void write_partition(struct store *store, const struct schema *schema, uint64_t seed, uint64_t row_count)
{
    AUTO(partition_writer_free_auto) struct partition_writer *writer = NULL;
    AUTO(partition_facts_done) struct partition_facts facts = {0};
    struct log_rows rows;
    struct error err;
    char table[UUID_TEXT_BYTES], id[UUID_TEXT_BYTES], path[128];
    struct partition_writer_options options = {.path = path, .partition_id = uuid_v7(), .deadline_us = INT64_MAX};
    (void)uuid_format(&schema->table_id, table);
    (void)uuid_format(&options.partition_id, id);
    (void)snprintf(path, sizeof path, "%s/2023-11-14/%s.parquet", table, id);
    log_rows_init(&rows, seed);
    check(partition_writer_open(store, schema, &options, &writer, &err), &err);
    for (uint64_t done = 0; done < row_count; done += BATCH_ROWS) {
        uint64_t left = row_count - done;
        AUTO(batch_free_auto)
        struct batch *batch = log_rows_next(&rows, schema, left < BATCH_ROWS ? (uint32_t)left : BATCH_ROWS);
        check(partition_writer_append(writer, batch, 0, batch->row_count, &err), &err);
    }
    check(partition_writer_finish(writer, &facts, &err), &err);
    show(id, path, &facts);
}

int main(int argc, char **argv)
{
    AUTO(store_close_auto) struct store *store = NULL;
    AUTO(schema_free_auto) struct schema *schema = NULL;
    AUTO(free_auto) char *text = NULL;
    struct schema wanted = log_rows_schema;
    struct error err;
    if (argc != 5) {
        (void)fprintf(stderr, "usage: %s STORE_URL TABLE_ID PARTITIONS ROWS\n", argv[0]);
        return 78;
    }
    check(uuid_parse(argv[2], strlen(argv[2]), &wanted.table_id, &err), &err);
    check(store_open(argv[1], NULL, &store, &err), &err);
    check(schema_new(&wanted, &schema, &err), &err);
    check(schema_format(schema, &text, &err), &err);
    printf("%s\n", text);
    for (uint64_t i = 0; i < strtoull(argv[3], NULL, 10); i++) {
        write_partition(store, schema, i + 1, strtoull(argv[4], NULL, 10));
    }
    return 0;
}
