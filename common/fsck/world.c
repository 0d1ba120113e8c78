#include "common/fsck/fsck.h"

static enum err_code list(void *context, const char *after, size_t max, struct arena *arena, struct store_object **out,
                          size_t *out_count, bool *out_more, struct error *err)
{
    const struct fsck_place *place = context;
    return store_list(place->store, place->prefix, after, max, arena, out, out_count, out_more, err);
}

static enum err_code rows(void *context, const char *after, size_t max, struct arena *arena,
                          struct catalog_object **out, size_t *out_count, struct error *err)
{
    const struct fsck_place *place = context;
    const struct catalog_object_page page = {
        .storage_id = place->storage_id, .prefix = place->prefix, .after = after, .limit = max};
    return catalog_objects_page(place->catalog, &page, arena, out, out_count, err);
}

static enum err_code head(void *context, const char *path, struct arena *arena, struct store_object *out,
                          struct error *err)
{
    const struct fsck_place *place = context;
    return store_head(place->store, path, arena, out, err);
}

static enum err_code look_up(void *context, const struct catalog_object_question *questions, size_t count,
                             struct catalog_object_answer *answers, struct error *err)
{
    const struct fsck_place *place = context;
    return catalog_objects_look_up(place->catalog, questions, count, answers, err);
}

struct fsck_world fsck_world_of(struct fsck_place *place)
{
    return (struct fsck_world){.context = place, .list = list, .rows = rows, .head = head, .look_up = look_up};
}
