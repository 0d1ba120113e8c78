/* What the files of "load" share: which files there are, the session that they are sent in, and what is shown meanwhile. */
#ifndef GRANARY_CLI_LOAD_H
#define GRANARY_CLI_LOAD_H

#include <stdbool.h>

#include "cli/client.h"
#include "common/ingest/ingest.h"

/* --- files: load_input.c ------------------------------------------------------------------------------------------- */
struct load_input {
    const char *path; /* "-": standard input. Lives as long as the process */
    enum ingest_format format;
    enum ingest_compression compression;
    char delimiter;     /* of CSV; 0: not known from the name */
    int64_t size_bytes; /* 0: not known */
};
struct load_inputs {
    struct load_input *items; /* owned */
    size_t count, capacity;
    int64_t total_bytes; /* 0: not known */
};
void load_inputs_done(struct load_inputs *inputs);

/* Format and compression by --format, the suffix, and for .json by the first bytes. */
MUST_CHECK enum err_code load_input_describe(struct cli *cli, const char *path, struct load_input *out,
                                             struct error *err);
/* A file, "-", a folder (what it holds of known suffixes, folders in it too, sorted), or a pattern. */
MUST_CHECK enum err_code load_inputs_add(struct cli *cli, const char *argument, struct load_inputs *inputs,
                                         struct error *err);
/* --key; or one made of what the files are: device, inode, size and time of change, so that the same files, unchanged, are
 * the same load. What comes through a pipe has no identity, and its key is new each time. */
MUST_CHECK enum err_code load_inputs_key(struct cli *cli, const struct load_inputs *inputs, const char **out,
                                         struct error *err);

/* Flags of how CSV is written. */
#define LOAD_FORMAT_FLAGS                                                                               \
    {"--format", "ndjson|json|csv|parquet", "what the files are, whatever their names say"},            \
        {"--delimiter", "CHARACTER", "between the fields of CSV: , unless told otherwise, or \"tab\""}, \
        {"--quote", "CHARACTER", "around fields of CSV: \" unless told otherwise"},                     \
        {"--null", "TEXT", "a field of CSV that is null; the empty one unless told otherwise"},         \
        {"--no-header", NULL, "the first line of CSV is a row already"},                                \
    {                                                                                                   \
        "--lenient", NULL, "forgives CSV: fields too few or too many, spaces, stray quotes"             \
    }
/* What these flags say. Texts are borrowed from the arguments. */
MUST_CHECK enum err_code load_csv_given(struct cli *cli, const struct load_input *input, struct ingest_csv *out,
                                        struct error *err);

/* --- showing: load_progress.c -------------------------------------------------------------------------------------- */
struct load_progress {
    int64_t total_bytes;    /* 0: not known */
    int64_t bytes;          /* sent */
    int64_t rows, rejected; /* answered for */
    int64_t begun_us;       /* monotonic */
    int64_t shown_us;
    bool terminal; /* a bar that is drawn over; lines otherwise */
    bool drawn;
};
void load_progress_begin(struct load_progress *progress, int64_t total_bytes);
/* Rows, bytes, rate, and how long the rest will take at that rate, after so much time. Returns text. */
enum { LOAD_PROGRESS_BYTES = 256 };
char *load_progress_text(const struct load_progress *progress, int64_t spent_us, char text[LOAD_PROGRESS_BYTES]);
/* Shows it when it is time again. */
void load_progress_show(struct load_progress *progress);
/* Wipes the bar away. */
void load_progress_end(struct load_progress *progress);

/* --- the session: load_session.c ----------------------------------------------------------------------------------- */
struct load_session {
    struct cli *cli;
    const char *table, *key; /* key NULL: none */
    bool dry_run;
    const char *max_rejects; /* NULL: any */
    int64_t retry_for_us;    /* how long intake may refuse, or be away, where nothing is lost by that */
    struct load_progress *progress;
    struct net_client *client; /* owned */
    char id[64];
};
void load_session_done(struct load_session *session);
/* *out is what intake answered: of a load that was committed before under this key, its totals ("duplicate":true). */
MUST_CHECK enum err_code load_session_begin(struct load_session *session, struct json **out, struct error *err);
/* One file. When it fails, the load has failed, and the text says why as far as intake can be asked. */
MUST_CHECK enum err_code load_session_send(struct load_session *session, const struct load_input *input,
                                           struct json **out, struct error *err);
/* Also when answers are lost on the way: what has become of the load is then asked. */
MUST_CHECK enum err_code load_session_commit(struct load_session *session, struct json **out, struct error *err);
/* As far as intake can be reached; otherwise it is given up there when it is idle for too long. */
void load_session_abort(struct load_session *session);

#endif
