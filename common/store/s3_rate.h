/* How fast to delete. Pure: a bucket of tokens whose rate is halved when the store asks for less, and grows back by a
 * twentieth of the most for each second without complaint (additive increase, multiplicative decrease). */
#ifndef GRANARY_STORE_S3_RATE_H
#define GRANARY_STORE_S3_RATE_H

#include <stdint.h>

struct s3_rate {
    double most, now; /* keys a second */
    double tokens;    /* may be negative: what has been let through ahead */
    int64_t at_us;    /* when tokens were counted */
    int64_t cut_us;   /* when the rate was last halved */
};

void store_s3_rate_init(struct s3_rate *rate, double most, int64_t now_us);
/* Takes tokens for so many keys. Returns how long to wait before they are sent, 0 for not at all. */
int64_t store_s3_rate_take(struct s3_rate *rate, double keys, int64_t now_us);
/* The store asked for less, and did nothing for these keys: their tokens come back. Answers to requests that were under way
 * together halve the rate once. */
void store_s3_rate_cut(struct s3_rate *rate, double keys, int64_t now_us);

#endif
