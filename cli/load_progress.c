#include <unistd.h>

#include "cli/format.h"
#include "cli/load.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#define BAR_EVERY_US  (CLOCK_SECOND_US / 5)
#define LINE_EVERY_US (2 * CLOCK_SECOND_US)
#define LONGEST_S     1e12 /* in microseconds it still fits 64 bits */
enum { BAR_CELLS = 24 };

void load_progress_begin(struct load_progress *progress, int64_t total_bytes)
{
    int64_t now_us = clock_monotonic_us();
    *progress = (struct load_progress){
        .total_bytes = total_bytes,
        .begun_us = now_us,
        .shown_us = now_us,
        .terminal = isatty(STDERR_FILENO) == 1,
    };
}

static void draw_bar(double share)
{
    char bar[BAR_CELLS + 1];
    int full = (int)(share * BAR_CELLS);
    for (int i = 0; i < BAR_CELLS; i++) {
        bar[i] = i < full ? '#' : '.';
    }
    bar[BAR_CELLS] = '\0';
    fprintf(stderr, "[%s] %3.0f%%  ", bar, share * 100);
}

char *load_progress_text(const struct load_progress *progress, int64_t spent_us, char text[LOAD_PROGRESS_BYTES])
{
    char rows[CLI_FORMAT_BYTES];
    char left[CLI_FORMAT_BYTES];
    char rejected[CLI_FORMAT_BYTES];
    char size[TEXT_SIZE_BYTES];
    double seconds = (double)(spent_us > 0 ? spent_us : 1) / CLOCK_SECOND_US;
    double rate = (double)progress->bytes / seconds;
    bool has_rows = progress->rows > 0;
    bool has_left = progress->total_bytes > progress->bytes && progress->bytes > 0;
    bool has_rejects = progress->rejected > 0;
    double left_s = has_left ? (double)(progress->total_bytes - progress->bytes) / rate : 0;
    int64_t left_us = (int64_t)(left_s < LONGEST_S ? left_s * CLOCK_SECOND_US : LONGEST_S * CLOCK_SECOND_US);

    (void)snprintf(text, LOAD_PROGRESS_BYTES, "%s%s%s  %.1f MB/s%s%s%s%s%s%s",
                   has_rows ? cli_format_count(progress->rows, rows) : "", has_rows ? " rows  " : "",
                   text_format_bytes(progress->bytes, size), rate / 1e6, has_left ? "  " : "",
                   has_left ? cli_format_age(left_us, left) : "", has_left ? " left" : "", has_rejects ? "  " : "",
                   has_rejects ? cli_format_count(progress->rejected, rejected) : "", has_rejects ? " rejected" : "");
    return text;
}

void load_progress_show(struct load_progress *progress)
{
    char text[LOAD_PROGRESS_BYTES];
    int64_t now_us = clock_monotonic_us();
    if (now_us - progress->shown_us < (progress->terminal ? BAR_EVERY_US : LINE_EVERY_US)) {
        return;
    }
    progress->shown_us = now_us;
    progress->drawn = true;
    (void)fputs(progress->terminal ? "\r\x1b[K" : "", stderr);
    if (progress->total_bytes > 0) {
        double share = (double)progress->bytes / (double)progress->total_bytes;
        if (progress->terminal) {
            draw_bar(share < 1 ? share : 1);
        } else {
            fprintf(stderr, "%3.0f%%  ", share * 100);
        }
    }
    (void)fputs(load_progress_text(progress, now_us - progress->begun_us, text), stderr);
    (void)fputs(progress->terminal ? "" : "\n", stderr);
    (void)fflush(stderr);
}

void load_progress_end(struct load_progress *progress)
{
    if (progress->terminal && progress->drawn) {
        (void)fputs("\r\x1b[K", stderr);
        (void)fflush(stderr);
    }
}
