/* AWS Signature Version 4, as S3 wants it: the path is encoded once and never normalised. Pure: the clock is passed in.
 * Source: "Authenticating Requests (AWS Signature Version 4)", Amazon S3 API Reference. */
#ifndef GRANARY_STORE_S3_SIGN_H
#define GRANARY_STORE_S3_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/net/net.h"

#define STORE_S3_UNSIGNED "UNSIGNED-PAYLOAD"

enum { STORE_S3_DATE_BYTES = 17, STORE_S3_SIGN_MAX_PAIRS = 32 }; /* "20150830T123600Z" with its NUL */

struct s3_signing {
    const char *method;
    const char *path;               /* not encoded, begins with '/' */
    const struct net_header *query; /* not encoded, in any order */
    size_t query_count;
    const struct net_header *headers; /* all are signed: Host and those that begin with X-Amz- must be among them */
    size_t header_count;
    const char *payload_hash; /* SHA-256 of the body in hex, or STORE_S3_UNSIGNED */
    const char *region;
    const char *service;
    const char *access_key_id;
    const char *secret_access_key;
    const char *session_token; /* "" for none; only query signing adds it by itself */
    int64_t time_us;
};

/* "20150830T123600Z". Returns text. */
char *store_s3_sign_date(int64_t time_us, char text[STORE_S3_DATE_BYTES]);

/* The request target as it is signed and has to be sent: path, and "?" with the sorted query where there is one. */
MUST_CHECK enum err_code store_s3_sign_target(const struct s3_signing *signing, struct buf *out, struct error *err);
/* What is hashed for the signature. */
MUST_CHECK enum err_code store_s3_sign_canonical(const struct s3_signing *signing, struct buf *out, struct error *err);
/* The value of the Authorization header. */
MUST_CHECK enum err_code store_s3_sign_header(const struct s3_signing *signing, struct buf *out, struct error *err);
/* The request target with the signature in its query: whoever has it can send the request for so many seconds, without
 * credentials. ERR_INVALID unless 1 <= expires_s <= 604800. */
MUST_CHECK enum err_code store_s3_sign_query(const struct s3_signing *signing, int64_t expires_s, struct buf *out,
                                             struct error *err);

#endif
