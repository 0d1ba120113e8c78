/*   what came back                                          verdict      code when it is given up
 *   2xx, 304, 404, 412 as such, 416                          done         -
 *   no answer, torn, 500, 502, 503, 504, 429, 408,           retry        unavailable, timeout where it was one
 *     SlowDown, RequestTimeout, InternalError, ... at any status
 *   400, 401, 403 ExpiredToken and its kin                   refresh once denied
 *   403 RequestTimeTooSkewed                                 skew once    denied
 *   301, 307, 400 AuthorizationHeaderMalformed               redirect 3x  invalid
 *   403, 401                                                 fail         denied
 *   501, 405, other 4xx                                      fail         invalid
 *   409, where its code says that others were at work        retry        conflict (two conditional writes met)
 *   409 otherwise                                            fail         conflict
 * A 404 and a 412 are answers: what they mean only the caller knows. A certificate that is not trusted, a url that is none
 * and no memory do not heal. */
#include "common/store/s3_retry.h"

#include <string.h>

#include "common/base/clock.h"

#define FIRST_BOUND_US INT64_C(100000)
#define MAX_BOUND_US   (5 * CLOCK_SECOND_US)
enum { MAX_REDIRECTS = 3 };

static bool is_one_of(const char *code, const char *const *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(code, codes[i]) == 0) {
            return true;
        }
    }
    return false;
}
#define IS_ONE_OF(code, list) is_one_of((code), (list), sizeof(list) / sizeof *(list))

bool store_s3_retry_is_throttled(long status, const char *code)
{
    static const char *const codes[] = {"SlowDown",           "SlowDownRead",        "SlowDownWrite",
                                        "ServiceUnavailable", "TooManyRequests",     "RequestLimitExceeded",
                                        "Throttling",         "ThrottlingException", "BandwidthLimitExceeded"};
    return status == 503 || status == 429 || IS_ONE_OF(code, codes);
}

/* Of a 409: somebody else wrote there at the same time. "" is the answer to a HEAD, which names no code. */
static bool is_overtaken(const char *code)
{
    static const char *const codes[] = {"", "ConditionalRequestConflict", "OperationAborted", "ConcurrentModification"};
    return IS_ONE_OF(code, codes);
}

static bool is_transient(long status, const char *code)
{
    static const char *const codes[] = {"InternalError", "RequestTimeout", "OperationAborted",
                                        "BadDigest",     "IncompleteBody", "XAmzContentSHA256Mismatch",
                                        "ServerBusy"};
    return status == 408 || (status == 409 && is_overtaken(code)) || status == 500 || status == 502 || status == 504 ||
           store_s3_retry_is_throttled(status, code) || IS_ONE_OF(code, codes);
}

static bool is_stale_token(const char *code)
{
    static const char *const codes[] = {"ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired",
                                        "RequestExpired"};
    return IS_ONE_OF(code, codes);
}

static struct s3_decision fail(enum err_code code)
{
    return (struct s3_decision){.verdict = S3_FAIL, .code = code};
}

static struct s3_decision again(const struct s3_outcome *outcome, uint32_t tries, uint64_t random, enum err_code code)
{
    int64_t bound_us = FIRST_BOUND_US;
    for (uint32_t i = 1; i < tries && bound_us < MAX_BOUND_US; i++) {
        bound_us *= 2;
    }
    bound_us = bound_us < MAX_BOUND_US ? bound_us : MAX_BOUND_US;
    int64_t pause_us = (int64_t)(random % (uint64_t)(bound_us + 1));
    if (pause_us < outcome->asked_pause_us) {
        pause_us = outcome->asked_pause_us;
    }
    if (outcome->spent_us + pause_us >= outcome->retry_for_us) {
        return fail(code);
    }
    return (struct s3_decision){.verdict = S3_RETRY, .code = code, .pause_us = pause_us};
}

static enum err_code code_of(long status)
{
    switch (status) {
    case 401:
    case 403: return ERR_DENIED;
    case 404: return ERR_NOT_FOUND;
    case 409:
    case 412: return ERR_CONFLICT;
    default: return status >= 500 && status != 501 ? ERR_UNAVAILABLE : ERR_INVALID;
    }
}

static struct s3_decision decide_refusal(const struct s3_outcome *outcome, uint32_t tries, uint64_t random)
{
    if (is_stale_token(outcome->code)) {
        return outcome->refreshed ? fail(ERR_DENIED) : (struct s3_decision){.verdict = S3_REFRESH};
    }
    if (strcmp(outcome->code, "RequestTimeTooSkewed") == 0) {
        return outcome->skewed ? fail(ERR_DENIED) : (struct s3_decision){.verdict = S3_SKEW};
    }
    if (outcome->status == 301 || outcome->status == 307 ||
        (outcome->status == 400 && strcmp(outcome->code, "AuthorizationHeaderMalformed") == 0)) {
        return outcome->redirects >= MAX_REDIRECTS ? fail(ERR_INVALID) : (struct s3_decision){.verdict = S3_REDIRECT};
    }
    if (is_transient(outcome->status, outcome->code)) {
        return again(outcome, tries, random, outcome->status == 409 ? ERR_CONFLICT : ERR_UNAVAILABLE);
    }
    return fail(code_of(outcome->status));
}

struct s3_decision store_s3_retry_decide(const struct s3_outcome *outcome, uint32_t tries, uint64_t random)
{
    if (outcome->transport != OK) {
        bool can_heal = outcome->transport == ERR_UNAVAILABLE || outcome->transport == ERR_TIMEOUT;
        return can_heal ? again(outcome, tries, random, outcome->transport) : fail(outcome->transport);
    }
    bool good = (outcome->status >= 200 && outcome->status < 300) || outcome->status == 404 || outcome->status == 412 ||
                outcome->status == 416;
    if (good && outcome->torn) {
        return again(outcome, tries, random, ERR_UNAVAILABLE);
    }
    return good ? (struct s3_decision){.verdict = S3_DONE} : decide_refusal(outcome, tries, random);
}
