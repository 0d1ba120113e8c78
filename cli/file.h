/* Files that commands read: by name, or "-" for standard input. */
#ifndef GRANARY_CLI_FILE_H
#define GRANARY_CLI_FILE_H

#include "common/base/buf.h"
#include "common/base/error.h"

MUST_CHECK enum err_code cli_file_open(const char *path, int *out_file, struct error *err);
void cli_file_close(int *file); /* for AUTO; leaves standard input open, and takes -1 */
/* The whole file. ERR_INVALID: longer than that, or not to be read. */
MUST_CHECK enum err_code cli_file_read(const char *path, size_t most_bytes, struct buf *out, struct error *err);

#endif
