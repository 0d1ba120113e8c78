/* The pure module and the database give the same answer for every pair of keys, and the same name to every key. */
#include <string.h>

#include "common/lifecycle/state.h"
#include "tests/integration/catalog/fixture.h"

enum { KEY_COUNT = 2 * LOCK_KIND_COUNT * REASON_COUNT, PAIR_COUNT = KEY_COUNT * KEY_COUNT };

struct pair {
    bool from_active, to_active;
    const char *from_lock, *from_reason, *to_lock, *to_reason; /* NULL: none */
};

static struct lifecycle_key key_at(size_t i)
{
    return (struct lifecycle_key){
        .active = i % 2 == 1,
        .lock = (enum lock_kind)(i / 2 % LOCK_KIND_COUNT),
        .reason = (enum deactivation_reason)(i / 2 / LOCK_KIND_COUNT),
    };
}

static const char *or_null(const char *name)
{
    return *name == '\0' ? NULL : name;
}

static struct pair pair_of(size_t from_index, size_t to_index)
{
    struct lifecycle_key from = key_at(from_index);
    struct lifecycle_key to = key_at(to_index);
    return (struct pair){
        .from_active = from.active,
        .to_active = to.active,
        .from_lock = or_null(lock_kind_name(from.lock)),
        .from_reason = or_null(deactivation_reason_name(from.reason)),
        .to_lock = or_null(lock_kind_name(to.lock)),
        .to_reason = or_null(deactivation_reason_name(to.reason)),
    };
}

static const char SQL_PAIRS[] =
    "select granary.partition_transition_allowed(p.from_active, p.from_lock::granary.lock_kind,"
    "         p.from_reason::granary.reason, p.to_active, p.to_lock::granary.lock_kind, p.to_reason::granary.reason)"
    " from unnest($1::boolean[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::text[]) with ordinality"
    "   p (from_active, from_lock, from_reason, to_active, to_lock, to_reason, place) order by p.place";
static const char SQL_NAMES[] =
    "select coalesce(granary.partition_state(p.active, p.lock::granary.lock_kind, p.reason::granary.reason), 'invalid')"
    " from unnest($1::boolean[], $2::text[], $3::text[]) with ordinality p (active, lock, reason, place)"
    " order by p.place";

#define COLUMN(type, pairs, member, count) catalog_array(type, &(pairs)->member, sizeof *(pairs), count)

static void database_and_module_agree_on_every_pair_of_keys(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open_as("granary_admin");
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    AUTO(free_auto) struct pair *pairs = calloc(PAIR_COUNT, sizeof *pairs);
    struct error err = {0};
    assert_non_null(pairs);
    for (size_t i = 0; i < PAIR_COUNT; i++) {
        pairs[i] = pair_of(i / KEY_COUNT, i % KEY_COUNT);
    }
    EXPECT(OK,
           catalog_query(catalog, SQL_PAIRS,
                         CATALOG_VALUES(COLUMN(CATALOG_BOOL, pairs, from_active, PAIR_COUNT),
                                        COLUMN(CATALOG_TEXT, pairs, from_lock, PAIR_COUNT),
                                        COLUMN(CATALOG_TEXT, pairs, from_reason, PAIR_COUNT),
                                        COLUMN(CATALOG_BOOL, pairs, to_active, PAIR_COUNT),
                                        COLUMN(CATALOG_TEXT, pairs, to_lock, PAIR_COUNT),
                                        COLUMN(CATALOG_TEXT, pairs, to_reason, PAIR_COUNT)),
                         &rows, &err),
           &err);
    assert_int_equal(catalog_rows_count(rows), PAIR_COUNT);
    size_t allowed = 0;
    for (size_t i = 0; i < PAIR_COUNT; i++) {
        struct lifecycle_key from = key_at(i / KEY_COUNT);
        struct lifecycle_key to = key_at(i % KEY_COUNT);
        assert_false(catalog_is_null(rows, i, 0)); /* "not null" would let it pass */
        assert_int_equal(catalog_get_bool(rows, i, 0), lifecycle_transition_allowed(&from, &to));
        allowed += catalog_get_bool(rows, i, 0);
    }
    assert_true(allowed > 30);
}

static void database_and_module_give_the_same_names(void **state)
{
    (void)state;
    AUTO(catalog_close_auto) struct catalog *catalog = fixture_open_as("granary_admin");
    AUTO(catalog_rows_free_auto) struct catalog_rows *rows = NULL;
    struct pair pairs[KEY_COUNT];
    struct error err = {0};
    for (size_t i = 0; i < KEY_COUNT; i++) {
        pairs[i] = pair_of(i, i);
    }
    EXPECT(OK,
           catalog_query(catalog, SQL_NAMES,
                         CATALOG_VALUES(COLUMN(CATALOG_BOOL, pairs, from_active, KEY_COUNT),
                                        COLUMN(CATALOG_TEXT, pairs, from_lock, KEY_COUNT),
                                        COLUMN(CATALOG_TEXT, pairs, from_reason, KEY_COUNT)),
                         &rows, &err),
           &err);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct lifecycle_key key = key_at(i);
        assert_string_equal(catalog_get_text(rows, i, 0), lifecycle_state_name(lifecycle_state_of(&key)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(database_and_module_agree_on_every_pair_of_keys),
        cmocka_unit_test(database_and_module_give_the_same_names),
    };
    return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
