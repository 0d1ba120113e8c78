#include "services/partition-cleaner/windows.h"

#include "common/catalog/tables.h"

enum { TABLES_PAGE = 500 };

enum err_code cleaner_windows_load(struct catalog *catalog, struct buf *out, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0); /* grows with the number of tables, not with their data */
    struct catalog_table_page page = {.with_dropped = true, .limit = TABLES_PAGE};
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    for (size_t count = page.limit; count == page.limit;) {
        struct table_record *tables;
        TRY(catalog_table_list(catalog, &page, arena, &tables, &count, err));
        for (size_t i = 0; i < count; i++) {
            const struct catalog_table_window window = {tables[i].table_id, tables[i].settings.backup_window_us};
            if (window.window_us > 0) {
                TRY(buf_append(out, &window, sizeof window, err));
            }
        }
        page.after = count == 0 ? NULL : &tables[count - 1];
    }
    return OK;
}
