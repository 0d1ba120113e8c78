#include "common/store/s3_rate.h"

#include "common/base/clock.h"

/* Of the most: at 3,000 keys a second a bulk delete of 1,000 waits for seven seconds at worst. */
#define LEAST_SHARE     0.05
#define GROWTH_SHARE    0.05
#define CUT_TOGETHER_US (CLOCK_SECOND_US / 4)

void store_s3_rate_init(struct s3_rate *rate, double most, int64_t now_us)
{
    *rate =
        (struct s3_rate){.most = most, .now = most, .tokens = most, .at_us = now_us, .cut_us = now_us - CLOCK_DAY_US};
}

static void advance(struct s3_rate *rate, int64_t now_us)
{
    double seconds = now_us > rate->at_us ? (double)(now_us - rate->at_us) / (double)CLOCK_SECOND_US : 0;
    rate->tokens += seconds * rate->now;
    rate->now += seconds * rate->most * GROWTH_SHARE;
    rate->now = rate->now < rate->most ? rate->now : rate->most;
    rate->tokens = rate->tokens < rate->now ? rate->tokens : rate->now; /* a second's worth at most is saved up */
    rate->at_us = now_us > rate->at_us ? now_us : rate->at_us;
}

int64_t store_s3_rate_take(struct s3_rate *rate, double keys, int64_t now_us)
{
    advance(rate, now_us);
    rate->tokens -= keys;
    return rate->tokens >= 0 ? 0 : (int64_t)(-rate->tokens / rate->now * (double)CLOCK_SECOND_US);
}

void store_s3_rate_cut(struct s3_rate *rate, double keys, int64_t now_us)
{
    advance(rate, now_us);
    rate->tokens += keys;
    if (now_us - rate->cut_us < CUT_TOGETHER_US) {
        return;
    }
    rate->cut_us = now_us;
    double least = rate->most * LEAST_SHARE;
    rate->now = rate->now / 2 > least ? rate->now / 2 : least;
    rate->tokens = rate->tokens > 0 ? 0 : rate->tokens;
}
