#include "services/intake/shown.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/quote.h"

struct shown_reject {
    uint64_t row;
    char *column, *reason; /* owned; column NULL: the row as a whole */
};

void shown_done(struct shown *shown)
{
    for (size_t i = 0; i < shown->count; i++) {
        free(shown->rejects[i].column);
        free(shown->rejects[i].reason);
    }
    free(shown->rejects);
    *shown = (struct shown){.most = shown->most};
}

enum err_code shown_add(struct shown *shown, const struct ingest_reject *rejects, size_t count, struct error *err)
{
    if (shown->rejects == NULL && count > 0) {
        shown->rejects = calloc(shown->most, sizeof *shown->rejects);
        if (shown->rejects == NULL) {
            return err_no_memory(err, shown->most * sizeof *shown->rejects);
        }
    }
    for (size_t i = 0; i < count && shown->count < shown->most; i++) {
        struct shown_reject *reject = &shown->rejects[shown->count++];
        reject->row = rejects[i].row;
        reject->column = rejects[i].column != NULL ? strdup(rejects[i].column) : NULL;
        reject->reason = strdup(rejects[i].reason);
        if (reject->reason == NULL || (rejects[i].column != NULL && reject->column == NULL)) {
            return err_no_memory(err, strlen(rejects[i].reason));
        }
    }
    return OK;
}

static enum err_code format_reject(const struct shown_reject *reject, struct buf *out, struct error *err)
{
    TRY(buf_printf(out, err, "{\"row\":%llu,\"column\":", (unsigned long long)reject->row));
    TRY(reject->column == NULL ? buf_append_text(out, "null", err)
                               : quote_json(reject->column, strlen(reject->column), out, err));
    TRY(buf_append_text(out, ",\"reason\":", err));
    TRY(quote_json(reject->reason, strlen(reject->reason), out, err));
    return buf_append_byte(out, '}', err);
}

enum err_code shown_format(const struct shown *shown, struct buf *out, struct error *err)
{
    TRY(buf_append_text(out, ",\"rejects\":[", err));
    for (size_t i = 0; i < shown->count; i++) {
        TRY(i > 0 ? buf_append_byte(out, ',', err) : OK);
        TRY(format_reject(&shown->rejects[i], out, err));
    }
    return buf_append_byte(out, ']', err);
}
