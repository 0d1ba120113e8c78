/* Where the credentials of an s3:// store come from, and keeping them fresh. The first of these that is there is the one:
 *   credentials=name of the url   the file of that name in GRANARY_STORE_CREDENTIALS_DIR
 *   GRANARY_STORE_ACCESS_KEY_ID   with _SECRET_ACCESS_KEY and _SESSION_TOKEN
 *   AWS_ACCESS_KEY_ID             with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
 *   AWS_WEB_IDENTITY_TOKEN_FILE   with AWS_ROLE_ARN: exchanged at STS, as on EKS
 *   AWS_SHARED_CREDENTIALS_FILE   of profile AWS_PROFILE (default "default")
 *   instance metadata             IMDSv2, unless AWS_EC2_METADATA_DISABLED=true
 * Files are looked at again when they change; what expires is fetched anew five minutes ahead, and what there is serves on
 * while that fails and it has not expired. */
#ifndef GRANARY_STORE_S3_CREDENTIALS_H
#define GRANARY_STORE_S3_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/store/store.h"

enum { S3_ACCESS_KEY_BYTES = 160, S3_SECRET_BYTES = 256, S3_TOKEN_BYTES = 8192 };

struct s3_credentials {
    char access_key_id[S3_ACCESS_KEY_BYTES];
    char secret_access_key[S3_SECRET_BYTES];
    char session_token[S3_TOKEN_BYTES];
    int64_t expires_at_us; /* CLOCK_NEVER for those that do not */
};

struct s3_credential_source; /* may be used by several threads at once */

/* name: of the url, "" for none. ERR_INVALID: a name without a directory, or half of a pair. Asks nobody yet. */
MUST_CHECK enum err_code store_s3_credentials_open(const char *name, const char *region,
                                                   const struct store_options *options,
                                                   struct s3_credential_source **out, struct error *err);
void store_s3_credentials_close(struct s3_credential_source *source);

/* Those that are good now. `refused`: the store has just refused the ones handed out before; where those cannot be newer
 * the same come again. ERR_DENIED: there are none, or they cannot be read; ERR_UNAVAILABLE: who gives them is away. */
MUST_CHECK enum err_code store_s3_credentials_get(struct s3_credential_source *source, bool refused,
                                                  struct s3_credentials *out, struct error *err);

/* The parts. `text` is what the file, STS or the metadata service said.
 * A file is either an INI with sections, of which `profile` counts, or, without sections, lines of name = value. */
MUST_CHECK enum err_code store_s3_credentials_parse_file(const char *text, const char *profile,
                                                         struct s3_credentials *out, struct error *err);
MUST_CHECK enum err_code store_s3_credentials_parse_sts(const char *text, size_t length, struct s3_credentials *out,
                                                        struct error *err);
MUST_CHECK enum err_code store_s3_credentials_parse_imds(const char *text, size_t length, struct s3_credentials *out,
                                                         struct error *err);
/* Both ask the network. */
MUST_CHECK enum err_code store_s3_credentials_ask_sts(const char *region, const struct store_options *options,
                                                      struct s3_credentials *out, struct error *err);
MUST_CHECK enum err_code store_s3_credentials_ask_imds(const struct store_options *options, struct s3_credentials *out,
                                                       struct error *err);

#endif
