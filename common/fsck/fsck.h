/* The comparison of a store's listing with the catalog: two ordered streams merged key by key, so that memory grows with
 * neither. It reads only, and goes on step by step, so that whoever drives it can save, stream or stop in between.
 *
 *   found in both             FSCK_OK, or FSCK_SIZE when the object is not as long as the row says
 *   in the listing alone      by its name: FSCK_MARK, FSCK_FOLDER, FSCK_FOREIGN; or FSCK_ORPHAN once a fresh look-up says
 *                             that no row names it and it is old enough, FSCK_YOUNG before that
 *   in the catalog alone      FSCK_MISSING when the row promises an object, asking for the object itself (a listing may
 *                             lag) finds none, and the row is asked again and still promises it
 *
 * Both streams are read by pages while writers work. A row is written before its object and goes after it, so that whatever
 * looks wrong is asked again, object and row, right before it is reported. */
#ifndef GRANARY_FSCK_FSCK_H
#define GRANARY_FSCK_FSCK_H

#include "common/base/buf.h"
#include "common/catalog/objects.h"
#include "common/json/json.h"
#include "common/store/store.h"

enum fsck_class {
    FSCK_OK,
    FSCK_MARK,
    FSCK_FOLDER,
    FSCK_FOREIGN,
    FSCK_YOUNG,
    FSCK_ORPHAN,
    FSCK_MISSING,
    FSCK_SIZE,
    FSCK_CLASS_COUNT
};
const char *fsck_class_name(enum fsck_class class); /* "orphan" */

/* A guess at where an orphan came from. */
enum fsck_owner {
    FSCK_OWNER_NONE,
    FSCK_OWNER_LATE_UPLOAD, /* its row was given up before the upload had ended */
    FSCK_OWNER_SURVIVOR,    /* its deletion was confirmed, and yet it is there */
    FSCK_OWNER_LOST_ROW,    /* its table is known, and perhaps the rewrite that made it, but no row and no receipt */
    FSCK_OWNER_OTHER_DEPLOYMENT, /* no table of that id was ever here */
    FSCK_OWNER_PROBE,            /* left by a probe of the store */
    FSCK_OWNER_COUNT
};
const char *fsck_owner_name(enum fsck_owner owner); /* "late upload" */

struct fsck_finding {
    enum fsck_class class;
    const char *path;
    int64_t bytes;          /* of the object; of the row, where the object is missing */
    int64_t expected_bytes; /* FSCK_SIZE: as the row has it */
    int64_t at_us;          /* when the object was written, by the store's clock; FSCK_MISSING: when the row was */
    enum fsck_owner owner;  /* FSCK_ORPHAN */
    bool held;              /* FSCK_ORPHAN: a hold stands over it; it is not to be deleted */
    struct uuid table_id, partition_id;       /* nil where the key does not say */
    bool active;                              /* FSCK_MISSING, FSCK_SIZE: queries want it */
    int64_t created_at_us, deactivated_at_us; /* FSCK_MISSING, FSCK_SIZE: of the row; CLOCK_NEVER: it is active */
};

struct fsck_tally {
    int64_t count, bytes;
    int64_t oldest_us; /* CLOCK_NEVER: there is none */
};
struct fsck_totals {
    struct fsck_tally classes[FSCK_CLASS_COUNT];
    struct fsck_tally owners[FSCK_OWNER_COUNT]; /* of the orphans */
    int64_t held;                               /* orphans */
    int64_t rows;                               /* that the catalog answered */
    int64_t objects;                            /* that the store listed */
    int64_t lagging;                            /* objects that are there but that the listing left out */
    int64_t missing_active;
};
void fsck_totals_init(struct fsck_totals *totals);
void fsck_totals_add(struct fsck_totals *sum, const struct fsck_totals *part);
/* What a person should look at: orphans, missing objects, wrong sizes. */
int64_t fsck_totals_findings(const struct fsck_totals *totals);
/* As JSON, to be kept with a run that may be interrupted, and read again. */
MUST_CHECK enum err_code fsck_totals_encode(const struct fsck_totals *totals, struct json *object, struct error *err);
MUST_CHECK enum err_code fsck_totals_decode(const char *text, struct fsck_totals *out, struct error *err);

/* The two sides, as functions: the real ones are fsck_world_of; tests and benches bring their own. */
struct fsck_world {
    void *context;
    /* Like store_list: keys after `after`, ascending, at most max. */
    enum err_code (*list)(void *context, const char *after, size_t max, struct arena *arena, struct store_object **out,
                          size_t *out_count, bool *out_more, struct error *err);
    /* Like catalog_objects_page: paths after `after`, ascending; fewer than max is the end. */
    enum err_code (*rows)(void *context, const char *after, size_t max, struct arena *arena,
                          struct catalog_object **out, size_t *out_count, struct error *err);
    /* ERR_NOT_FOUND: there is no such object. */
    enum err_code (*head)(void *context, const char *path, struct arena *arena, struct store_object *out,
                          struct error *err);
    enum err_code (*look_up)(void *context, const struct catalog_object_question *questions, size_t count,
                             struct catalog_object_answer *answers, struct error *err);
};

/* A storage and its rows. Must outlive the comparison; everything in it is borrowed. */
struct fsck_place {
    struct catalog *catalog;
    struct store *store;
    int32_t storage_id;
    const char *prefix; /* "" or "<table_id>/" */
};
struct fsck_world fsck_world_of(struct fsck_place *place);

struct fsck_options {
    struct fsck_world world;
    int64_t store_now_us; /* the store's clock at the start, or earlier: ages come out too small, never too large */
    int64_t grace_us;     /* younger objects are FSCK_YOUNG */
    size_t page;          /* objects and rows asked for at once; 0: 1,000 */
    const char *after;    /* goes on behind this key; "" from the start */
};
struct fsck;
MUST_CHECK enum err_code fsck_open(const struct fsck_options *options, struct fsck **out, struct error *err);
void fsck_close(struct fsck *fsck);
DEFINE_AUTO(struct fsck, fsck_close)

struct fsck_step {
    const struct fsck_finding *findings; /* without FSCK_OK; until the next step */
    size_t count;
    bool done; /* both sides are at their end */
};
/* Goes on by about a page. ERR_CORRUPT: one side is not in order (a page that comes twice, a token that leads back): the
 * comparison cannot be trusted and must not go on. After any other error the same step may be tried again only from a new
 * comparison. */
MUST_CHECK enum err_code fsck_next(struct fsck *fsck, struct fsck_step *out, struct error *err);
/* Every key up to here was compared; valid UTF-8, and so perhaps a few keys behind. Until the next step. */
const char *fsck_position(const struct fsck *fsck);
struct fsck_totals *fsck_totals_of(struct fsck *fsck); /* may be set before the first step, when a run is resumed */

#endif
