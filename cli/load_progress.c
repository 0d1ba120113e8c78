#include <unistd.h>

#include "cli/format.h"
#include "cli/load.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#define BAR_EVERY_US  (CLOCK_SECOND_US / 5)
#define LINE_EVERY_US (2 * CLOCK_SECOND_US)
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

static void show_numbers(const struct load_progress *progress, int64_t spent_us)
{
    char rows[CLI_FORMAT_BYTES];
    char left[CLI_FORMAT_BYTES];
    char size[TEXT_SIZE_BYTES];
    double rate = (double)progress->bytes / ((double)spent_us / CLOCK_SECOND_US); /* bytes a second */

    if (progress->rows > 0) {
        fprintf(stderr, "%s rows  ", cli_format_count(progress->rows, rows));
    }
    fprintf(stderr, "%s  %.1f MB/s", text_format_bytes(progress->bytes, size), rate / 1e6);
    if (progress->total_bytes > progress->bytes && rate > 0) {
        int64_t left_us = (int64_t)((double)(progress->total_bytes - progress->bytes) / rate * CLOCK_SECOND_US);
        fprintf(stderr, "  %s left", cli_format_age(left_us, left));
    }
    if (progress->rejected > 0) {
        fprintf(stderr, "  %s rejected", cli_format_count(progress->rejected, rows));
    }
}

void load_progress_show(struct load_progress *progress)
{
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
    show_numbers(progress, now_us - progress->begun_us);
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
