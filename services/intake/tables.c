#include "services/intake/tables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/catalog/tables.h"
#include "common/ingest/ingest.h"

enum { MAX_ENTRIES = 4096, KEY_BYTES = 160 };

struct counted {
    struct intake_table table; /* first: a table is its counted */
    atomic_int uses;
};

struct entry {
    char key[KEY_BYTES];     /* the name as asked, or "<id>@<version>" */
    struct counted *counted; /* NULL: known not to exist */
    int64_t loaded_us;       /* monotonic */
};

struct intake_tables {
    struct catalog *catalog;
    int64_t ttl_us;
    atomic_llong clock_offset_us; /* database's clock minus monotonic; 0: not asked yet */
    pthread_mutex_t lock;
    size_t count;
    struct entry entries[MAX_ENTRIES]; /* few, and looked up once a request: a walk over the keys is cheap */
};

enum err_code intake_tables_new(struct catalog *catalog, int64_t ttl_us, struct intake_tables **out, struct error *err)
{
    struct intake_tables *tables = calloc(1, sizeof *tables);
    if (tables == NULL) {
        return err_no_memory(err, sizeof *tables);
    }
    tables->catalog = catalog;
    tables->ttl_us = ttl_us;
    pthread_mutex_init(&tables->lock, NULL);
    *out = tables;
    return OK;
}

static enum err_code ask_clock(struct intake_tables *tables, struct error *err)
{
    int64_t now_us;
    TRY(catalog_now(tables->catalog, &now_us, err));
    atomic_store(&tables->clock_offset_us, now_us - clock_monotonic_us());
    return OK;
}

int64_t intake_tables_now_us(struct intake_tables *tables)
{
    const int64_t offset_us = atomic_load(&tables->clock_offset_us);
    return offset_us != 0 ? clock_monotonic_us() + offset_us : clock_now_us();
}

static void release(struct counted *counted)
{
    if (counted != NULL && atomic_fetch_sub(&counted->uses, 1) == 1) {
        schema_free(counted->table.schema);
        schema_free(counted->table.rejects_schema);
        free(counted);
    }
}

void intake_table_release(const struct intake_table *table)
{
    release((struct counted *)(uintptr_t)table);
}

const struct intake_table *intake_table_share(const struct intake_table *table)
{
    atomic_fetch_add(&((struct counted *)(uintptr_t)table)->uses, 1);
    return table;
}

void intake_tables_free(struct intake_tables *tables)
{
    if (tables != NULL) {
        for (size_t i = 0; i < tables->count; i++) {
            release(tables->entries[i].counted);
        }
        pthread_mutex_destroy(&tables->lock);
        free(tables);
    }
}

static void release_counted_auto(struct counted **counted)
{
    release(*counted);
}

static enum err_code load_record(struct intake_tables *tables, const char *name, struct arena *arena,
                                 struct table_record *out, struct error *err)
{
    struct uuid id;
    const char *dot = strchr(name, '.');
    if (dot == NULL && uuid_parse(name, strlen(name), &id, err) == OK) {
        return catalog_table_load(tables->catalog, &id, arena, out, err);
    }
    if (dot == NULL) {
        return err_set(err, ERR_INVALID, "expected a table as \"project.name\" or its id but found \"%.128s\"", name);
    }
    char *project = arena_strndup(arena, name, (size_t)(dot - name));
    return project == NULL ? err_no_memory(err, (size_t)(dot - name))
                           : catalog_table_find(tables->catalog, project, dot + 1, arena, out, err);
}

/* version 0: the latest. */
static enum err_code load(struct intake_tables *tables, const struct table_record *record, int32_t version,
                          struct arena *arena, struct counted **out, struct error *err)
{
    const char *json;
    int32_t found_version;
    struct table_record rejects;
    AUTO(release_counted_auto) struct counted *counted = calloc(1, sizeof *counted);
    if (counted == NULL) {
        return err_no_memory(err, sizeof *counted);
    }
    atomic_store(&counted->uses, 1);
    if (record->is_rejects) {
        return err_set(err, ERR_INVALID, "\"%s.%s\" holds rejects and takes no rows", record->project, record->name);
    }
    TRY(ask_clock(tables, err));
    TRY(catalog_table_load_rejects(tables->catalog, &record->table_id, arena, &rejects, err));
    TRY(catalog_table_load_schema(tables->catalog, &record->table_id, version, arena, &json, &found_version, err));
    TRY(schema_parse(json, strlen(json), &record->table_id, &counted->table.schema, err));
    TRY(ingest_rejects_schema(&rejects.table_id, &counted->table.rejects_schema, err));
    counted->table.table_id = record->table_id;
    counted->table.rejects_id = rejects.table_id;
    counted->table.settings = record->settings;
    counted->table.dropped = record->dropped;
    *out = TAKE(counted);
    return OK;
}

static struct entry *find_entry(struct intake_tables *tables, const char *key)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (strcmp(tables->entries[i].key, key) == 0) {
            return &tables->entries[i];
        }
    }
    return NULL;
}

/* A place for the key: a new one, or the one unused for longest. */
static struct entry *place_entry(struct intake_tables *tables, const char *key)
{
    struct entry *entry = find_entry(tables, key);
    if (entry == NULL && tables->count < MAX_ENTRIES) {
        entry = &tables->entries[tables->count++];
    }
    if (entry == NULL) {
        entry = &tables->entries[0];
        for (size_t i = 1; i < tables->count; i++) {
            entry = tables->entries[i].loaded_us < entry->loaded_us ? &tables->entries[i] : entry;
        }
    }
    (void)snprintf(entry->key, sizeof entry->key, "%s", key);
    return entry;
}

static struct entry *keep(struct intake_tables *tables, const char *key, struct counted *counted_take)
{
    struct entry *entry = place_entry(tables, key);
    release(entry->counted);
    entry->counted = counted_take;
    entry->loaded_us = clock_monotonic_us();
    return entry;
}

static enum err_code give(struct counted *counted, const char *what, const struct intake_table **out, struct error *err)
{
    if (counted == NULL || counted->table.dropped) {
        return err_set(err, ERR_NOT_FOUND, "no table \"%.128s\"; hint: granary table ls", what);
    }
    *out = intake_table_share(&counted->table);
    return OK;
}

/* While the catalog is away what is known is used on, and not asked for again before another ttl. */
static bool goes_on(struct entry *entry, enum err_code code)
{
    if (entry == NULL || entry->counted == NULL || (code != ERR_UNAVAILABLE && code != ERR_TIMEOUT)) {
        return false;
    }
    entry->loaded_us = clock_monotonic_us();
    return true;
}

static enum err_code find_locked(struct intake_tables *tables, const char *name, const struct intake_table **out,
                                 struct error *err)
{
    struct entry *entry = find_entry(tables, name);
    if (entry != NULL && clock_monotonic_us() - entry->loaded_us < tables->ttl_us) {
        return give(entry->counted, name, out, err);
    }
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct table_record record;
    struct counted *counted = NULL;
    enum err_code code = arena == NULL ? err_no_memory(err, 4096) : load_record(tables, name, arena, &record, err);
    if (code == OK) {
        code = load(tables, &record, 0, arena, &counted, err);
    }
    if (code == OK || code == ERR_NOT_FOUND) {
        keep(tables, name, counted);
        return give(counted, name, out, err);
    }
    return goes_on(entry, code) ? give(entry->counted, name, out, err) : code;
}

enum err_code intake_tables_find(struct intake_tables *tables, const char *name, const struct intake_table **out,
                                 struct error *err)
{
    if (strlen(name) >= KEY_BYTES) {
        return err_set(err, ERR_NOT_FOUND, "no table of a name of %zu characters", strlen(name));
    }
    pthread_mutex_lock(&tables->lock);
    enum err_code code = find_locked(tables, name, out, err);
    pthread_mutex_unlock(&tables->lock);
    return code;
}

static enum err_code load_version(struct intake_tables *tables, const struct uuid *table_id, int32_t version,
                                  struct counted **out, struct error *err)
{
    AUTO(arena_free_auto) struct arena *arena = arena_new(0);
    struct table_record record;
    if (arena == NULL) {
        return err_no_memory(err, 4096);
    }
    TRY(catalog_table_load(tables->catalog, table_id, arena, &record, err));
    return load(tables, &record, version, arena, out, err);
}

static enum err_code find_version_locked(struct intake_tables *tables, const struct uuid *table_id, int32_t version,
                                         const struct intake_table **out, struct error *err)
{
    char id_text[UUID_TEXT_BYTES];
    char key[KEY_BYTES];
    (void)snprintf(key, sizeof key, "%s@%d", uuid_format(table_id, id_text), (int)version);
    struct entry *entry = find_entry(tables, key);
    if (entry == NULL || clock_monotonic_us() - entry->loaded_us >= tables->ttl_us) {
        struct counted *counted = NULL;
        enum err_code code = load_version(tables, table_id, version, &counted, err);
        if (code == OK) {
            entry = keep(tables, key, counted);
        } else if (!goes_on(entry, code)) {
            return code;
        }
    }
    *out = intake_table_share(&entry->counted->table);
    return OK;
}

enum err_code intake_tables_find_version(struct intake_tables *tables, const struct uuid *table_id, int32_t version,
                                         const struct intake_table **out, struct error *err)
{
    pthread_mutex_lock(&tables->lock);
    enum err_code code = find_version_locked(tables, table_id, version, out, err);
    pthread_mutex_unlock(&tables->lock);
    return code;
}
