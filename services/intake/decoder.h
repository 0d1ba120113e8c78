/* How the body of a request is to be read: what its headers and its query say. */
#ifndef GRANARY_INTAKE_DECODER_H
#define GRANARY_INTAKE_DECODER_H

#include "common/http/http.h"
#include "common/ingest/ingest.h"
#include "services/intake/config.h"
#include "services/intake/tables.h"

/* Content-Type and Content-Encoding (answered with 415 where they are unknown); for CSV the parameters delimiter, quote, null,
 * header=0 and lenient=1 of the query. Texts are borrowed from the request. */
MUST_CHECK enum err_code decoder_read_options(struct http_request *http, struct ingest_options *out, struct error *err);
/* Limits for rows of that table at now_us; a body of any size. */
void decoder_limits(const struct intake_config *config, const struct intake_table *table, int64_t now_us,
                    struct ingest_limits *out);

/* A parameter of the query that is 0 or 1; false where it is absent. */
MUST_CHECK enum err_code decoder_read_flag(struct http_request *http, const char *name, bool *out, struct error *err);

#endif
