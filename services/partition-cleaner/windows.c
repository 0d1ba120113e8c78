#include "services/partition-cleaner/windows.h"

#include "common/catalog/tables.h"

enum { TABLES_PAGE = 500 };

/* Two arenas: the last table of a page is asked for once more, to find the next. */
enum err_code cleaner_windows_load(struct catalog *catalog, struct buf *out, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    AUTO(arena_free_auto) struct arena *next_arena = arena_new(0);
    struct catalog_table_page page = {.with_dropped = true, .limit = TABLES_PAGE};
    if (arena == NULL || next_arena == NULL) {
        return err_no_memory(err, 4096);
    }
    for (size_t count = page.limit; count == page.limit;) {
        struct table_record *tables;
        struct arena *filled = next_arena;
        arena_reset(next_arena);
        TRY(catalog_table_list(catalog, &page, next_arena, &tables, &count, err));
        for (size_t i = 0; i < count; i++) {
            const struct catalog_table_window window = {tables[i].table_id, tables[i].settings.backup_window_us};
            if (window.window_us > 0) {
                TRY(buf_append(out, &window, sizeof window, err));
            }
        }
        page.after = count == 0 ? NULL : &tables[count - 1];
        next_arena = arena;
        arena = filled;
    }
    return OK;
}
