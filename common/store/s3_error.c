/* Errors of the store in the words of whoever runs it: what was tried on which object, and what the store said to it. */
#include <string.h>

#include "common/store/s3.h"

static const char *hint(const struct s3_request *request, const struct s3_answer *answer)
{
    if (strcmp(answer->code, "RequestTimeTooSkewed") == 0) {
        return "; hint: the clock of this machine or of the store is wrong";
    }
    if (strcmp(answer->code, "SignatureDoesNotMatch") == 0) {
        return "; hint: the secret does not belong to the access key, or a proxy changes requests";
    }
    if (strcmp(answer->code, "InvalidAccessKeyId") == 0 || strstr(answer->code, "Token") != NULL) {
        return "; hint: the credentials are not, or no longer, known there";
    }
    if (strcmp(answer->code, "NoSuchBucket") == 0) {
        return "; hint: make the bucket, or mend the store's url";
    }
    if (answer->status == 301 || answer->status == 307) {
        return "; hint: say region= and endpoint= in the store's url";
    }
    if (answer->status == 403 && strcmp(request->method, "HEAD") == 0) {
        return "; hint: without s3:ListBucket an object that is not there looks like one that may not be read";
    }
    return "";
}

enum err_code store_s3_error_set(struct s3_store *store, const struct s3_request *request,
                                 const struct s3_answer *answer, enum err_code code, struct error *err)
{
    return err_set(err, code, "could not %s \"s3://%s/%.300s\": %s (%ld)%s%.150s%s%s%s", request->verb,
                   store->url.bucket, request->key == NULL ? store->url.prefix : request->key,
                   answer->code[0] == '\0' ? "no reason given" : answer->code, answer->status,
                   answer->message[0] == '\0' ? "" : ": ", answer->message,
                   answer->request_id[0] == '\0' ? "" : ", request ", answer->request_id, hint(request, answer));
}
