/* What the live tests of the catalog share. GRANARY_CATALOG_URL names a database of their own, as its owner, who may create
 * roles; each program starts from an empty schema. */
#ifndef GRANARY_TESTS_CATALOG_FIXTURE_H
#define GRANARY_TESTS_CATALOG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/catalog/internal.h"
#include "common/catalog/tables.h"

/* Fails the test, showing the error, unless the code is this one. */
#define EXPECT(code, expression, err) fixture_expect(code, expression, err, #expression, __FILE__, __LINE__)
void fixture_expect(enum err_code expected, enum err_code got, const struct error *err, const char *what,
                    const char *file, int line);
/* Also that the text holds `part`. */
#define EXPECT_TEXT(code, part, expression, err)                    \
    do {                                                            \
        EXPECT(code, expression, err);                              \
        fixture_expect_part(part, (err)->text, __FILE__, __LINE__); \
    } while (0)
void fixture_expect_part(const char *part, const char *text, const char *file, int line);

int fixture_setup(void **state);                                  /* group: drops schema granary and migrates */
int fixture_empty(void **state);                                  /* group: only drops */
struct catalog *fixture_open(void);                               /* a new connection; the test closes it */
struct catalog *fixture_open_as(const char *role);                /* with the rights of that role only */
void fixture_set_role(struct catalog *catalog, const char *role); /* again, after the session was lost */
void fixture_sql(struct catalog *catalog, const char *sql);
int64_t fixture_number(struct catalog *catalog, const char *sql); /* one bigint */
/* A fault for this process; NULL: none. Faults count their hits over the life of the process: by the rule's place. */
void fixture_fault(const char *fault);
/* Ends the server's side of the session of `victim`, from another connection, and waits until it is gone. */
void fixture_kill_session(struct catalog *victim);
/* Waits until a session of this application name waits for a lock. */
void fixture_wait_blocked(struct catalog *observer, const char *application_name);

struct fixture_table {
    const char *project; /* NULL: "p" */
    const char *name;
    const struct catalog_setting *settings;
    size_t setting_count;
    struct uuid table_id, rejects_id; /* filled in */
};
void fixture_create_table(struct catalog *catalog, struct fixture_table *table);

#endif
