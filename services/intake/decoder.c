#include "services/intake/decoder.h"

#include <string.h>

#include "services/intake/plan.h"

enum { MAX_JSON_DEPTH = 64, MAX_REJECT_TEXT_BYTES = 16 << 20, UNSUPPORTED_MEDIA_TYPE = 415 };

enum err_code decoder_read_flag(struct http_request *http, const char *name, bool *out, struct error *err)
{
    const char *text = http_query(http, name);
    if (text != NULL && strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
        return err_set(err, ERR_INVALID, "expected %s=0 or %s=1 but found \"%.64s\"", name, name, text);
    }
    *out = text != NULL && *text == '1';
    return OK;
}

/* One character, or "tab". */
static enum err_code read_character(struct http_request *http, const char *name, char *out, struct error *err)
{
    const char *text = http_query(http, name);
    if (text == NULL) {
        return OK;
    }
    if (strcmp(text, "tab") == 0) {
        text = "\t";
    }
    if (strlen(text) != 1) {
        return err_set(err, ERR_INVALID, "expected one character as %s but found \"%.64s\"", name, text);
    }
    *out = *text;
    return OK;
}

static enum err_code read_csv(struct http_request *http, struct ingest_csv *out, struct error *err)
{
    const char *header = http_query(http, "header");
    bool has_header = false;
    TRY(read_character(http, "delimiter", &out->delimiter, err));
    TRY(read_character(http, "quote", &out->quote, err));
    TRY(decoder_read_flag(http, "lenient", &out->is_lenient, err));
    TRY(decoder_read_flag(http, "header", &has_header, err));
    out->has_no_header = header != NULL && !has_header;
    out->null_text = http_query(http, "null");
    return OK;
}

enum err_code decoder_read_options(struct http_request *http, struct ingest_options *out, struct error *err)
{
    struct ingest_options options = {0};
    enum err_code code = intake_plan_format(http_header(http, "Content-Type"), &options.format, err);
    if (code == OK) {
        code = intake_plan_compression(http_header(http, "Content-Encoding"), &options.compression, err);
    }
    if (code != OK) {
        http_set_error_status(http, UNSUPPORTED_MEDIA_TYPE);
        return code;
    }
    TRY(read_csv(http, &options.csv, err));
    *out = options;
    return OK;
}

void decoder_limits(const struct intake_config *config, const struct intake_table *table, int64_t now_us,
                    struct ingest_limits *out)
{
    *out = (struct ingest_limits){
        .max_row_bytes = (size_t)config->max_row_bytes,
        .max_reject_text_bytes = MAX_REJECT_TEXT_BYTES,
        .max_decoded_bytes = SIZE_MAX,
        .max_depth = MAX_JSON_DEPTH,
        .unknown = table->settings.intake_unknown_ignored ? INGEST_UNKNOWN_IGNORE : INGEST_UNKNOWN_REJECT,
    };
    intake_plan_window(&table->settings, now_us, &out->min_timestamp_us, &out->max_timestamp_us);
}
