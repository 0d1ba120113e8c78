#include "services/admin/fsck_lines.h"

#include <string.h>

#include "common/base/clock.h"
#include "services/admin/render.h"

static enum err_code put_line(const struct json *line, struct buf *out, struct error *err)
{
    TRY(json_dump(line, JSON_STYLE_COMPACT, out, err));
    return buf_append_byte(out, '\n', err);
}

/* A line with one member, an empty object, which *out_inner borrows. */
static enum err_code begin_line(const char *kind, struct json **out_line, struct json **out_inner, struct error *err)
{
    *out_line = json_new_object();
    return *out_line == NULL ? err_no_memory(err, 64) : render_object(*out_line, kind, out_inner, err);
}

static enum err_code set_path(struct json *object, const char *member, const char *path, struct error *err)
{
    return render_any_text(object, member, path, strlen(path), err);
}

enum err_code fsck_line_progress(const char *storage, const struct fsck_totals *totals, const char *position,
                                 struct buf *out, struct error *err)
{
    AUTO(json_free_auto) struct json *line = NULL;
    struct json *progress;
    TRY(begin_line("progress", &line, &progress, err));
    TRY(json_set_string(progress, "storage", storage, err));
    TRY(json_set_i64(progress, "objects", totals->objects, err));
    TRY(json_set_i64(progress, "rows", totals->rows, err));
    TRY(json_set_i64(progress, "findings", fsck_totals_findings(totals), err));
    TRY(set_path(progress, "position", position, err));
    return put_line(line, out, err);
}

static enum err_code render_row_of(struct json *object, const struct fsck_finding *finding, struct error *err)
{
    TRY(json_set_bool(object, "active", finding->active, err));
    TRY(render_time(object, "created_at", finding->created_at_us, err));
    return render_time_or_null(object, "deactivated_at", finding->deactivated_at_us, CLOCK_NEVER, err);
}

enum err_code fsck_line_finding(const char *storage, const struct fsck_finding *finding, struct buf *out,
                                struct error *err)
{
    AUTO(json_free_auto) struct json *line = NULL;
    struct json *object;
    TRY(begin_line("finding", &line, &object, err));
    TRY(json_set_string(object, "class", fsck_class_name(finding->class), err));
    TRY(json_set_string(object, "storage", storage, err));
    TRY(set_path(object, "path", finding->path, err));
    TRY(json_set_i64(object, "bytes", finding->bytes, err));
    TRY(render_time(object, "at", finding->at_us, err));
    TRY(render_uuid(object, "table_id", &finding->table_id, err));
    TRY(render_uuid(object, "partition_id", &finding->partition_id, err));
    if (finding->class == FSCK_ORPHAN) {
        TRY(json_set_string(object, "owner", fsck_owner_name(finding->owner), err));
        TRY(json_set_bool(object, "held", finding->held, err));
    }
    if (finding->class == FSCK_SIZE) {
        TRY(json_set_i64(object, "expected_bytes", finding->expected_bytes, err));
    }
    if (finding->class == FSCK_SIZE || finding->class == FSCK_MISSING) {
        TRY(render_row_of(object, finding, err));
    }
    return put_line(line, out, err);
}

enum err_code fsck_line_gone(const struct catalog_gone *gone, struct buf *out, struct error *err)
{
    AUTO(json_free_auto) struct json *line = NULL;
    struct json *object;
    TRY(begin_line("finding", &line, &object, err));
    TRY(json_set_string(object, "class", "gone", err));
    TRY(json_set_string(object, "path", gone->path, err));
    TRY(json_set_i64(object, "bytes", gone->data_bytes, err));
    TRY(render_time(object, "at", gone->deleted_at_us, err));
    TRY(render_uuid(object, "table_id", &gone->table_id, err));
    TRY(render_uuid(object, "partition_id", &gone->partition_id, err));
    TRY(json_set_i64(object, "rows", gone->row_count, err));
    TRY(json_set_string(object, "reason", gone->reason, err));
    TRY(render_time(object, "deactivated_at", gone->deactivated_at_us, err));
    return put_line(line, out, err);
}

/* --- the summary --------------------------------------------------------------------------------------------------- */

static enum err_code render_tally(struct json *array, const char *member, const char *name,
                                  const struct fsck_tally *tally, struct error *err)
{
    struct json *item;
    if (tally->count == 0) {
        return OK;
    }
    TRY(render_item(array, &item, err));
    TRY(json_set_string(item, member, name, err));
    TRY(json_set_i64(item, "count", tally->count, err));
    TRY(json_set_i64(item, "bytes", tally->bytes, err));
    return render_time_or_null(item, "oldest", tally->oldest_us, CLOCK_NEVER, err);
}

static enum err_code render_tallies(struct json *object, const struct fsck_totals *totals, struct error *err)
{
    struct json *classes;
    struct json *owners;
    TRY(render_array(object, "classes", &classes, err));
    for (int i = 0; i < FSCK_CLASS_COUNT; i++) {
        TRY(render_tally(classes, "class", fsck_class_name((enum fsck_class)i), &totals->classes[i], err));
    }
    TRY(render_array(object, "owners", &owners, err));
    for (int i = 0; i < FSCK_OWNER_COUNT; i++) {
        TRY(render_tally(owners, "owner", fsck_owner_name((enum fsck_owner)i), &totals->owners[i], err));
    }
    return OK;
}

static enum err_code render_against(struct json *object, const struct fsck_summary *summary, struct error *err)
{
    struct json *classes;
    TRY(render_array(object, "classes", &classes, err));
    TRY(render_tally(classes, "class", "gone", &summary->gone, err));
    return render_time_or_null(object, "receipts_since", summary->receipts_since_us, CLOCK_NEVER, err);
}

enum err_code fsck_line_summary(const struct fsck_summary *summary, struct buf *out, struct error *err)
{
    AUTO(json_free_auto) struct json *line = NULL;
    struct json *object;
    const struct fsck_totals *totals = summary->totals;
    TRY(begin_line("summary", &line, &object, err));
    TRY(json_set_i64(object, "objects", totals->objects, err));
    TRY(json_set_i64(object, "rows", totals->rows, err));
    TRY(json_set_i64(object, "lagging", totals->lagging, err));
    TRY(json_set_i64(object, "held", totals->held, err));
    TRY(json_set_i64(object, "findings", summary->against ? summary->gone.count : fsck_totals_findings(totals), err));
    TRY(summary->against ? render_against(object, summary, err) : render_tallies(object, totals, err));
    if (summary->plan_id != NULL) {
        TRY(render_uuid(object, "plan_id", summary->plan_id, err));
        TRY(json_set_i64(object, "plan_objects", summary->plan_objects, err));
        TRY(json_set_bool(object, "plan_cut", summary->plan_cut, err));
    }
    return put_line(line, out, err);
}

enum err_code fsck_line_error(const struct error *fault, struct buf *out, struct error *err)
{
    AUTO(json_free_auto) struct json *line = NULL;
    struct json *object;
    TRY(begin_line("error", &line, &object, err));
    TRY(json_set_string(object, "code", err_code_name(fault->code), err));
    TRY(set_path(object, "message", fault->text, err));
    return put_line(line, out, err);
}
