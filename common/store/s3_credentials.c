#include "common/store/s3_credentials.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/clock.h"

#define AHEAD_US      (5 * CLOCK_MINUTE_US)
#define TRY_AGAIN_US  (10 * CLOCK_SECOND_US) /* a failed refresh ahead of time is not repeated for each request */
#define FILE_CHECK_US CLOCK_SECOND_US
enum { MAX_FILE_BYTES = 64 << 10, MAX_PATH_BYTES = 512 };

enum source_kind { SOURCE_FIXED, SOURCE_FILE, SOURCE_STS, SOURCE_IMDS, SOURCE_NONE };

struct s3_credential_source {
    enum source_kind kind;
    pthread_mutex_t lock;
    struct store_options options;
    char region[40];
    char path[MAX_PATH_BYTES]; /* SOURCE_FILE */
    char profile[128];
    struct s3_credentials held;
    bool has;
    int64_t next_look_us;    /* monotonic: not before then */
    struct timespec read_at; /* the file's time of change when it was read */
};

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

void store_s3_credentials_close(struct s3_credential_source *source)
{
    if (source != NULL) {
        (void)pthread_mutex_destroy(&source->lock);
        explicit_bzero(&source->held, sizeof source->held);
        free(source);
    }
}
DEFINE_AUTO(struct s3_credential_source, store_s3_credentials_close)

/* --- which -------------------------------------------------------------------------------------------------------- */

static enum err_code set_fixed(struct s3_credential_source *source, const char *prefix, const char *id,
                               const char *secret, const char *token, struct error *err)
{
    struct s3_credentials *held = &source->held;
    if (*id == '\0' || *secret == '\0') {
        return err_set(err, ERR_INVALID, "expected both %sACCESS_KEY_ID and %sSECRET_ACCESS_KEY but found one", prefix,
                       prefix);
    }
    if (strlen(id) >= sizeof held->access_key_id || strlen(secret) >= sizeof held->secret_access_key ||
        strlen(token) >= sizeof held->session_token) {
        return err_set(err, ERR_INVALID, "expected shorter %sACCESS_KEY_ID, %sSECRET_ACCESS_KEY or %sSESSION_TOKEN",
                       prefix, prefix, prefix);
    }
    (void)snprintf(held->access_key_id, sizeof held->access_key_id, "%s", id);
    (void)snprintf(held->secret_access_key, sizeof held->secret_access_key, "%s", secret);
    (void)snprintf(held->session_token, sizeof held->session_token, "%s", token);
    held->expires_at_us = CLOCK_NEVER;
    source->kind = SOURCE_FIXED;
    source->has = true;
    return OK;
}

static enum err_code set_file(struct s3_credential_source *source, const char *directory, const char *name,
                              const char *profile, struct error *err)
{
    int length = snprintf(source->path, sizeof source->path, "%s%s%s", directory, *directory == '\0' ? "" : "/", name);
    if (length < 0 || (size_t)length >= sizeof source->path) {
        return err_set(err, ERR_INVALID, "expected a file of credentials with a shorter path than \"%.200s\"", name);
    }
    (void)snprintf(source->profile, sizeof source->profile, "%s", *profile == '\0' ? "default" : profile);
    source->kind = SOURCE_FILE;
    return OK;
}

static enum err_code choose(struct s3_credential_source *source, const char *name, struct error *err)
{
    const struct store_options *options = &source->options;
    if (*name != '\0') {
        if (*options->credentials_dir == '\0') {
            return err_set(err, ERR_INVALID,
                           "expected GRANARY_STORE_CREDENTIALS_DIR for credentials=%.100s but found none", name);
        }
        return set_file(source, options->credentials_dir, name, "", err);
    }
    if (*options->access_key_id != '\0' || *options->secret_access_key != '\0') {
        return set_fixed(source, "GRANARY_STORE_", options->access_key_id, options->secret_access_key,
                         options->session_token, err);
    }
    if (*environment("AWS_ACCESS_KEY_ID") != '\0' || *environment("AWS_SECRET_ACCESS_KEY") != '\0') {
        return set_fixed(source, "AWS_", environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                         environment("AWS_SESSION_TOKEN"), err);
    }
    if (*environment("AWS_WEB_IDENTITY_TOKEN_FILE") != '\0') {
        source->kind = SOURCE_STS;
    } else if (*environment("AWS_SHARED_CREDENTIALS_FILE") != '\0') {
        return set_file(source, "", environment("AWS_SHARED_CREDENTIALS_FILE"), environment("AWS_PROFILE"), err);
    } else {
        source->kind = strcmp(environment("AWS_EC2_METADATA_DISABLED"), "true") == 0 ? SOURCE_NONE : SOURCE_IMDS;
    }
    return OK;
}

enum err_code store_s3_credentials_open(const char *name, const char *region, const struct store_options *options,
                                        struct s3_credential_source **out, struct error *err)
{
    AUTO(store_s3_credentials_close_auto) struct s3_credential_source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        return err_no_memory(err, sizeof *source);
    }
    (void)pthread_mutex_init(&source->lock, NULL);
    source->options = *options;
    (void)snprintf(source->region, sizeof source->region, "%s", region);
    TRY(choose(source, name, err));
    *out = TAKE(source);
    return OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum err_code read_file(struct s3_credential_source *source, struct s3_credentials *out, struct error *err)
{
    AUTO(buf_done) struct buf text = {0};
    struct stat there;
    FILE *file = fopen(source->path, "re");
    if (file == NULL) {
        return err_set(err, ERR_DENIED, "could not open the file of credentials \"%.300s\": %s", source->path,
                       strerrordesc_np(errno));
    }
    enum err_code code = buf_reserve(&text, MAX_FILE_BYTES, err);
    bool good = code == OK && fstat(fileno(file), &there) == 0;
    if (good) {
        text.length_bytes = fread(text.data, 1, MAX_FILE_BYTES, file);
        source->read_at = there.st_mtim;
    }
    (void)fclose(file);
    TRY(code);
    const char *content = buf_text(&text);
    if (content == NULL) {
        return err_no_memory(err, text.length_bytes);
    }
    if (store_s3_credentials_parse_file(content, source->profile, out, err) != OK) {
        return err_wrap(err, "\"%s\"", source->path);
    }
    return OK;
}

static bool file_changed(const struct s3_credential_source *source)
{
    struct stat there;
    return stat(source->path, &there) == 0 &&
           (there.st_mtim.tv_sec != source->read_at.tv_sec || there.st_mtim.tv_nsec != source->read_at.tv_nsec);
}

static enum err_code fetch(struct s3_credential_source *source, struct s3_credentials *out, struct error *err)
{
    switch (source->kind) {
    case SOURCE_FIXED: *out = source->held; return OK;
    case SOURCE_FILE: return read_file(source, out, err);
    case SOURCE_STS: return store_s3_credentials_ask_sts(source->region, &source->options, out, err);
    case SOURCE_IMDS: return store_s3_credentials_ask_imds(&source->options, out, err);
    case SOURCE_NONE: break;
    }
    return err_set(err, ERR_DENIED,
                   "expected credentials for the store but found none; hint: GRANARY_STORE_ACCESS_KEY_ID and "
                   "GRANARY_STORE_SECRET_ACCESS_KEY_FILE, or credentials= in the url");
}

/* Whether to ask for newer ones, though there are some. */
static bool is_due(struct s3_credential_source *source, bool refused)
{
    if (source->kind == SOURCE_FIXED) {
        return false;
    }
    if (refused) {
        return true;
    }
    if (clock_monotonic_us() < source->next_look_us) {
        return false;
    }
    if (source->kind == SOURCE_FILE) {
        source->next_look_us = clock_monotonic_us() + FILE_CHECK_US;
        return file_changed(source);
    }
    return source->held.expires_at_us != CLOCK_NEVER && clock_now_us() > source->held.expires_at_us - AHEAD_US;
}

static enum err_code get_locked(struct s3_credential_source *source, bool refused, struct s3_credentials *out,
                                struct error *err)
{
    if (!source->has || is_due(source, refused)) {
        struct s3_credentials fetched;
        enum err_code code = fetch(source, &fetched, err);
        if (code == OK) {
            source->held = fetched;
            source->has = true;
        } else if (!source->has || refused || clock_now_us() >= source->held.expires_at_us) {
            return code;
        } else {
            source->next_look_us = clock_monotonic_us() + TRY_AGAIN_US;
        }
        explicit_bzero(&fetched, sizeof fetched);
    }
    *out = source->held;
    return OK;
}

enum err_code store_s3_credentials_get(struct s3_credential_source *source, bool refused, struct s3_credentials *out,
                                       struct error *err)
{
    (void)pthread_mutex_lock(&source->lock);
    enum err_code code = get_locked(source, refused, out, err);
    (void)pthread_mutex_unlock(&source->lock);
    return code;
}
