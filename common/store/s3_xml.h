/* The XML of S3's answers, by Expat, whose one home this is. Flat: each element is told when it ends, by the path of names
 * that leads to it. DTDs, and with them entities of one's own, are refused. */
#ifndef GRANARY_STORE_S3_XML_H
#define GRANARY_STORE_S3_XML_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* path: "ListBucketResult/Contents/Key", without name spaces; text: what stands directly in the element, "" for one that
 * only holds others. Both live until the function returns. An error ends the parse and is its error. */
typedef enum err_code store_s3_xml_element(void *context, const char *path, const char *text, struct error *err);

/* ERR_CORRUPT when it is not one well-formed document, or refused (a DTD, nested deeper than 16, an element's text above
 * 64 KiB). Elements may have been told by then. */
MUST_CHECK enum err_code store_s3_xml_parse(const char *text, size_t length, store_s3_xml_element *on_element,
                                            void *context, struct error *err);

/* Appends text with what XML would take for markup, or change, escaped. ERR_INVALID: it has a character that no XML 1.0
 * document can hold. */
MUST_CHECK enum err_code store_s3_xml_escape(const char *text, struct buf *out, struct error *err);

#endif
