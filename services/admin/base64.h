/* Base64 (RFC 4648 section 4, padded). */
#ifndef GRANARY_ADMIN_BASE64_H
#define GRANARY_ADMIN_BASE64_H

#include "common/base/buf.h"

MUST_CHECK enum err_code base64_encode(const void *data, size_t length, struct buf *out, struct error *err);

#endif
