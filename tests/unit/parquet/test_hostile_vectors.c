/* The files of other writers, cut off and changed everywhere: as every writer makes other files, so they break in other ways.
 * Small files at every byte; of larger ones some places, so many that the test takes seconds. HOSTILE_PLACES asks for
 * another number of places in each file (0: all). */
#include "tests/unit/parquet/vectors.h"

#include <dirent.h>

#ifdef __SANITIZE_ADDRESS__
enum { PLACES = 60 }; /* each takes ten times as long */
#else
enum { PLACES = 600 };
#endif

static size_t places(void)
{
    const char *text = getenv("HOSTILE_PLACES");
    return text == NULL ? PLACES : (size_t)strtoul(text, NULL, 10);
}

/* Everything that a caller may ask of a file. */
static enum err_code read_all(struct memory_file *file, struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(parquet_cursor_free_auto) struct parquet_cursor *cursor = NULL;
    struct parquet_source source = memory_source(file);
    const struct batch *batch = NULL;
    uint32_t columns[SCHEMA_MAX_COLUMNS], found;
    uint64_t rows = 0;
    TRY(parquet_reader_open(&source, &reader, err));
    for (uint32_t i = 0; i < SCHEMA_MAX_COLUMNS; i++) {
        columns[i] = i;
    }
    for (size_t i = 0; i < parquet_reader_unread_count(reader); i++) {
        const char *name = parquet_reader_unread_name(reader, i);
        assert_int_not_equal(parquet_reader_find(reader, name, strlen(name), &found, err), ERR_NOT_FOUND);
    }
    const struct parquet_cursor_options options = {.columns = columns,
                                                   .column_count = parquet_reader_schema(reader)->column_count};
    TRY(parquet_cursor_open(reader, &options, &cursor, err));
    do {
        TRY(parquet_cursor_next(cursor, &batch, err));
        rows += batch != NULL ? batch->row_count : 0;
    } while (batch != NULL && rows < 20000);
    return OK;
}

static bool may_be_said(enum err_code code)
{
    return code == OK || code == ERR_CORRUPT || code == ERR_INVALID;
}

/* A copy of just the bytes, so that the sanitizer sees any read past them. */
static void cut_off(const struct buf *bytes, size_t length, const char *name)
{
    AUTO(memory_file_done) struct memory_file part = {0};
    struct error err = {0};
    assert_int_equal(buf_append(&part.bytes, bytes->data, length, NULL), OK);
    enum err_code code = read_all(&part, &err);
    if (code != ERR_CORRUPT && code != ERR_INVALID) {
        fail_msg("%s cut off at %zu: %s", name, length, err.text);
    }
}

static void change(struct memory_file *file, size_t at, const char *name)
{
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    for (size_t i = 0; i < sizeof flips; i++) {
        struct error err = {0};
        file->bytes.data[at] ^= flips[i];
        enum err_code code = read_all(file, &err);
        file->bytes.data[at] ^= flips[i];
        if (!may_be_said(code)) {
            fail_msg("%s changed at %zu: %s", name, at, err.text);
        }
    }
}

static void break_file(const char *name)
{
    AUTO(memory_file_done) struct memory_file file = {0};
    need(name, &file.bytes);
    size_t length = file.bytes.length_bytes, most = places();
    size_t step = most == 0 || length <= most ? 1 : length / most;
    for (size_t at = 0; at < length; at += step) {
        cut_off(&file.bytes, at, name);
        change(&file, at, name);
    }
    for (size_t at = step > 1 ? length - most / 2 : length; at < length;
         at++) { /* most of what can be said is at the end */
        change(&file, at, name);
    }
}

static void files_of_other_writers_do_no_harm_wherever_they_break(void **state)
{
    (void)state;
    char path[1280], name[512];
    snprintf(path, sizeof path, "%s/parquet-testing/data", vectors_dir());
    DIR *folder = opendir(path);
    if (folder == NULL) {
        print_message("no test vectors in \"%s\"; hint: set VECTORS_DIR\n", path);
        skip();
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot != NULL && strcmp(dot, ".parquet") == 0) {
            snprintf(name, sizeof name, "data/%s", entry->d_name);
            break_file(name);
        }
    }
    closedir(folder);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_other_writers_do_no_harm_wherever_they_break),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
