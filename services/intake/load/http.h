/* What requests for loads name, and what they are answered. */
#ifndef GRANARY_INTAKE_LOAD_HTTP_H
#define GRANARY_INTAKE_LOAD_HTTP_H

#include "common/http/http.h"
#include "services/intake/load/loads.h"

/* {table} of the path. */
MUST_CHECK enum err_code load_http_find_table(struct loads *loads, struct http_request *http,
                                              const struct intake_table **out, struct error *err);
/* {table} and {load} of the path. */
MUST_CHECK enum err_code load_http_find(struct loads *loads, struct http_request *http,
                                        const struct intake_table **out_table, struct load_handle **out,
                                        struct error *err);
/* Idempotency-Key, dry_run and max_rejects. A dry run has no key. */
MUST_CHECK enum err_code load_http_read_begin(struct http_request *http, const struct intake_table *table,
                                              struct loads_begin *out, struct error *err);

const char *load_http_word(bool yes); /* "true" */
/* Closes the object that was begun in `json`, and answers with it. */
MUST_CHECK enum err_code load_http_reply(struct http_request *http, unsigned status, struct buf *json,
                                         struct error *err);
/* The load's key was committed before, with so many rows. */
MUST_CHECK enum err_code load_http_reply_known(struct http_request *http, struct load *load,
                                               const struct load_before *before, struct error *err);
/* Commits and answers. ERR_CONFLICT with out_before->known: somebody else has committed the key meanwhile. */
MUST_CHECK enum err_code load_http_commit(struct http_request *http, struct load *load, const uint8_t sha256[32],
                                          struct load_before *out_before, struct error *err);

#endif
