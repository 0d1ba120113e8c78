#include "cli/table_infer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/file.h"
#include "cli/format.h"
#include "cli/given.h"
#include "cli/load.h"
#include "cli/output.h"
#include "common/ingest/infer.h"
#include "common/parquet/sink.h"

enum { SAMPLE_BYTES = 16 << 20, STEP_BYTES = 256 << 10 };

/* --- looking at the data ------------------------------------------------------------------------------------------- */
static enum err_code read_some(int file, uint8_t *to, size_t length, size_t *out_length, struct error *err)
{
    ssize_t got;
    do {
        got = read(file, to, length);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return err_set(err, ERR_INVALID, "could not read the input: %s", strerror(errno));
    }
    *out_length = (size_t)got;
    return OK;
}

/* The beginning of it, or all of it. */
static enum err_code read_sample(int file, size_t most_bytes, struct buf *out, bool *out_whole, struct error *err)
{
    size_t got = 1;
    while (got > 0 && out->length_bytes < most_bytes) {
        TRY(buf_reserve(out, STEP_BYTES, err));
        TRY(read_some(file, out->data + out->length_bytes, STEP_BYTES, &got, err));
        out->length_bytes += got;
    }
    *out_whole = got == 0;
    return OK;
}

static enum err_code read_at(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    const int *file = context;
    uint8_t *to = out;
    while (length > 0) {
        ssize_t got = pread(*file, to, length, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return err_set(err, ERR_INVALID, "could not read the file: %s",
                           got == 0 ? "it is shorter than it was" : strerror(errno));
        }
        to += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return OK;
}

static enum err_code propose(struct cli *cli, const char *path, struct infer_proposal *out, struct error *err)
{
    AUTO(cli_file_close) int file = -1;
    AUTO(buf_done) struct buf sample = {0};
    struct load_input input;
    struct infer_options options = {.timestamp = cli_flag_value(cli->arguments, "--timestamp")};
    TRY(load_input_describe(cli, path, &input, err));
    options.ingest = (struct ingest_options){.format = input.format, .compression = input.compression};
    TRY(load_csv_given(cli, &input, &options.ingest.csv, err));
    TRY(cli_file_open(path, &file, err));
    if (input.format == INGEST_PARQUET && input.compression == INGEST_PLAIN && input.size_bytes > 0) {
        const struct parquet_source source = {
            .context = &file, .size_bytes = (uint64_t)input.size_bytes, .read = read_at};
        return infer_file(&options, &source, out, err);
    }
    TRY(read_sample(file, input.format == INGEST_PARQUET ? SIZE_MAX - STEP_BYTES : SAMPLE_BYTES, &sample,
                    &options.is_whole, err));
    return infer_sample(&options, sample.data, sample.length_bytes, out, err);
}

/* --- the proposal -------------------------------------------------------------------------------------------------- */
static enum err_code describe_column(const struct infer_column *column, struct json **out, struct error *err)
{
    AUTO(json_free_auto) struct json *json = json_new_object();
    const struct schema_column typed = {.type = column->type, .precision = column->precision, .scale = column->scale};
    char type[COLUMN_TYPE_TEXT_BYTES];
    if (json == NULL) {
        return err_no_memory(err, 0);
    }
    TRY(json_set_string(json, "name", column->name, err));
    TRY(json_set_string(json, "source", column->source, err));
    TRY(json_set_string(json, "type", column_type_format(&typed, type), err));
    TRY(json_set_bool(json, "nullable", column->nullable, err));
    TRY(json_set_string(json, "format", column->format, err));
    TRY(json_set_string(json, "why", column->why, err));
    *out = TAKE(json);
    return OK;
}

/* An argument of a shell: in quotes unless all its characters are harmless. */
static enum err_code append_argument(struct buf *out, const char *text, struct error *err)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:=/+%@";
    if (*text != '\0' && text[strspn(text, harmless)] == '\0') {
        return buf_append_text(out, text, err);
    }
    TRY(buf_append_byte(out, '\'', err));
    for (; *text != '\0'; text++) {
        TRY(*text == '\'' ? buf_append_text(out, "'\\''", err) : buf_append_byte(out, (uint8_t)*text, err));
    }
    return buf_append_byte(out, '\'', err);
}

static enum err_code append_column(struct buf *out, const struct json *column, struct error *err)
{
    AUTO(buf_done) struct buf argument = {0};
    const char *format = json_as_text(json_find(column, "format"), NULL);
    TRY(buf_printf(&argument, err, "%s:%s%s", json_as_text(json_find(column, "name"), NULL),
                   json_as_text(json_find(column, "type"), NULL),
                   json_as_bool(json_find(column, "nullable")) ? "" : ":notnull"));
    if (format != NULL) {
        TRY(buf_printf(&argument, err, ":format=%s", format));
    }
    const char *text = buf_text(&argument);
    if (text == NULL) {
        return err_no_memory(err, argument.length_bytes);
    }
    TRY(buf_append_text(out, " \\\n    --column ", err));
    return append_argument(out, text, err);
}

static enum err_code set_command(const struct cli *cli, struct json *proposal, const struct json *columns,
                                 const char *timestamp, struct error *err)
{
    AUTO(buf_done) struct buf command = {0};
    TRY(buf_append_text(&command, "granary table create ", err));
    TRY(append_argument(&command, cli_position(cli, 0), err));
    for (size_t i = 0; i < json_length(columns); i++) {
        TRY(append_column(&command, json_at(columns, i), err));
    }
    TRY(buf_printf(&command, err, " \\\n    --timestamp %s", timestamp));
    return json_set(proposal, "command", json_new_string((const char *)command.data, command.length_bytes), err);
}

static enum err_code describe(const struct cli *cli, const struct infer_proposal *from, struct json **out,
                              struct error *err)
{
    AUTO(json_free_auto) struct json *json = json_new_object();
    AUTO(json_free_auto) struct json *columns = json_new_array();
    const char *timestamp = from->columns[from->timestamp_column].name;
    if (json == NULL || columns == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 0; i < from->column_count; i++) {
        struct json *column = NULL;
        TRY(describe_column(&from->columns[i], &column, err));
        TRY(json_append(columns, column, err));
    }
    TRY(set_command(cli, json, columns, timestamp, err));
    TRY(json_set_string(json, "timestamp", timestamp, err));
    TRY(json_set_string(json, "timestamp_why", from->timestamp_why, err));
    TRY(json_set_string(json, "note", from->note, err));
    TRY(json_set_i64(json, "rows", (int64_t)from->rows, err));
    TRY(json_set(json, "columns", TAKE(columns), err));
    *out = TAKE(json);
    return OK;
}

enum err_code cli_table_infer(struct cli *cli, const char *path, struct json **out, struct error *err)
{
    AUTO(infer_proposal_done) struct infer_proposal proposal = {0};
    if (cli_flag_given(cli->arguments, "--column") || cli_flag_given(cli->arguments, "--schema")) {
        return cli_usage(cli, err, "expected --infer, --schema or --column but found more than one of them");
    }
    if (propose(cli, path, &proposal, err) != OK) {
        return err_wrap(err, "%.256s", path);
    }
    return describe(cli, &proposal, out, err);
}

enum err_code cli_table_infer_schema(const struct json *proposal, struct json **out, struct error *err)
{
    static const char *const members[] = {"name", "type", "format"};
    AUTO(json_free_auto) struct json *schema = json_new_object();
    AUTO(json_free_auto) struct json *columns = json_new_array();
    const struct json *from = json_find(proposal, "columns");
    if (schema == NULL || columns == NULL) {
        return err_no_memory(err, 0);
    }
    for (size_t i = 0; i < json_length(from); i++) {
        AUTO(json_free_auto) struct json *column = json_new_object();
        if (column == NULL) {
            return err_no_memory(err, 0);
        }
        for (size_t j = 0; j < CLI_LENGTH(members); j++) {
            const char *text = json_as_text(json_find(json_at(from, i), members[j]), NULL);
            TRY(text != NULL ? json_set_string(column, members[j], text, err) : OK);
        }
        TRY(json_set_bool(column, "nullable", json_as_bool(json_find(json_at(from, i), "nullable")), err));
        TRY(json_append(columns, TAKE(column), err));
    }
    TRY(json_set_string(schema, "timestamp", json_as_text(json_find(proposal, "timestamp"), NULL), err));
    TRY(json_set(schema, "columns", TAKE(columns), err));
    *out = TAKE(schema);
    return OK;
}

enum err_code cli_table_infer_print(const struct cli *cli, struct json *proposal, struct error *err)
{
    static const struct cli_column columns[] = {
        {"COLUMN", "name", CLI_TEXT},   {"TYPE", "type", CLI_TEXT}, {"NULLABLE", "nullable", CLI_TEXT},
        {"FORMAT", "format", CLI_TEXT}, {"WHY", "why", CLI_TEXT},
    };
    const char *note = json_as_text(json_find(proposal, "note"), NULL);
    if (cli->json) {
        return cli_print_json(proposal, err);
    }
    TRY(cli_print_array(cli, json_find(proposal, "columns"), columns, CLI_LENGTH(columns), NULL, err));
    printf("\ntimestamp: %s (%s), by %lld rows\n", json_as_text(json_find(proposal, "timestamp"), NULL),
           json_as_text(json_find(proposal, "timestamp_why"), NULL),
           (long long)json_as_i64(json_find(proposal, "rows")));
    if (note != NULL) {
        cli_put_tame(note, stdout);
        (void)fputc('\n', stdout);
    }
    printf("nothing was created; --yes, or this, changed as you like, creates the table:\n\n%s\n",
           json_as_text(json_find(proposal, "command"), NULL));
    return OK;
}
