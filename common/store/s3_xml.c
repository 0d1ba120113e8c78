#include "common/store/s3_xml.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_PATH_BYTES = 1024, MAX_TEXT_BYTES = 64 << 10 };

struct level {
    size_t path_bytes; /* of the path before this element was entered */
    size_t text_bytes; /* of the text, where this element's begins */
};

struct parse {
    XML_Parser parser;
    struct buf path;
    struct buf text; /* of all open elements, one behind the other */
    struct level levels[MAX_DEPTH];
    size_t depth;
    store_s3_xml_element *on_element;
    void *context;
    enum err_code code; /* why it was stopped */
    struct error err;
};

static void parse_done(struct parse *parse)
{
    XML_ParserFree(parse->parser);
    buf_done(&parse->path);
    buf_done(&parse->text);
}

static void check(struct parse *parse, enum err_code code)
{
    if (code != OK && parse->code == OK) {
        parse->code = code;
        (void)XML_StopParser(parse->parser, XML_FALSE);
    }
}

static void refuse(struct parse *parse, const char *what)
{
    check(parse, err_set(&parse->err, ERR_CORRUPT, "expected a plain XML document but found %s", what));
}

static enum err_code enter(struct parse *parse, const char *name)
{
    parse->levels[parse->depth++] = (struct level){parse->path.length_bytes, parse->text.length_bytes};
    if (parse->path.length_bytes != 0) {
        TRY(buf_append_byte(&parse->path, '/', &parse->err));
    }
    return buf_append_text(&parse->path, name, &parse->err);
}

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
    struct parse *parse = context;
    (void)attributes;
    if (parse->code != OK) {
        return;
    }
    const char *colon = strrchr(name, ':');
    if (parse->depth == MAX_DEPTH || parse->path.length_bytes + strlen(name) > MAX_PATH_BYTES) {
        refuse(parse, "elements nested too deep");
        return;
    }
    check(parse, enter(parse, colon == NULL ? name : colon + 1));
}

static enum err_code leave(struct parse *parse)
{
    const struct level *level = &parse->levels[--parse->depth];
    const char *path = buf_text(&parse->path);
    const char *text = buf_text(&parse->text);
    if (path == NULL || text == NULL) {
        return err_no_memory(&parse->err, 1);
    }
    TRY(parse->on_element(parse->context, path, text + level->text_bytes, &parse->err));
    parse->path.length_bytes = level->path_bytes;
    parse->text.length_bytes = level->text_bytes;
    return OK;
}

static void XMLCALL on_end(void *context, const XML_Char *name)
{
    struct parse *parse = context;
    (void)name;
    if (parse->code == OK) {
        check(parse, leave(parse));
    }
}

static void XMLCALL on_text(void *context, const XML_Char *data, int length)
{
    struct parse *parse = context;
    if (parse->code != OK || parse->depth == 0) {
        return;
    }
    if (parse->text.length_bytes + (size_t)length > MAX_TEXT_BYTES) {
        refuse(parse, "an element with more than 64 KiB of text");
        return;
    }
    check(parse, buf_append(&parse->text, data, (size_t)length, &parse->err));
}

static void XMLCALL on_doctype(void *context, const XML_Char *name, const XML_Char *system_id,
                               const XML_Char *public_id, int has_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    refuse(context, "a DTD");
}

enum err_code store_s3_xml_parse(const char *text, size_t length, store_s3_xml_element *on_element, void *context,
                                 struct error *err)
{
    AUTO(parse_done) struct parse parse = {.on_element = on_element, .context = context};
    parse.parser = XML_ParserCreate(NULL);
    if (parse.parser == NULL) {
        return err_no_memory(err, length);
    }
    if (length > INT_MAX) {
        return err_set(err, ERR_CORRUPT, "expected a plain XML document but found %zu bytes", length);
    }
    XML_SetUserData(parse.parser, &parse);
    XML_SetElementHandler(parse.parser, on_start, on_end);
    XML_SetCharacterDataHandler(parse.parser, on_text);
    XML_SetStartDoctypeDeclHandler(parse.parser, on_doctype);
    /* Servers that take long send blanks, so that nobody hangs up: before the declaration they are no XML. */
    while (length > 0 && strchr(" \t\r\n", *text) != NULL && *text != '\0') {
        text++;
        length--;
    }
    enum XML_Status status = XML_Parse(parse.parser, text, (int)length, XML_TRUE);
    if (parse.code != OK) {
        return err_set(err, parse.code, "%s", parse.err.text);
    }
    if (status != XML_STATUS_OK) {
        return err_set(err, ERR_CORRUPT, "expected an XML document but found a fault in line %lu, column %lu: %s",
                       XML_GetCurrentLineNumber(parse.parser), XML_GetCurrentColumnNumber(parse.parser),
                       XML_ErrorString(XML_GetErrorCode(parse.parser)));
    }
    return OK;
}

enum err_code store_s3_xml_escape(const char *text, struct buf *out, struct error *err)
{
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
            return err_set(err, ERR_INVALID, "expected text that XML can hold but found the byte 0x%02x in \"%.200s\"",
                           c, text);
        }
        if (c < 0x20 || strchr("<>&\"'", c) != NULL) {
            TRY(buf_printf(out, err, "&#%u;", c));
        } else {
            TRY(buf_append_byte(out, c, err));
        }
    }
    return OK;
}
