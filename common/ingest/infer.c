/* The proposal: a type for each column from what its values have in common, then the timestamp column. */
#include "common/ingest/infer.h"

#include <inttypes.h>
#include <strings.h>

#include "common/ingest/infer_internal.h"
#include "common/parquet/sink.h"

void infer_proposal_done(struct infer_proposal *proposal)
{
    arena_free(proposal->arena);
    *proposal = (struct infer_proposal){0};
}

/* --- types -------------------------------------------------------------------------------------------------------- */

#define EXACT_IN_DOUBLE (INT64_C(1) << 53)

/* The type of a column of integers, or of integers and others. */
static void decide_number(const struct infer_tally *tally, bool is_integer, struct infer_column *out,
                          const char **out_why)
{
    if (is_integer && !tally->is_wide) {
        out->type = COLUMN_INT64;
        *out_why = "all %" PRIu64 " values are integers";
    } else {
        out->type = COLUMN_DOUBLE;
        *out_why = is_integer ? "all %" PRIu64 " values are integers, some beyond 64 bits, which a double rounds"
                   : tally->is_wide || tally->min < -EXACT_IN_DOUBLE || tally->max > EXACT_IN_DOUBLE
                       ? "all %" PRIu64 " values are numbers, some of them integers beyond 2^53, which a double rounds"
                       : "all %" PRIu64 " values are numbers";
    }
}

/* Texts that fit no format but the bare date are dates; those that fit one format are times in it. */
static bool decide_time(const struct infer_tally *tally, struct infer_column *out, const char **out_why)
{
    bool is_one = tally->patterns != 0 && (tally->patterns & (tally->patterns - 1)) == 0;
    if ((tally->patterns & 1) != 0) { /* the default comes first: it cannot be misread */
        out->type = tally->may_be_date ? COLUMN_DATE : COLUMN_TIMESTAMP;
        *out_why =
            tally->may_be_date ? "all %" PRIu64 " values are dates" : "all %" PRIu64 " values are times in RFC 3339";
        return true;
    }
    if (!is_one) {
        return false;
    }
    out->format = infer_patterns[__builtin_ctz(tally->patterns)];
    out->type = tally->date_patterns != 0 ? COLUMN_DATE : COLUMN_TIMESTAMP;
    *out_why = "all %" PRIu64 " values fit this format, and no other that was tried";
    return true;
}

static void decide_text(const struct infer_tally *tally, struct infer_column *out, const char **out_why)
{
    out->type = COLUMN_STRING;
    *out_why = "no narrower type fits all %" PRIu64 " values";
    if (tally->may_be_bool) {
        out->type = COLUMN_BOOL;
        *out_why = "all %" PRIu64 " values are true or false";
    } else if (tally->may_be_real && (tally->has_leading_zeros || (tally->may_be_integer && tally->has_plus))) {
        *out_why = "all %" PRIu64 " values are digits, some with a leading zero or plus that a number would lose";
    } else if (tally->may_be_integer || (tally->may_be_real && tally->has_number)) {
        decide_number(tally, tally->may_be_integer, out, out_why);
    } else if (tally->may_be_uuid) {
        out->type = COLUMN_UUID;
        *out_why = "all %" PRIu64 " values are UUIDs";
    } else if (!decide_time(tally, out, out_why) && tally->patterns != 0) {
        *out_why = "all %" PRIu64 " values are times, but day and month could change places; hint: name the format";
    }
}

static void decide_type(const struct infer_tally *tally, uint64_t values, struct infer_column *out,
                        const char **out_why)
{
    const uint64_t *counts = tally->counts;
    uint64_t numbers = counts[INFER_INTEGER] + counts[INFER_REAL];
    out->type = COLUMN_JSON;
    *out_why = counts[INFER_NESTED] == values ? "all %" PRIu64 " values are objects or arrays"
                                              : "the %" PRIu64 " values are of several kinds";
    if (values == 0) {
        out->type = COLUMN_STRING;
        *out_why = "nothing is known: none of the rows has a value (%" PRIu64 ")";
    } else if (counts[INFER_BOOL] == values) {
        out->type = COLUMN_BOOL;
        *out_why = "all %" PRIu64 " values are true or false";
    } else if (numbers == values) {
        decide_number(tally, counts[INFER_REAL] == 0, out, out_why);
    } else if (counts[INFER_TEXT] == values) {
        decide_text(tally, out, out_why);
    }
}

static uint64_t count_values(const struct infer_tally *tally)
{
    uint64_t values = 0;
    for (int kind = 0; kind < INFER_KIND_COUNT; kind++) {
        values += kind == INFER_NULL ? 0 : tally->counts[kind];
    }
    return values;
}

static enum err_code decide_columns(const struct infer_tallies *tallies, struct infer_proposal *proposal,
                                    const char **epochs, bool *has_nulls, struct error *err)
{
    for (size_t i = 0; i < tallies->count; i++) {
        const struct infer_tally *tally = &tallies->items[i];
        struct infer_column *column = &proposal->columns[i];
        uint64_t values = count_values(tally);
        const char *why;
        *column = (struct infer_column){.name = tally->name, .source = tally->source, .nullable = true};
        decide_type(tally, values, column, &why);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        column->why = arena_printf(proposal->arena, why, values); /* one of the texts above */
#pragma GCC diagnostic pop
        if (column->why == NULL) {
            return err_no_memory(err, strlen(why));
        }
        has_nulls[i] = values < tallies->rows;
        epochs[i] = column->type == COLUMN_INT64 ? infer_epoch_format(tally->min, tally->max) : NULL;
    }
    return OK;
}

/* --- the timestamp column ----------------------------------------------------------------------------------------- */

static bool is_time_name(const char *name)
{
    static const char *const names[] = {"ts",      "timestamp",   "time",        "datetime",  "date_time",  "date",
                                        "at",      "day",         "event_time",  "eventtime", "created_at", "createdat",
                                        "created", "occurred_at", "recorded_at", "logged_at", "received_at"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The first column of a type (of int64: that could be an epoch) that is never null; by_name: with a name that says so. */
static int find_first(const struct infer_proposal *proposal, enum column_type type, const char *const *epochs,
                      const bool *has_nulls, bool by_name)
{
    for (size_t i = 0; i < proposal->column_count; i++) {
        const struct infer_column *column = &proposal->columns[i];
        if (column->type == type && !has_nulls[i] && (!by_name || is_time_name(column->name)) &&
            (type != COLUMN_INT64 || epochs[i] != NULL)) {
            return (int)i;
        }
    }
    return -1;
}

static int find_timestamp(const struct infer_proposal *proposal, const char *const *epochs, const bool *has_nulls,
                          const char **out_why)
{
    static const struct {
        enum column_type type;
        bool by_name;
        const char *why;
    } ways[] = {
        {COLUMN_TIMESTAMP, true, "the first column of times, never null, whose name says so"},
        {COLUMN_TIMESTAMP, false, "the first column of times that is never null"},
        {COLUMN_DATE, true, "the first column of dates, never null, whose name says so"},
        {COLUMN_DATE, false, "the first column of dates that is never null"},
        {COLUMN_INT64, true, "its name says so, and as times since 1970 all its numbers lie in this century"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        int found = find_first(proposal, ways[i].type, epochs, has_nulls, ways[i].by_name);
        if (found >= 0) {
            *out_why = ways[i].why;
            return found;
        }
    }
    return -1;
}

static int find_named(const struct infer_proposal *proposal, const char *name)
{
    for (size_t i = 0; i < proposal->column_count; i++) {
        if (strcmp(proposal->columns[i].source, name) == 0 || strcmp(proposal->columns[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

enum err_code infer_choose_timestamp(const char *name, const char *const *epochs, const bool *has_nulls,
                                     struct infer_proposal *proposal, struct error *err)
{
    const char *why = "it was named";
    int found = name != NULL ? find_named(proposal, name) : find_timestamp(proposal, epochs, has_nulls, &why);
    if (found < 0) {
        return name != NULL
                   ? err_set(err, ERR_INVALID, "expected a column \"%.64s\" but found none of that name", name)
                   : err_set(err, ERR_INVALID,
                             "expected a column of times that is never null but found none; hint: name the column "
                             "with --timestamp, or write the table's columns yourself");
    }
    struct infer_column *column = &proposal->columns[found];
    if (column->type == COLUMN_INT64 && epochs[found] != NULL) {
        column->format = epochs[found];
        column->type = COLUMN_TIMESTAMP;
    } else if (column->type == COLUMN_DATE) { /* midnights */
        column->type = COLUMN_TIMESTAMP;
    }
    if (column->type != COLUMN_TIMESTAMP) {
        char type[COLUMN_TYPE_TEXT_BYTES];
        const struct schema_column shown = {
            .type = column->type, .precision = column->precision, .scale = column->scale};
        return err_set(err, ERR_INVALID, "expected column \"%s\" to hold times in one format but found %s: %s",
                       column->name, column_type_format(&shown, type), column->why);
    }
    column->nullable = false;
    proposal->timestamp_column = (size_t)found;
    proposal->timestamp_why = why;
    return OK;
}

/* --- a sample ----------------------------------------------------------------------------------------------------- */

static enum err_code propose(const struct infer_options *options, const struct infer_tallies *tallies,
                             struct infer_proposal *proposal, struct error *err)
{
    AUTO(free_auto) const char **epochs = calloc(tallies->count + 1, sizeof *epochs);
    AUTO(free_auto) bool *has_nulls = calloc(tallies->count + 1, sizeof *has_nulls);
    proposal->columns = arena_zalloc(proposal->arena, tallies->count + 1, sizeof *proposal->columns);
    if (epochs == NULL || has_nulls == NULL || proposal->columns == NULL) {
        return err_no_memory(err, tallies->count * sizeof *proposal->columns);
    }
    proposal->rows = tallies->rows;
    proposal->column_count = tallies->count;
    if (tallies->bad_rows > 0) {
        proposal->note = arena_printf(proposal->arena, "left out %" PRIu64 " broken rows, the first because: %s",
                                      tallies->bad_rows, tallies->first_reason);
    }
    TRY(decide_columns(tallies, proposal, epochs, has_nulls, err));
    return infer_choose_timestamp(options->timestamp, epochs, has_nulls, proposal, err);
}

static void tallies_done(struct infer_tallies *tallies)
{
    free(tallies->items);
}

static enum err_code read_memory(void *context, uint64_t offset, size_t length, void *out, struct error *err)
{
    (void)err; /* ranges lie within the size that was told */
    memcpy(out, *(const uint8_t *const *)context + offset, length);
    return OK;
}

/* A header that took the whole file with it. */
static const char *find_hint(const struct infer_tallies *tallies)
{
    const char *hint = "";
    for (size_t i = 0; i < tallies->count && *hint == '\0'; i++) {
        hint = ingest_name_hint(tallies->items[i].source, strlen(tallies->items[i].source));
    }
    return hint;
}

enum err_code infer_sample(const struct infer_options *options, const void *data, size_t length,
                           struct infer_proposal *out, struct error *err)
{
    if (options->ingest.format == INGEST_PARQUET) {
        const struct parquet_source source = {.context = &data, .size_bytes = length, .read = read_memory};
        return infer_file(options, &source, out, err);
    }
    AUTO(infer_proposal_done) struct infer_proposal proposal = {.arena = arena_new(0)};
    AUTO(tallies_done) struct infer_tallies tallies = {.arena = proposal.arena};
    if (proposal.arena == NULL) {
        return err_no_memory(err, sizeof tallies);
    }
    TRY(infer_tallies_gather(&tallies, options, data, length, err));
    if (tallies.rows == 0) {
        return tallies.bad_rows > 0
                   ? err_set(err, ERR_INVALID, "could not read a single row: %s", tallies.first_reason)
                   : err_set(err, ERR_INVALID, "expected at least one row but found none%s", find_hint(&tallies));
    }
    TRY(propose(options, &tallies, &proposal, err));
    *out = proposal;
    proposal.arena = NULL; /* handed on */
    return OK;
}
