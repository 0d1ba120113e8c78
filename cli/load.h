/* What the files of "load" share: one thread cuts the input into bodies, others send them, several in flight. */
#ifndef GRANARY_CLI_LOAD_H
#define GRANARY_CLI_LOAD_H

#include <pthread.h>
#include <stdbool.h>

#include "cli/client.h"

enum { LOAD_SHOWN_REJECTS = 10 };

/* --- cutting: load_cut.c ------------------------------------------------------------------------------------------- */
struct load_body {
    struct load_body *next;
    struct buf data;     /* whole lines; the last may lack its end */
    int64_t offset;      /* of the first byte in the input */
    int64_t rows_before; /* rows in front of it: lines that are not blank */
};
void load_body_free(struct load_body *body);
DEFINE_AUTO(struct load_body, load_body_free)

struct load_cutter {
    int file;            /* borrowed */
    size_t target_bytes; /* a body ends at the first line end behind this */
    size_t most_bytes;   /* a longer line is refused */
    struct buf rest;     /* read, not yet cut */
    int64_t offset, rows;
    bool ended;
};
void load_cutter_done(struct load_cutter *cutter);
/* The next body, or NULL at the end of the input. */
MUST_CHECK enum err_code load_cut(struct load_cutter *cutter, struct load_body **out, struct error *err);

/* --- sending: load_send.c ------------------------------------------------------------------------------------------ */
struct load_options {
    const char *table;
    const char *key; /* Idempotency-Key is this, "-", and the offset */
    size_t threads;
    bool wait_committed;
    int64_t retry_for_us; /* how long intake may refuse, or be away */
};
struct load_reject {
    int64_t row;     /* in the whole input, from 1 */
    char column[64]; /* "": the row as a whole */
    char reason[256];
};
struct load_counts {
    int64_t bytes;          /* answered for */
    int64_t rows, rejected; /* new ones */
    int64_t known_bodies;   /* that an earlier load had brought already */
    int64_t bodies;
    struct load_reject rejects[LOAD_SHOWN_REJECTS];
    size_t shown;
};

struct load_sender;
MUST_CHECK enum err_code load_sender_start(struct cli *cli, const struct load_options *options,
                                           struct load_sender **out, struct error *err);
/* Takes the body once a thread has room; ERR_TIMEOUT after wait_us without, and the body stays the caller's. ERR_STOPPED
 * once a body has failed: load_sender_finish says why. */
MUST_CHECK enum err_code load_sender_offer(struct load_sender *sender, struct load_body **body, int64_t wait_us);
/* No more bodies come. ERR_TIMEOUT while some are still in flight after wait_us, then call again; else the first failure,
 * or OK. */
MUST_CHECK enum err_code load_sender_finish(struct load_sender *sender, int64_t wait_us, struct error *err);
void load_sender_counts(struct load_sender *sender, struct load_counts *out);
/* Lets the threads end their requests, and joins them. */
void load_sender_free(struct load_sender *sender);
DEFINE_AUTO(struct load_sender, load_sender_free)

/* --- showing: load_progress.c -------------------------------------------------------------------------------------- */
struct load_progress {
    int64_t total_bytes; /* 0: not known */
    int64_t begun_us;    /* monotonic */
    int64_t shown_us;
    bool terminal; /* a bar that is drawn over; lines otherwise */
    bool drawn;
};
void load_progress_begin(struct load_progress *progress, int64_t total_bytes);
/* Shows it when it is time again. */
void load_progress_show(struct load_progress *progress, const struct load_counts *counts);
/* Wipes the bar away. */
void load_progress_end(struct load_progress *progress);

#endif
