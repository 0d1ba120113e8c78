#include "common/base/clock.h"
#include "services/intake/load/internal.h"

void load_look_at(struct load *load, struct load_view *out)
{
    (void)pthread_mutex_lock(&load->lock);
    *out = (struct load_view){.state = load->state,
                              .failure = load->failure,
                              .totals = load->totals,
                              .bodies_under_way = load->bodies,
                              .touched_us = load->touched_us};
    (void)pthread_mutex_unlock(&load->lock);
}

enum err_code load_format_rejects(struct load *load, struct buf *out, struct error *err)
{
    (void)pthread_mutex_lock(&load->lock);
    enum err_code code = shown_format(&load->shown, out, err);
    (void)pthread_mutex_unlock(&load->lock);
    return code;
}

static enum err_code format_buckets(const struct load *load, struct buf *out, struct error *err)
{
    size_t count = load->bucket_count < LOAD_SHOWN_BUCKETS ? load->bucket_count : LOAD_SHOWN_BUCKETS;
    TRY(buf_append_text(out, ",\"buckets\":[", err));
    for (size_t i = 0; i < count; i++) {
        char start[CLOCK_TEXT_BYTES];
        TRY(buf_printf(out, err, "%s{\"start\":\"%s\",\"rows\":%lld}", i > 0 ? "," : "",
                       clock_format(load->buckets[i].start_us, start), (long long)load->buckets[i].rows));
    }
    return buf_append_byte(out, ']', err);
}

enum err_code load_format_buckets(struct load *load, struct buf *out, struct error *err)
{
    (void)pthread_mutex_lock(&load->work);
    enum err_code code = format_buckets(load, out, err);
    (void)pthread_mutex_unlock(&load->work);
    return code;
}
