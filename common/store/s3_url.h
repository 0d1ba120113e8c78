/* Where an s3:// store is: what its url says, completed from the environment. Pure but for getenv. */
#ifndef GRANARY_STORE_S3_URL_H
#define GRANARY_STORE_S3_URL_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct s3_url {
    const char *bucket;
    const char *prefix; /* without slashes at its ends; "" for none */
    const char *region;
    const char *scheme;      /* "https" or "http" */
    const char *host;        /* of the endpoint, with ":port" where it has one: without the bucket */
    const char *credentials; /* "" for none named */
    bool path_style;
    bool aws; /* the endpoint follows from the region */
    bool keep_versions;
};

/* Texts live in `arena`. ERR_INVALID names the part that is wrong and what it may be. */
MUST_CHECK enum err_code store_s3_url_parse(const char *url, struct arena *arena, struct s3_url *out,
                                            struct error *err);

/* After a redirect: another region, and AWS's endpoint of it unless one was given. region: letters, digits and '-'. */
MUST_CHECK enum err_code store_s3_url_set_region(struct s3_url *url, const char *region, struct arena *arena,
                                                 struct error *err);

#endif
