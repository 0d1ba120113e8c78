/* The page is part of the binary: taken in by the assembler, as it stands in openapi.json. */
#include "services/admin/openapi.h"

#include "services/admin/handlers.h"

__asm__(".section .rodata\n"
        ".global admin_openapi_begin\n"
        ".global admin_openapi_end\n"
        "admin_openapi_begin:\n"
        ".incbin \"services/admin/openapi.json\"\n"
        "admin_openapi_end:\n"
        ".byte 0\n"
        ".text\n");

enum err_code handle_openapi(void *context, struct http_request *request, struct error *err)
{
    (void)context;
    return http_reply(request, 200, "application/json", admin_openapi_begin,
                      (size_t)(admin_openapi_end - admin_openapi_begin), err);
}
