#include "services/partition-cleaner/sweep.h"

#include "common/fsck/key.h"
#include "common/log/log.h"

struct open_uploads {
    int64_t count;
    bool ends;
};

/* Only what a writer of ours may have begun: below our prefix others may be at work, whose uploads last as they like. */
static bool want_upload(void *context, const char *key)
{
    struct open_uploads *uploads = context;
    bool ours = fsck_key_of(key).kind == FSCK_KEY_PARTITION;
    uploads->count += ours;
    return ours && uploads->ends;
}

enum err_code sweep_uploads(struct cleaner *cleaner, const struct fsck_place *place, bool ends,
                            struct cleaner_progress *progress, struct error *err)
{
    struct open_uploads uploads = {.ends = ends};
    struct error reason = {0};
    size_t ended = 0;
    enum err_code code =
        store_sweep_uploads(place->store, cleaner->config->grace_us, want_upload, &uploads, &ended, &reason);
    if (code == ERR_STOPPED) {
        return err_set(err, ERR_STOPPED, "%s", reason.text);
    }
    if (code != OK) {
        log_warn("uploads left open could not be swept; a lifecycle rule that aborts them does the same",
                 LOG_INT("storage_id", place->storage_id), LOG_ERR(&reason));
    } else if (uploads.count > 0) {
        log_info(ends ? "uploads left open were ended" : "uploads were left open",
                 LOG_INT("storage_id", place->storage_id), LOG_INT("uploads", uploads.count));
    }
    progress->open_uploads += uploads.count;
    progress->ended_uploads += (int64_t)ended;
    metric_add(cleaner->ended_uploads, (int64_t)ended);
    return OK;
}
