#include "common/base/text.h"
#include "common/ingest/internal.h"

static bool is_plain(char c)
{
    return c == '_' || text_is_identifier(&c, 1) || (c >= '0' && c <= '9');
}

char *ingest_name_identifier(const char *name, size_t length, char text[INGEST_NAME_BYTES])
{
    static const char nameless[] = "column";
    size_t written = 0;
    bool has_gap = false;
    for (size_t i = 0; i < length && written < INGEST_NAME_BYTES - 1; i++) {
        if (!is_plain(name[i])) {
            has_gap = written > 0;
            continue;
        }
        bool needs_mark = has_gap || (written == 0 && name[i] >= '0' && name[i] <= '9');
        has_gap = false;
        if (needs_mark) {
            text[written++] = '_';
        }
        if (written < INGEST_NAME_BYTES - 1) {
            text[written++] = name[i];
        }
    }
    text[written] = '\0';
    return written > 0 ? text : memcpy(text, nameless, sizeof nameless);
}

const char *ingest_name_hint(const char *name, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++) {
        if (name[i] == '\r' && name[i + 1] != '\n') {
            return "; hint: lines end in LF or CR LF, and not in CR alone";
        }
    }
    return "";
}

int ingest_name_find(const struct schema *schema, const char *name, size_t length)
{
    char identifier[INGEST_NAME_BYTES];
    int column = schema_find(schema, name, length);
    if (column >= 0 || text_is_identifier(name, length)) {
        return column;
    }
    (void)ingest_name_identifier(name, length, identifier);
    return schema_find(schema, identifier, strlen(identifier));
}
