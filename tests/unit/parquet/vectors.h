/* Files of other writers, from the place that VECTORS_DIR names; tests are skipped with a word where they are not. */
#ifndef GRANARY_TESTS_PARQUET_VECTORS_H
#define GRANARY_TESTS_PARQUET_VECTORS_H

#include "tests/unit/parquet/support.h"

static const char *vectors_dir(void)
{
    const char *dir = getenv("VECTORS_DIR");
    return dir != NULL ? dir : "../shared/vectors";
}

static bool load_vector(const char *name, struct buf *out)
{
    char path[1280], piece[4096];
    snprintf(path, sizeof path, "%s/parquet-testing/%s", vectors_dir(), name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    for (size_t length; (length = fread(piece, 1, sizeof piece, file)) > 0;) {
        assert_int_equal(buf_append(out, piece, length, NULL), OK);
    }
    fclose(file);
    return true;
}

__attribute__((unused)) static void need(const char *name, struct buf *out)
{
    if (!load_vector(name, out)) {
        print_message("no test vectors: \"%s\" is not in \"%s\"; hint: set VECTORS_DIR\n", name, vectors_dir());
        skip();
    }
}

#endif
