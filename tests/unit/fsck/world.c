#include "tests/unit/fsck/world.h"

#include <stdio.h>

const char *key_of(unsigned table, unsigned partition)
{
    static char keys[64][PARTITION_PATH_BYTES];
    static unsigned next;
    struct uuid table_id = {{0x01, 0x93, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, (uint8_t)table}};
    struct uuid partition_id = table_id;
    int64_t made_ms = NOW_US / 1000 - 3600 * 1000;
    for (int i = 0; i < 6; i++) {
        partition_id.bytes[i] = (uint8_t)(made_ms >> (40 - 8 * i));
    }
    partition_id.bytes[15] = (uint8_t)partition;
    return partition_path(&table_id, NOW_US, &partition_id, keys[next++ % COUNT(keys)]);
}

void add_object(struct script *script, const char *key, uint64_t bytes, int64_t age_us)
{
    script->objects[script->object_count++] = (struct store_object){key, bytes, NOW_US - age_us, ""};
}

void add_row(struct script *script, const char *path, int64_t bytes)
{
    script->rows[script->row_count++] = (struct catalog_object){.path = path,
                                                                .data_bytes = bytes,
                                                                .must_exist = true,
                                                                .active = true,
                                                                .created_at_us = NOW_US - CLOCK_HOUR_US,
                                                                .deactivated_at_us = CLOCK_NEVER};
}

static enum err_code play(const struct script *script, enum err_code code, int call, struct error *err)
{
    return code != OK && call >= script->fail_at ? err_set(err, code, "could not: a script says so") : OK;
}

static enum err_code list(void *context, const char *after, size_t max, struct arena *arena, struct store_object **out,
                          size_t *out_count, bool *out_more, struct error *err)
{
    struct script *script = context;
    struct store_object *page = arena_zalloc(arena, max + 1, sizeof *page);
    size_t first = 0;
    size_t count = 0;
    TRY(play(script, script->list_fails, ++script->lists, err));
    while (first < script->object_count && strcmp(script->objects[first].key, after) <= 0) {
        first++;
    }
    if (script->page_twice && script->lists > 1 && first > 0) {
        first--;
    }
    for (; first < script->object_count && count < max && !script->empty_page; first++) {
        if (script->hidden == NULL || strcmp(script->objects[first].key, script->hidden) != 0) {
            page[count++] = script->objects[first];
        }
    }
    *out = page;
    *out_count = count;
    *out_more = script->empty_page || first < script->object_count;
    return OK;
}

static enum err_code rows(void *context, const char *after, size_t max, struct arena *arena,
                          struct catalog_object **out, size_t *out_count, struct error *err)
{
    struct script *script = context;
    struct catalog_object *page = arena_zalloc(arena, max + 1, sizeof *page);
    size_t count = 0;
    TRY(play(script, script->rows_fail, ++script->row_pages, err));
    for (size_t i = 0; i < script->row_count && count < max; i++) {
        if (script->out_of_order || strcmp(script->rows[i].path, after) > 0) {
            page[count++] = script->rows[i];
        }
    }
    *out = page;
    *out_count = count;
    return OK;
}

static enum err_code head(void *context, const char *path, struct arena *arena, struct store_object *out,
                          struct error *err)
{
    struct script *script = context;
    (void)arena;
    TRY(play(script, script->head_fails, ++script->heads, err));
    for (size_t i = 0; i < script->object_count; i++) {
        if (strcmp(script->objects[i].key, path) == 0) {
            *out = script->objects[i];
            return OK;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "no object \"%s\"", path);
}

static bool is(const char *a, const char *b)
{
    return a != NULL && strcmp(a, b) == 0;
}

static enum err_code look_up(void *context, const struct catalog_object_question *questions, size_t count,
                             struct catalog_object_answer *answers, struct error *err)
{
    struct script *script = context;
    TRY(play(script, script->look_up_fails, ++script->look_ups, err));
    for (size_t i = 0; i < count; i++) {
        answers[i] = script->answer;
        answers[i].named = is(script->named_later, questions[i].path);
        for (size_t row = 0; row < script->row_count; row++) {
            bool same = strcmp(script->rows[row].path, questions[i].path) == 0;
            answers[i].named |= same;
            answers[i].must_exist |=
                same && script->rows[row].must_exist && !is(script->reaped_later, questions[i].path);
        }
    }
    return OK;
}

struct fsck_world world_of(struct script *script)
{
    return (struct fsck_world){.context = script, .list = list, .rows = rows, .head = head, .look_up = look_up};
}

static enum err_code run(struct fsck *fsck, struct outcome *out)
{
    struct fsck_step step = {0};
    while (!step.done) {
        TRY(fsck_next(fsck, &step, &out->err));
        for (size_t i = 0; i < step.count; i++) {
            struct fsck_finding *finding = &out->findings[out->count];
            *finding = step.findings[i];
            (void)snprintf(out->paths[out->count], sizeof out->paths[0], "%s", step.findings[i].path);
            finding->path = out->paths[out->count++];
        }
    }
    return OK;
}

void compare(struct script *script, size_t page, const char *after, struct outcome *out)
{
    AUTO(fsck_close_auto) struct fsck *fsck = NULL;
    const struct fsck_options options = {
        .world = world_of(script),
        .store_now_us = NOW_US,
        .grace_us = CLOCK_DAY_US,
        .page = page,
        .after = after,
    };
    memset(out, 0, sizeof *out);
    assert_int_equal(fsck_open(&options, &fsck, &out->err), OK);
    out->code = run(fsck, out);
    out->totals = *fsck_totals_of(fsck);
    (void)snprintf(out->position, sizeof out->position, "%s", fsck_position(fsck));
}
