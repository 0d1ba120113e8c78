/* Text of any origin as JSON text. For logs and error answers, which are written without building a document. */
#ifndef GRANARY_BASE_QUOTE_H
#define GRANARY_BASE_QUOTE_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* Appends `length` bytes as a JSON string with its quotes (RFC 8259 section 7). Control characters are escaped; each
 * byte that is not part of valid UTF-8 becomes \ufffd. */
MUST_CHECK enum err_code quote_json(const char *text, size_t length, struct buf *out, struct error *err);

#endif
