/* Tables whose orphans stay for a while, because a backup of the catalog may still name them. */
#ifndef GRANARY_PARTITION_CLEANER_WINDOWS_H
#define GRANARY_PARTITION_CLEANER_WINDOWS_H

#include "common/base/buf.h"
#include "common/catalog/cleaner.h"

/* Appends a struct catalog_table_window for each table with a reaper.backup_window, dropped ones too. */
MUST_CHECK enum err_code cleaner_windows_load(struct catalog *catalog, struct buf *out, struct error *err);

#endif
