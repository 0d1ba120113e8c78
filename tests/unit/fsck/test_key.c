/* The cleaner must know every name that Granary gives: here each function that names an object is asked for one. */
#include "common/fsck/key.h"

#include <stdio.h>

#include "common/gate/mark.h"
#include "common/publish/marker.h"
#include "tests/unit/fsck/world.h"

static void partitions_are_known_on_every_day_that_they_can_begin_with(void **state)
{
    (void)state;
    static const int64_t days[] = {-62135596800000000, -1, 0, NOW_US, 253402300799999999};
    for (size_t i = 0; i < COUNT(days); i++) {
        char path[PARTITION_PATH_BYTES];
        struct uuid table_id = uuid_v4();
        struct uuid partition_id = uuid_v7();
        struct fsck_key key = fsck_key_of(partition_path(&table_id, days[i], &partition_id, path));
        assert_int_equal(key.kind, FSCK_KEY_PARTITION);
        assert_true(uuid_equal(&key.table_id, &table_id));
        assert_true(uuid_equal(&key.partition_id, &partition_id));
    }
}

static void marks_and_probes_are_known(void **state)
{
    (void)state;
    char probe[64];
    char id[UUID_TEXT_BYTES];
    struct uuid name = uuid_v7();
    (void)snprintf(probe, sizeof probe, "%s%s", STORE_PROBE_PREFIX, uuid_format(&name, id));
    assert_int_equal(fsck_key_of(probe).kind, FSCK_KEY_PROBE);
    assert_int_equal(fsck_key_of(PUBLISH_MARKER_KEY).kind, FSCK_KEY_MARK);
    for (int64_t number = 1; number > 0; number *= 7) {
        char mark[GATE_MARK_KEY_BYTES];
        assert_int_equal(fsck_key_of(gate_mark_key(number, mark)).kind, FSCK_KEY_MARK);
        if (number > INT64_MAX / 7) {
            break;
        }
    }
}

#define TABLE "01930000-0000-7000-8000-0000000000ab"
#define FILE  "01930000-0000-7000-8000-0000000000cd.parquet"

static void everything_else_is_a_folder_or_foreign(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        enum fsck_key_kind kind;
    } cases[] = {
        {TABLE "/2026-11-30/" FILE, FSCK_KEY_PARTITION},
        {"/" TABLE "/2026-11-30/" FILE, FSCK_KEY_FOREIGN},
        {TABLE "/2026-11-30/" FILE "/", FSCK_KEY_FOLDER},
        {TABLE "/2026-11-30/", FSCK_KEY_FOLDER},
        {TABLE "/", FSCK_KEY_FOLDER},
        {TABLE "//2026-11-30/" FILE, FSCK_KEY_FOREIGN},
        {TABLE "/2026-11-31/" FILE, FSCK_KEY_FOREIGN},
        {TABLE "/2026-1-030/" FILE, FSCK_KEY_FOREIGN},
        {TABLE "/2026-11-30/" FILE ".bak", FSCK_KEY_FOREIGN},
        {TABLE "/2026-11-30/.01930000-0000-7000-8000-0000000000cd.parquet.tmp", FSCK_KEY_FOREIGN},
        {TABLE "/2026-11-30/01930000-0000-7000-8000-0000000000CD.parquet", FSCK_KEY_FOREIGN},
        {"01930000-0000-7000-8000-0000000000AB/2026-11-30/" FILE, FSCK_KEY_FOREIGN},
        {TABLE "+2026-11-30/" FILE, FSCK_KEY_FOREIGN},
        {TABLE "/2026-11-30%2F" FILE, FSCK_KEY_FOREIGN},
        {"below/" PUBLISH_MARKER_KEY, FSCK_KEY_FOREIGN},
        {PUBLISH_MARKER_KEY ".bak", FSCK_KEY_FOREIGN},
        {STORE_PROBE_PREFIX "notes.txt", FSCK_KEY_FOREIGN},
        {"granary-marks", FSCK_KEY_FOREIGN},
        {"", FSCK_KEY_FOREIGN},
        {"/", FSCK_KEY_FOLDER},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (fsck_key_of(cases[i].key).kind != cases[i].kind) {
            fail_msg("\"%s\" is taken for %d", cases[i].key, fsck_key_of(cases[i].key).kind);
        }
    }
}

static void an_id_tells_when_it_was_made_if_it_is_of_version_7(void **state)
{
    (void)state;
    struct uuid seven = uuid_v7();
    struct uuid four = uuid_v4();
    int64_t age_us = clock_now_us() - fsck_key_made_at_us(&seven);
    assert_true(age_us > -CLOCK_MINUTE_US && age_us < CLOCK_MINUTE_US);
    assert_int_equal(fsck_key_made_at_us(&four), INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions_are_known_on_every_day_that_they_can_begin_with),
        cmocka_unit_test(marks_and_probes_are_known),
        cmocka_unit_test(everything_else_is_a_folder_or_foreign),
        cmocka_unit_test(an_id_tells_when_it_was_made_if_it_is_of_version_7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
