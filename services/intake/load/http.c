#include "services/intake/load/http.h"

#include <string.h>

#include "common/base/text.h"
#include "common/digest/digest.h"
#include "services/intake/decoder.h"
#include "services/intake/plan.h"

/* --- what requests name --------------------------------------------------------------------------------------------- */

enum err_code load_http_find_table(struct loads *loads, struct http_request *http, const struct intake_table **out,
                                   struct error *err)
{
    enum err_code code = intake_tables_find(loads_options_of(loads)->tables, http_path(http, "table"), out, err);
    if (code == ERR_UNAVAILABLE || code == ERR_TIMEOUT) {
        http_set_header(http, "Retry-After", "1");
        return err_set(err, ERR_UNAVAILABLE, "the catalog cannot be asked for the table now; hint: try again");
    }
    return code;
}

enum err_code load_http_find(struct loads *loads, struct http_request *http, const struct intake_table **out_table,
                             struct load_handle **out, struct error *err)
{
    const char *text = http_path(http, "load");
    struct uuid load_id;
    AUTO(intake_table_release_auto) const struct intake_table *table = NULL;
    TRY(load_http_find_table(loads, http, &table, err));
    TRY(uuid_parse(text, strlen(text), &load_id, err));
    TRY(loads_find(loads, &load_id, &table->table_id, out, err));
    *out_table = TAKE(table);
    return OK;
}

enum err_code load_http_read_begin(struct http_request *http, const struct intake_table *table, struct loads_begin *out,
                                   struct error *err)
{
    const char *key = http_header(http, "Idempotency-Key");
    const char *most = http_query(http, "max_rejects");
    struct loads_begin begin = {.table = table, .load_id = uuid_v7(), .max_rejects = LOAD_ANY_REJECTS};
    begin.batch_id = begin.load_id;
    TRY(decoder_read_flag(http, "dry_run", &begin.dry_run, err));
    if (most != NULL) {
        TRY(text_parse_i64(most, 0, LOAD_ANY_REJECTS, "max_rejects", &begin.max_rejects, err));
    }
    if (key != NULL && !begin.dry_run) {
        TRY(intake_plan_key(key, err));
        begin.keyed = true;
        begin.batch_id = digest_uuid_v5(&table->table_id, key, strlen(key));
    }
    *out = begin;
    return OK;
}

/* --- answers -------------------------------------------------------------------------------------------------------- */

enum err_code load_http_reply(struct http_request *http, unsigned status, struct buf *json, struct error *err)
{
    TRY(buf_append_byte(json, '}', err));
    const char *text = buf_text(json);
    return text == NULL ? err_no_memory(err, json->length_bytes) : http_reply_json(http, status, text, err);
}

const char *load_http_word(bool yes)
{
    return yes ? "true" : "false";
}

static enum err_code reply_totals(struct http_request *http, unsigned status, struct load *load,
                                  const struct load_totals *totals, bool duplicate, struct error *err)
{
    AUTO(buf_done) struct buf json = {0};
    char id[UUID_TEXT_BYTES];
    const struct load_options *options = load_options_of(load);
    TRY(buf_printf(&json, err,
                   "{\"load_id\":\"%s\",\"rows\":%lld,\"rejected\":%lld,\"partitions\":%lld,\"bytes\":%lld,"
                   "\"committed\":%s,\"duplicate\":%s,\"dry_run\":%s",
                   uuid_format(&options->load_id, id), (long long)totals->rows, (long long)totals->rejects,
                   (long long)totals->partitions, (long long)totals->data_bytes, load_http_word(!options->dry_run),
                   load_http_word(duplicate), load_http_word(options->dry_run)));
    TRY(load_format_rejects(load, &json, err));
    if (options->dry_run) {
        TRY(load_format_buckets(load, &json, err));
    }
    return load_http_reply(http, status, &json, err);
}

enum err_code load_http_reply_known(struct http_request *http, struct load *load, const struct load_before *before,
                                    struct error *err)
{
    const struct load_totals totals = {.rows = before->rows, .rejects = before->rejects};
    return reply_totals(http, 200, load, &totals, true, err);
}

enum err_code load_http_commit(struct http_request *http, struct load *load, const uint8_t sha256[DIGEST_SHA256_BYTES],
                               struct load_before *out_before, struct error *err)
{
    struct load_view view;
    TRY(load_commit(load, sha256, out_before, err));
    load_look_at(load, &view);
    return reply_totals(http, 200, load, &view.totals, false, err);
}
