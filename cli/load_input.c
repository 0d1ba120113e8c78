#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/file.h"
#include "cli/load.h"
#include "common/base/uuid.h"
#include "common/digest/digest.h"

enum { LONGEST_KEY = 150, PEEKED_BYTES = 512, DEEPEST_FOLDER = 32 };

void load_inputs_done(struct load_inputs *inputs)
{
    free(inputs->items);
    *inputs = (struct load_inputs){0};
}

/* --- what a name says ---------------------------------------------------------------------------------------------- */
static const struct {
    const char *name;
    enum ingest_format format;
} formats[] = {
    {"ndjson", INGEST_NDJSON}, {"json", INGEST_JSON_ARRAY}, {"csv", INGEST_CSV}, {"parquet", INGEST_PARQUET}};

static const struct {
    const char *suffix;
    enum ingest_format format;
    char delimiter;
} suffixes[] = {{".ndjson", INGEST_NDJSON, 0}, {".jsonl", INGEST_NDJSON, 0}, {".json", INGEST_JSON_ARRAY, 0},
                {".csv", INGEST_CSV, 0},       {".tsv", INGEST_CSV, '\t'},   {".parquet", INGEST_PARQUET, 0}};

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t end_length = strlen(end);
    return length >= end_length && strncasecmp(text + length - end_length, end, end_length) == 0;
}

/* False: the name does not say. */
static bool read_suffix(const char *path, struct load_input *out)
{
    size_t length = strlen(path);
    if (ends_with(path, length, ".gz")) {
        out->compression = INGEST_GZIP;
        length -= strlen(".gz");
    } else if (ends_with(path, length, ".zst")) {
        out->compression = INGEST_ZSTD;
        length -= strlen(".zst");
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (ends_with(path, length, suffixes[i].suffix)) {
            out->format = suffixes[i].format;
            out->delimiter = suffixes[i].delimiter;
            return true;
        }
    }
    return false;
}

/* Files named .json hold an array, or a row on each line: the first sign that is no space tells. */
static enum err_code look_into_json(struct load_input *input, struct error *err)
{
    AUTO(cli_file_close) int file = -1;
    char text[PEEKED_BYTES];
    TRY(cli_file_open(input->path, &file, err));
    ssize_t length = read(file, text, sizeof text);
    ssize_t at = 0;
    while (at < length && strchr(" \t\r\n\xef\xbb\xbf", text[at]) != NULL) {
        at++;
    }
    if (at < length && text[at] == '{') {
        input->format = INGEST_NDJSON;
    }
    return OK;
}

static enum err_code read_format(struct cli *cli, const char *name, enum ingest_format *out, struct error *err)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(name, formats[i].name) == 0) {
            *out = formats[i].format;
            return OK;
        }
    }
    return cli_usage(cli, err, "expected --format ndjson, json, csv or parquet but found \"%.32s\"", name);
}

enum err_code load_input_describe(struct cli *cli, const char *path, struct load_input *out, struct error *err)
{
    const char *format = cli_flag_value(cli->arguments, "--format");
    struct load_input input = {.path = path};
    struct stat status;
    bool known = read_suffix(path, &input);
    if (strcmp(path, "-") != 0 && stat(path, &status) != 0) {
        return err_set(err, ERR_INVALID, "could not open \"%.256s\": %s", path, strerror(errno));
    }
    input.size_bytes = strcmp(path, "-") != 0 && S_ISREG(status.st_mode) ? status.st_size : 0;
    if (format != NULL) {
        TRY(read_format(cli, format, &input.format, err));
    } else if (known && input.format == INGEST_JSON_ARRAY && input.compression == INGEST_PLAIN &&
               input.size_bytes > 0) {
        TRY(look_into_json(&input, err));
    } else if (!known && strcmp(path, "-") != 0) {
        return cli_usage(
            cli, err,
            "expected a name that ends in .ndjson, .jsonl, .json, .csv, .tsv or .parquet (and .gz or .zst) "
            "but found \"%.128s\"; hint: --format",
            path);
    }
    *out = input;
    return OK;
}

/* --- which files there are ----------------------------------------------------------------------------------------- */
static enum err_code add_file(struct cli *cli, const char *path, struct load_inputs *inputs, struct error *err)
{
    if (inputs->count == inputs->capacity) {
        size_t capacity = inputs->capacity == 0 ? 16 : 2 * inputs->capacity;
        struct load_input *grown = realloc(inputs->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return err_no_memory(err, capacity * sizeof *grown);
        }
        inputs->items = grown;
        inputs->capacity = capacity;
    }
    const char *own = arena_strdup(cli->arena, path);
    if (own == NULL) {
        return err_no_memory(err, strlen(path));
    }
    TRY(load_input_describe(cli, own, &inputs->items[inputs->count], err));
    inputs->total_bytes += inputs->items[inputs->count].size_bytes;
    inputs->count++;
    return OK;
}

static void free_names(struct dirent ***names)
{
    free(*names);
}

static enum err_code add_folder(struct cli *cli, const char *path, unsigned depth, struct load_inputs *inputs,
                                struct error *err);

/* Of a folder, only what has a known suffix; a file that was named is another matter. */
static enum err_code add_entry(struct cli *cli, const char *folder, const char *name, unsigned depth,
                               struct load_inputs *inputs, struct error *err)
{
    struct load_input ignored;
    struct stat status;
    const char *path = arena_printf(cli->arena, "%s/%s", folder, name);
    if (path == NULL) {
        return err_no_memory(err, strlen(folder) + strlen(name));
    }
    if (*name == '.' || stat(path, &status) != 0) {
        return OK;
    }
    if (S_ISDIR(status.st_mode)) {
        return add_folder(cli, path, depth + 1, inputs, err);
    }
    return S_ISREG(status.st_mode) && read_suffix(name, &ignored) ? add_file(cli, path, inputs, err) : OK;
}

static enum err_code add_folder(struct cli *cli, const char *path, unsigned depth, struct load_inputs *inputs,
                                struct error *err)
{
    AUTO(free_names) struct dirent **names = NULL;
    if (depth > DEEPEST_FOLDER) {
        return err_set(err, ERR_INVALID, "expected folders at most %d deep but found \"%.256s\"", DEEPEST_FOLDER, path);
    }
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0) {
        return err_set(err, ERR_INVALID, "could not list \"%.256s\": %s", path, strerror(errno));
    }
    enum err_code code = OK;
    for (int i = 0; i < count; i++) {
        code = code == OK ? add_entry(cli, path, names[i]->d_name, depth, inputs, err) : code;
        free(names[i]);
    }
    return code;
}

static enum err_code add_path(struct cli *cli, const char *path, struct load_inputs *inputs, struct error *err)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode)
               ? add_folder(cli, path, 0, inputs, err)
               : add_file(cli, path, inputs, err);
}

enum err_code load_inputs_add(struct cli *cli, const char *argument, struct load_inputs *inputs, struct error *err)
{
    struct stat status;
    if (strcmp(argument, "-") == 0 || stat(argument, &status) == 0 || strpbrk(argument, "*?[") == NULL) {
        return add_path(cli, argument, inputs, err);
    }
    AUTO(globfree) glob_t found = {0};
    if (glob(argument, 0, NULL, &found) != 0) {
        return err_set(err, ERR_INVALID, "expected files that match \"%.256s\" but found none", argument);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        TRY(add_path(cli, found.gl_pathv[i], inputs, err));
    }
    return OK;
}

/* --- the key ------------------------------------------------------------------------------------------------------- */
static enum err_code identify(const struct load_inputs *inputs, struct uuid *out, struct error *err)
{
    static const struct uuid namespace_id = {
        {0x6b, 0x1d, 0x4f, 0x0e, 0x52, 0x7c, 0x4a, 0x39, 0x8e, 0x21, 0x0c, 0x93, 0x5d, 0xaa, 0x17, 0xf4}};
    AUTO(buf_done) struct buf identity = {0};
    for (size_t i = 0; i < inputs->count; i++) {
        struct stat status;
        const char *path = inputs->items[i].path;
        if (strcmp(path, "-") == 0 || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
            *out = uuid_v4();
            return OK;
        }
        TRY(buf_printf(&identity, err, "%llx:%llx:%llx:%llx.%lx;", (unsigned long long)status.st_dev,
                       (unsigned long long)status.st_ino, (unsigned long long)status.st_size,
                       (unsigned long long)status.st_mtim.tv_sec, (unsigned long)status.st_mtim.tv_nsec));
    }
    *out = digest_uuid_v5(&namespace_id, identity.data, identity.length_bytes);
    return OK;
}

enum err_code load_inputs_key(struct cli *cli, const struct load_inputs *inputs, const char **out, struct error *err)
{
    const char *given = cli_flag_value(cli->arguments, "--key");
    char text[UUID_TEXT_BYTES];
    struct uuid id;
    if (given != NULL) {
        if (*given == '\0' || strlen(given) > LONGEST_KEY) {
            return cli_usage(cli, err, "expected a --key of 1 to %d characters but found %zu", LONGEST_KEY,
                             strlen(given));
        }
        *out = given;
        return OK;
    }
    TRY(identify(inputs, &id, err));
    *out = arena_printf(cli->arena, "load-%s", uuid_format(&id, text));
    return *out == NULL ? err_no_memory(err, sizeof text) : OK;
}

/* --- CSV ----------------------------------------------------------------------------------------------------------- */
static enum err_code read_character(struct cli *cli, const char *flag, char *out, struct error *err)
{
    const char *text = cli_flag_value(cli->arguments, flag);
    if (text == NULL) {
        return OK;
    }
    if (strcmp(text, "tab") == 0) {
        text = "\t";
    }
    if (strlen(text) != 1) {
        return cli_usage(cli, err, "expected one character behind %s but found \"%.32s\"", flag, text);
    }
    *out = *text;
    return OK;
}

enum err_code load_csv_given(struct cli *cli, const struct load_input *input, struct ingest_csv *out, struct error *err)
{
    struct ingest_csv csv = {
        .delimiter = input->delimiter,
        .has_no_header = cli_flag_given(cli->arguments, "--no-header"),
        .is_lenient = cli_flag_given(cli->arguments, "--lenient"),
        .null_text = cli_flag_value(cli->arguments, "--null"),
    };
    TRY(read_character(cli, "--delimiter", &csv.delimiter, err));
    TRY(read_character(cli, "--quote", &csv.quote, err));
    *out = csv;
    return OK;
}
