/* A merge join. Each side holds one page; the smaller head goes first. What has no partner is put on a list of suspects,
 * which is settled with one look-up when it is long enough or the step is over: the position moves on only then, so that a
 * run that is resumed there has lost none of them. */
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/fsck/fsck.h"
#include "common/fsck/key.h"

enum { DEFAULT_PAGE = 1000, MAX_SUSPECTS = 500 };
/* An id this young belongs to somebody who may still be at work, or was when the row was given up. */
#define RECENT_US (7 * CLOCK_DAY_US)

struct side {
    struct arena *arena; /* of the page */
    size_t count, next;
    bool ended;
    struct buf last; /* the last key that it gave, with its NUL; empty before the first */
};

struct suspect {
    struct fsck_finding finding;
    bool is_row; /* a row without an object; otherwise an object without a row */
};

struct fsck {
    struct fsck_options options;
    struct side listing, catalog;
    struct store_object *objects;
    struct catalog_object *rows;
    struct fsck_totals totals;
    struct arena *arena; /* of the step */
    struct suspect suspects[MAX_SUSPECTS];
    size_t suspect_count;
    struct buf findings; /* struct fsck_finding[] */
    struct buf position; /* text with its NUL */
    struct buf passed;   /* the last key that both sides have passed; likewise */
};

/* --- keys that were passed ------------------------------------------------------------------------------------------ */

static enum err_code check_order(struct side *side, const char *what, const char *key, struct error *err)
{
    if (side->last.length_bytes != 0 && strcmp(key, buf_held_text(&side->last)) <= 0) {
        return err_set(err, ERR_CORRUPT,
                       "expected %s to go on behind \"%.300s\" but found \"%.300s\"; hint: nothing can be said about "
                       "what is missing in it",
                       what, buf_held_text(&side->last), key);
    }
    return buf_set_text(&side->last, key, err);
}

/* --- pages --------------------------------------------------------------------------------------------------------- */

static enum err_code fill_listing(struct fsck *fsck, struct error *err)
{
    struct side *side = &fsck->listing;
    bool more = false;
    if (side->next < side->count || side->ended) {
        return OK;
    }
    arena_reset(side->arena);
    side->next = side->count = 0;
    TRY(fsck->options.world.list(fsck->options.world.context, buf_held_text(&side->last), fsck->options.page,
                                 side->arena, &fsck->objects, &side->count, &more, err));
    if (more && side->count == 0) {
        return err_set(err, ERR_CORRUPT,
                       "expected keys behind \"%.300s\" but found an empty page that says more follow",
                       buf_held_text(&side->last));
    }
    side->ended = !more;
    return OK;
}

static enum err_code fill_catalog(struct fsck *fsck, struct error *err)
{
    struct side *side = &fsck->catalog;
    if (side->next < side->count || side->ended) {
        return OK;
    }
    arena_reset(side->arena);
    side->next = side->count = 0;
    TRY(fsck->options.world.rows(fsck->options.world.context, buf_held_text(&side->last), fsck->options.page,
                                 side->arena, &fsck->rows, &side->count, err));
    side->ended = side->count < fsck->options.page;
    return OK;
}

static const struct store_object *head_of_listing(const struct fsck *fsck)
{
    return fsck->listing.next < fsck->listing.count ? &fsck->objects[fsck->listing.next] : NULL;
}

static const struct catalog_object *head_of_catalog(const struct fsck *fsck)
{
    return fsck->catalog.next < fsck->catalog.count ? &fsck->rows[fsck->catalog.next] : NULL;
}

/* --- findings ------------------------------------------------------------------------------------------------------ */

static void tally(struct fsck_tally *tally, const struct fsck_finding *finding)
{
    tally->count++;
    tally->bytes += finding->bytes;
    tally->oldest_us = finding->at_us < tally->oldest_us ? finding->at_us : tally->oldest_us;
}

static enum err_code report(struct fsck *fsck, const struct fsck_finding *finding, struct error *err)
{
    struct fsck_totals *totals = &fsck->totals;
    tally(&totals->classes[finding->class], finding);
    if (finding->class == FSCK_ORPHAN) {
        tally(&totals->owners[finding->owner], finding);
        totals->held += finding->held;
    }
    totals->missing_active += finding->class == FSCK_MISSING && finding->active;
    return finding->class == FSCK_OK ? OK : buf_append(&fsck->findings, finding, sizeof *finding, err);
}

static enum err_code suspect(struct fsck *fsck, const struct fsck_finding *finding, bool is_row, struct error *err)
{
    struct suspect *suspect = &fsck->suspects[fsck->suspect_count];
    *suspect = (struct suspect){.finding = *finding, .is_row = is_row};
    suspect->finding.path = arena_strdup(fsck->arena, finding->path); /* the page may be gone before it is settled */
    if (suspect->finding.path == NULL) {
        return err_no_memory(err, strlen(finding->path));
    }
    fsck->suspect_count++;
    return OK;
}

/* --- one key ------------------------------------------------------------------------------------------------------- */

static enum err_code take_object(struct fsck *fsck, const struct store_object *object, struct error *err)
{
    static const enum fsck_class classes[FSCK_KEY_COUNT] = {
        [FSCK_KEY_PARTITION] = FSCK_ORPHAN, [FSCK_KEY_PROBE] = FSCK_ORPHAN,    [FSCK_KEY_MARK] = FSCK_MARK,
        [FSCK_KEY_FOLDER] = FSCK_FOLDER,    [FSCK_KEY_FOREIGN] = FSCK_FOREIGN,
    };
    const struct fsck_key key = fsck_key_of(object->key);
    struct fsck_finding finding = {
        .class = classes[key.kind],
        .path = object->key,
        .bytes = (int64_t)object->size_bytes,
        .at_us = object->modified_at_us,
        .owner = key.kind == FSCK_KEY_PROBE ? FSCK_OWNER_PROBE : FSCK_OWNER_NONE,
        .table_id = key.table_id,
        .partition_id = key.partition_id,
    };
    if (finding.class == FSCK_ORPHAN) {
        return suspect(fsck, &finding, false, err);
    }
    finding.path = arena_strdup(fsck->arena, object->key);
    return finding.path == NULL ? err_no_memory(err, strlen(object->key)) : report(fsck, &finding, err);
}

static struct fsck_finding finding_of_row(const struct catalog_object *row)
{
    return (struct fsck_finding){
        .path = row->path,
        .bytes = row->data_bytes,
        .at_us = row->created_at_us,
        .table_id = row->table_id,
        .partition_id = row->partition_id,
        .active = row->active,
        .created_at_us = row->created_at_us,
        .deactivated_at_us = row->deactivated_at_us,
    };
}

static enum err_code take_row(struct fsck *fsck, const struct catalog_object *row, struct error *err)
{
    struct fsck_finding finding = finding_of_row(row);
    finding.class = FSCK_MISSING;
    return row->must_exist ? suspect(fsck, &finding, true, err) : OK;
}

static enum err_code take_both(struct fsck *fsck, const struct catalog_object *row, int64_t bytes, int64_t modified_us,
                               struct error *err)
{
    struct fsck_finding finding = finding_of_row(row);
    bool as_said = !row->must_exist || bytes == row->data_bytes;
    finding.class = as_said ? FSCK_OK : FSCK_SIZE;
    finding.bytes = bytes;
    finding.expected_bytes = row->data_bytes;
    finding.at_us = modified_us;
    if (!as_said) {
        finding.path = arena_strdup(fsck->arena, row->path);
    }
    return finding.path == NULL ? err_no_memory(err, strlen(row->path)) : report(fsck, &finding, err);
}

/* The smaller of the two heads, or both where they are equal. *out_key is borrowed from the page. */
static enum err_code take_next(struct fsck *fsck, const char **out_key, struct error *err)
{
    const struct store_object *object = head_of_listing(fsck);
    const struct catalog_object *row = head_of_catalog(fsck);
    int order = object == NULL ? 1 : row == NULL ? -1 : strcmp(object->key, row->path);
    *out_key = order <= 0 ? object->key : row->path;
    if (order <= 0) {
        TRY(check_order(&fsck->listing, "the listing", object->key, err));
        fsck->listing.next++;
        fsck->totals.objects++;
    }
    if (order >= 0) {
        TRY(check_order(&fsck->catalog, "the catalog", row->path, err));
        fsck->catalog.next++;
        fsck->totals.rows++;
    }
    if (order == 0) {
        return take_both(fsck, row, (int64_t)object->size_bytes, object->modified_at_us, err);
    }
    return order < 0 ? take_object(fsck, object, err) : take_row(fsck, row, err);
}

/* --- suspects ------------------------------------------------------------------------------------------------------ */

static enum fsck_owner guess_owner(const struct fsck *fsck, const struct fsck_finding *finding,
                                   const struct catalog_object_answer *answer)
{
    int64_t made_us = fsck_key_made_at_us(&finding->partition_id);
    if (finding->owner == FSCK_OWNER_PROBE) {
        return FSCK_OWNER_PROBE;
    }
    if (answer->receipt_at_us != CLOCK_NEVER) {
        return finding->at_us >= answer->receipt_at_us ? FSCK_OWNER_LATE_UPLOAD : FSCK_OWNER_SURVIVOR;
    }
    if (!answer->table_known) {
        return FSCK_OWNER_OTHER_DEPLOYMENT;
    }
    if (answer->traced || made_us == INT64_MIN || fsck->options.store_now_us - made_us > RECENT_US) {
        return FSCK_OWNER_LOST_ROW;
    }
    return FSCK_OWNER_LATE_UPLOAD;
}

static enum err_code settle_object(struct fsck *fsck, struct fsck_finding *finding,
                                   const struct catalog_object_answer *answer, struct error *err)
{
    if (answer->named) {
        finding->class = FSCK_OK; /* its row came after that page was read, or names another storage */
    } else if (fsck->options.store_now_us - finding->at_us < fsck->options.grace_us) {
        finding->class = FSCK_YOUNG;
    } else {
        finding->owner = guess_owner(fsck, finding, answer);
        finding->held = answer->held;
    }
    return report(fsck, finding, err);
}

static enum err_code settle_row(struct fsck *fsck, struct fsck_finding *finding, bool is_there,
                                const struct catalog_object_answer *answer, struct error *err)
{
    if (is_there) {
        fsck->totals.lagging++;
        finding->class = FSCK_OK;
    } else if (!answer->must_exist) {
        return OK; /* reaped, or claimed, since that page was read */
    }
    return report(fsck, finding, err);
}

/* Objects are asked for first, rows after that: a row that still promises its object then is telling the truth about a
 * moment at which the object was gone. */
static enum err_code settle(struct fsck *fsck, struct error *err)
{
    struct catalog_object_question questions[MAX_SUSPECTS];
    struct catalog_object_answer answers[MAX_SUSPECTS];
    bool is_there[MAX_SUSPECTS] = {false};
    const struct fsck_world *world = &fsck->options.world;
    for (size_t i = 0; i < fsck->suspect_count; i++) {
        const struct fsck_finding *finding = &fsck->suspects[i].finding;
        questions[i] = (struct catalog_object_question){finding->path, finding->partition_id, finding->table_id};
        if (fsck->suspects[i].is_row) {
            struct store_object object;
            enum err_code code = world->head(world->context, finding->path, fsck->arena, &object, err);
            if (code != OK && code != ERR_NOT_FOUND) {
                return code;
            }
            is_there[i] = code == OK;
        }
    }
    if (fsck->suspect_count > 0) {
        TRY(world->look_up(world->context, questions, fsck->suspect_count, answers, err));
    }
    for (size_t i = 0; i < fsck->suspect_count; i++) {
        struct fsck_finding *finding = &fsck->suspects[i].finding;
        TRY(fsck->suspects[i].is_row ? settle_row(fsck, finding, is_there[i], &answers[i], err)
                                     : settle_object(fsck, finding, &answers[i], err));
    }
    fsck->suspect_count = 0;
    return OK;
}

/* --- the comparison ------------------------------------------------------------------------------------------------ */

enum err_code fsck_open(const struct fsck_options *options, struct fsck **out, struct error *err)
{
    AUTO(fsck_close_auto) struct fsck *fsck = calloc(1, sizeof *fsck);
    if (fsck == NULL) {
        return err_no_memory(err, sizeof *fsck);
    }
    fsck->options = *options;
    fsck->options.page = options->page == 0 ? DEFAULT_PAGE : options->page;
    fsck_totals_init(&fsck->totals);
    fsck->listing.arena = arena_new(0);
    fsck->catalog.arena = arena_new(0);
    fsck->arena = arena_new(0);
    if (fsck->listing.arena == NULL || fsck->catalog.arena == NULL || fsck->arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(buf_set_text(&fsck->position, options->after, err));
    TRY(buf_set_text(&fsck->passed, options->after, err));
    if (options->after[0] != '\0') {
        TRY(buf_set_text(&fsck->listing.last, options->after, err));
        TRY(buf_set_text(&fsck->catalog.last, options->after, err));
    }
    *out = TAKE(fsck);
    return OK;
}

void fsck_close(struct fsck *fsck)
{
    if (fsck != NULL) {
        arena_free(fsck->listing.arena);
        arena_free(fsck->catalog.arena);
        arena_free(fsck->arena);
        buf_done(&fsck->listing.last);
        buf_done(&fsck->catalog.last);
        buf_done(&fsck->findings);
        buf_done(&fsck->position);
        buf_done(&fsck->passed);
        free(fsck);
    }
}

/* A key that the catalog could not hold is no position: the run goes on behind an earlier one then. */
static enum err_code move_on(struct fsck *fsck, const char *key, struct error *err)
{
    return text_utf8_valid_prefix(key, strlen(key)) == strlen(key) ? buf_set_text(&fsck->passed, key, err) : OK;
}

enum err_code fsck_next(struct fsck *fsck, struct fsck_step *out, struct error *err)
{
    bool done = false;
    arena_reset(fsck->arena);
    buf_clear(&fsck->findings);
    for (size_t taken = 0; taken < fsck->options.page && fsck->suspect_count < MAX_SUSPECTS && !done; taken++) {
        const char *key = NULL;
        TRY(fill_listing(fsck, err));
        TRY(fill_catalog(fsck, err));
        done = head_of_listing(fsck) == NULL && head_of_catalog(fsck) == NULL;
        if (!done) {
            TRY(take_next(fsck, &key, err));
            TRY(move_on(fsck, key, err));
        }
    }
    TRY(settle(fsck, err));
    TRY(buf_set_text(&fsck->position, buf_held_text(&fsck->passed), err));
    *out = (struct fsck_step){
        .findings = (const struct fsck_finding *)(const void *)fsck->findings.data,
        .count = fsck->findings.length_bytes / sizeof(struct fsck_finding),
        .done = done,
    };
    return OK;
}

const char *fsck_position(const struct fsck *fsck)
{
    return buf_held_text(&fsck->position);
}

struct fsck_totals *fsck_totals_of(struct fsck *fsck)
{
    return &fsck->totals;
}
