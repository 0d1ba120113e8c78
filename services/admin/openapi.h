/* openapi.json, as the binary carries it: [begin, end). */
#ifndef GRANARY_ADMIN_OPENAPI_H
#define GRANARY_ADMIN_OPENAPI_H

extern const char admin_openapi_begin[];
extern const char admin_openapi_end[];

#endif
