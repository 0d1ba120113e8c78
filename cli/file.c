#include "cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

enum err_code cli_file_open(const char *path, int *out_file, struct error *err)
{
    if (strcmp(path, "-") == 0) {
        *out_file = STDIN_FILENO;
        return OK;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return err_set(err, ERR_INVALID, "could not open \"%.256s\": %s", path, strerror(errno));
    }
    *out_file = file;
    return OK;
}

void cli_file_close(int *file)
{
    if (*file > STDIN_FILENO) {
        (void)close(*file);
    }
}

enum err_code cli_file_read(const char *path, size_t most_bytes, struct buf *out, struct error *err)
{
    AUTO(cli_file_close) int file = -1;
    ssize_t got;

    TRY(cli_file_open(path, &file, err));
    do {
        TRY(buf_reserve(out, READ_BYTES, err));
        got = read(file, out->data + out->length_bytes, READ_BYTES);
        if (got < 0) {
            return err_set(err, ERR_INVALID, "could not read \"%.256s\": %s", path, strerror(errno));
        }
        out->length_bytes += (size_t)got;
        if (out->length_bytes > most_bytes) {
            return err_set(err, ERR_INVALID, "expected at most %zu bytes in \"%.256s\" but found more", most_bytes,
                           path);
        }
    } while (got > 0);
    return OK;
}
