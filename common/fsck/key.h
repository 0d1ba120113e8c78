/* What a key of the store is, by its name alone: the counterpart of every function that names an object. Pure. */
#ifndef GRANARY_FSCK_KEY_H
#define GRANARY_FSCK_KEY_H

#include "common/base/uuid.h"

enum fsck_key_kind {
    FSCK_KEY_PARTITION, /* as partition_path names it, letter for letter */
    FSCK_KEY_PROBE,     /* what store_probe leaves when it is killed */
    FSCK_KEY_MARK,      /* the deployment marker, and the marks of the high-water mark */
    FSCK_KEY_FOLDER,    /* a folder's marker: ends in a slash */
    FSCK_KEY_FOREIGN,   /* no name that Granary gives: another deployment below this one, or somebody's notes */
    FSCK_KEY_COUNT
};

struct fsck_key {
    enum fsck_key_kind kind;
    struct uuid table_id, partition_id; /* of a partition; nil otherwise */
};
struct fsck_key fsck_key_of(const char *key);

/* When the id was made, by the clock of whoever made it; INT64_MIN: it does not say (no version 7). */
int64_t fsck_key_made_at_us(const struct uuid *id);

#endif
