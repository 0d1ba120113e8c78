/* What to do after one try of a request. Pure: the decision of the driver's one retry loop. */
#ifndef GRANARY_STORE_S3_RETRY_H
#define GRANARY_STORE_S3_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

enum s3_verdict {
    S3_DONE,     /* the answer is the one that was asked for */
    S3_RETRY,    /* again after a pause */
    S3_REFRESH,  /* again with newer credentials */
    S3_SKEW,     /* again by the server's clock */
    S3_REDIRECT, /* again in the region that the answer names */
    S3_FAIL,     /* trying again cannot help, or not in time */
    S3_VERDICT_COUNT
};

struct s3_outcome {
    enum err_code transport; /* of net_send; OK when there is an answer */
    long status;
    const char *code;       /* S3's, from the body; "" where there is none */
    bool torn;              /* the answer ended early, or is not what its headers or its kind promise */
    bool refreshed, skewed; /* these were tried already for this request */
    uint32_t redirects;
    int64_t spent_us; /* since the first try began */
    int64_t retry_for_us;
    int64_t asked_pause_us; /* Retry-After; 0 for none */
};

struct s3_decision {
    enum s3_verdict verdict;
    enum err_code code; /* for S3_FAIL: what the caller can do */
    int64_t pause_us;   /* before S3_RETRY */
};

/* random: anything, spread evenly. tries: those made, from 1. Full jitter: a pause between 0 and a bound that doubles from
 * 100 ms to 5 s, and what the server asked for at least. A pause that would end behind the deadline is not begun. */
struct s3_decision store_s3_retry_decide(const struct s3_outcome *outcome, uint32_t tries, uint64_t random);

/* The store asks for fewer requests: 503, 429, and their codes. */
bool store_s3_retry_is_throttled(long status, const char *code);

#endif
