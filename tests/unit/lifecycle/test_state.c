/* The transitions, written out a second time as text: active,lock,reason -> active,lock,reason. All 84 x 84 pairs of keys
 * are held against it. `test_state --print` prints the pure module's answer for every pair, for the comparison with the
 * database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/lifecycle/state.h"

enum { KEY_COUNT = 2 * LOCK_KIND_COUNT * REASON_COUNT, KEY_TEXT_BYTES = 32, PAIR_TEXT_BYTES = 2 * KEY_TEXT_BYTES + 4 };

static const char *const allowed[] = {
    /* publish, or give up */
    "F,write,- -> T,-,-",
    "F,write,- -> F,-,abandoned",
    "F,alter,- -> T,-,-",
    "F,alter,- -> F,-,abandoned",
    /* reserve, release */
    "T,-,- -> T,merge,-",
    "T,-,- -> T,alter,-",
    "T,-,- -> T,manual,-",
    "T,merge,- -> T,-,-",
    "T,alter,- -> T,-,-",
    "T,manual,- -> T,-,-",
    /* leave */
    "T,-,- -> F,-,decay",
    "T,-,- -> F,-,drop",
    "T,-,- -> F,manual,park",
    "T,manual,- -> F,manual,park",
    "T,merge,- -> F,merge,merge",
    "T,alter,- -> F,-,alter",
    /* come back */
    "F,-,decay -> T,-,-",
    "F,-,drop -> T,-,-",
    "F,-,park -> T,-,-",
    "F,manual,park -> T,-,-",
    /* wait for the reaper */
    "F,manual,park -> F,-,park",
    "F,merge,merge -> F,-,merge",
    /* claims, and claims taken over */
    "F,-,abandoned -> F,reap,abandoned",
    "F,-,decay -> F,reap,decay",
    "F,-,drop -> F,reap,drop",
    "F,-,park -> F,reap,park",
    "F,-,alter -> F,reap,alter",
    "F,-,merge -> F,reap,merge",
    "F,reap,abandoned -> F,reap,abandoned",
    "F,reap,decay -> F,reap,decay",
    "F,reap,drop -> F,reap,drop",
    "F,reap,park -> F,reap,park",
    "F,reap,alter -> F,reap,alter",
    "F,reap,merge -> F,reap,merge",
};
enum { ALLOWED_COUNT = sizeof allowed / sizeof *allowed };

static const struct {
    const char *key;
    const char *name;
} names[] = {
    {"F,write,-", "staged_write"},
    {"F,alter,-", "staged_alter"},
    {"T,-,-", "active"},
    {"T,merge,-", "merging"},
    {"T,alter,-", "altering"},
    {"T,manual,-", "pinned"},
    {"F,-,abandoned", "abandoned"},
    {"F,-,decay", "decay_inactive"},
    {"F,-,drop", "drop_inactive"},
    {"F,-,park", "park_inactive"},
    {"F,-,alter", "alter_inactive"},
    {"F,-,merge", "merge_inactive"},
    {"F,merge,merge", "retired"},
    {"F,reap,abandoned", "abandoned_reaping"},
    {"F,reap,decay", "decay_reaping"},
    {"F,reap,drop", "drop_reaping"},
    {"F,reap,park", "park_reaping"},
    {"F,reap,alter", "alter_reaping"},
    {"F,reap,merge", "merge_reaping"},
    {"F,manual,park", "parked"},
};
enum { NAME_COUNT = sizeof names / sizeof *names };

static struct lifecycle_key key_at(size_t i)
{
    return (struct lifecycle_key){
        .active = i % 2 == 1,
        .lock = (enum lock_kind)(i / 2 % LOCK_KIND_COUNT),
        .reason = (enum deactivation_reason)(i / 2 / LOCK_KIND_COUNT),
    };
}

static const char *or_dash(const char *text)
{
    return *text == '\0' ? "-" : text;
}

static char *key_text(const struct lifecycle_key *key, char text[KEY_TEXT_BYTES])
{
    (void)snprintf(text, KEY_TEXT_BYTES, "%c,%s,%s", key->active ? 'T' : 'F', or_dash(lock_kind_name(key->lock)),
                   or_dash(deactivation_reason_name(key->reason)));
    return text;
}

static char *pair_text(const struct lifecycle_key *from, const struct lifecycle_key *to, char text[PAIR_TEXT_BYTES])
{
    char from_text[KEY_TEXT_BYTES];
    char to_text[KEY_TEXT_BYTES];
    (void)snprintf(text, PAIR_TEXT_BYTES, "%s -> %s", key_text(from, from_text), key_text(to, to_text));
    return text;
}

static void exactly_the_transitions_of_the_table_are_allowed(void **state)
{
    (void)state;
    size_t found = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        for (size_t j = 0; j < KEY_COUNT; j++) {
            struct lifecycle_key from = key_at(i);
            struct lifecycle_key to = key_at(j);
            char text[PAIR_TEXT_BYTES];
            pair_text(&from, &to, text);
            bool wanted = false;
            for (size_t k = 0; k < ALLOWED_COUNT && !wanted; k++) {
                wanted = strcmp(allowed[k], text) == 0;
            }
            if (lifecycle_transition_allowed(&from, &to) != wanted) {
                fail_msg("expected %s to be %s", text, wanted ? "allowed" : "refused");
            }
            found += wanted;
        }
    }
    assert_int_equal(found, ALLOWED_COUNT);
}

static void every_key_has_its_state_or_none(void **state)
{
    (void)state;
    size_t found = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct lifecycle_key key = key_at(i);
        char text[KEY_TEXT_BYTES];
        key_text(&key, text);
        const char *wanted = "invalid";
        for (size_t k = 0; k < NAME_COUNT; k++) {
            wanted = strcmp(names[k].key, text) == 0 ? names[k].name : wanted;
        }
        enum lifecycle_state got = lifecycle_state_of(&key);
        assert_string_equal(lifecycle_state_name(got), wanted);
        assert_true(strlen(lifecycle_state_description(got)) > 10);
        found += got != STATE_INVALID;
    }
    assert_int_equal(found, STATE_COUNT - 1);
}

static void only_staged_rows_are_inserted_and_only_claimed_ones_deleted(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct lifecycle_key key = key_at(i);
        const char *name = lifecycle_state_name(lifecycle_state_of(&key));
        assert_int_equal(lifecycle_insert_allowed(&key), strncmp(name, "staged_", 7) == 0);
        assert_int_equal(lifecycle_delete_allowed(&key), strstr(name, "_reaping") != NULL);
    }
}

static void names_parse_back(void **state)
{
    (void)state;
    for (enum lock_kind kind = LOCK_NONE; kind < LOCK_KIND_COUNT; kind++) {
        enum lock_kind parsed = LOCK_KIND_COUNT;
        assert_int_equal(lock_kind_parse(lock_kind_name(kind), &parsed, NULL), OK);
        assert_int_equal(parsed, kind);
    }
    for (enum deactivation_reason reason = REASON_NONE; reason < REASON_COUNT; reason++) {
        enum deactivation_reason parsed = REASON_COUNT;
        assert_int_equal(deactivation_reason_parse(deactivation_reason_name(reason), &parsed, NULL), OK);
        assert_int_equal(parsed, reason);
    }
    for (enum partition_origin origin = ORIGIN_INTAKE; origin < ORIGIN_COUNT; origin++) {
        enum partition_origin parsed = ORIGIN_COUNT;
        assert_int_equal(partition_origin_parse(partition_origin_name(origin), &parsed, NULL), OK);
        assert_int_equal(parsed, origin);
    }
}

static void unknown_names_are_refused_and_outputs_untouched(void **state)
{
    (void)state;
    struct error err = {0};
    enum lock_kind kind = LOCK_REAP;
    enum deactivation_reason reason = REASON_PARK;
    enum partition_origin origin = ORIGIN_ALTER;
    assert_int_equal(lock_kind_parse("Write", &kind, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a kind of lock but found \"Write\"");
    assert_int_equal(kind, LOCK_REAP);
    assert_int_equal(deactivation_reason_parse("decayed", &reason, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a reason of deactivation but found \"decayed\"");
    assert_int_equal(reason, REASON_PARK);
    assert_int_equal(partition_origin_parse("", &origin, &err), ERR_INVALID);
    assert_string_equal(err.text, "expected a partition's origin but found \"\"");
    assert_int_equal(origin, ORIGIN_ALTER);
    assert_int_equal(lock_kind_parse(NULL, &kind, &err), OK);
    assert_int_equal(kind, LOCK_NONE);
}

/* One line per pair: "T,-,- -> T,merge,- yes". */
static int print_all(void)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        for (size_t j = 0; j < KEY_COUNT; j++) {
            struct lifecycle_key from = key_at(i);
            struct lifecycle_key to = key_at(j);
            char text[PAIR_TEXT_BYTES];
            (void)printf("%s %s\n", pair_text(&from, &to, text),
                         lifecycle_transition_allowed(&from, &to) ? "yes" : "no");
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print") == 0) {
        return print_all();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_the_transitions_of_the_table_are_allowed),
        cmocka_unit_test(every_key_has_its_state_or_none),
        cmocka_unit_test(only_staged_rows_are_inserted_and_only_claimed_ones_deleted),
        cmocka_unit_test(names_parse_back),
        cmocka_unit_test(unknown_names_are_refused_and_outputs_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
