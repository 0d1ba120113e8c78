/* Parquet says itself what it holds; only what integers mean as times is looked up in its statistics. */
#include <inttypes.h>

#include "common/ingest/infer_internal.h"
#include "common/parquet/reader.h"

/* Bounds of a column over the whole file; false where they are not known. */
static bool find_bounds(const struct parquet_reader *reader, size_t column, int64_t *out_min, int64_t *out_max,
                        uint64_t *out_nulls)
{
    bool is_known = parquet_reader_row_groups(reader) > 0;
    *out_min = INT64_MAX;
    *out_max = INT64_MIN;
    *out_nulls = 0;
    for (size_t g = 0; g < parquet_reader_row_groups(reader); g++) {
        struct column_stats stats;
        parquet_reader_stats(reader, g, column, &stats);
        is_known = is_known && stats.has_min && stats.has_max;
        *out_nulls += stats.null_count;
        if (is_known && stats.type == COLUMN_INT64) {
            int64_t min, max;
            memcpy(&min, stats.min, sizeof min);
            memcpy(&max, stats.max, sizeof max);
            *out_min = min < *out_min ? min : *out_min;
            *out_max = max > *out_max ? max : *out_max;
        }
    }
    return is_known;
}

static enum err_code propose_column(const struct parquet_reader *reader, size_t i, struct infer_proposal *proposal,
                                    const char **out_epoch, bool *out_has_nulls, struct error *err)
{
    const struct schema_column *source = &parquet_reader_schema(reader)->columns[i];
    char name[INGEST_NAME_BYTES];
    int64_t min, max;
    uint64_t nulls;
    bool is_known = find_bounds(reader, i, &min, &max, &nulls);
    struct infer_column *column = &proposal->columns[i];
    *column = (struct infer_column){
        .name = arena_strdup(proposal->arena, ingest_name_identifier(source->name, strlen(source->name), name)),
        .source = arena_strdup(proposal->arena, source->name),
        .type = source->type,
        .precision = source->precision,
        .scale = source->scale,
        .nullable = true,
        .why = "the file says so",
    };
    if (column->name == NULL || column->source == NULL) {
        return err_no_memory(err, strlen(source->name));
    }
    for (size_t j = 0; j < i; j++) {
        if (strcmp(proposal->columns[j].name, column->name) == 0) {
            return err_set(err, ERR_INVALID,
                           "expected names that make different columns but \"%s\" and \"%s\" are both %s",
                           column->source, proposal->columns[j].source, column->name);
        }
    }
    *out_has_nulls = source->nullable && nulls > 0;
    *out_epoch = is_known && source->type == COLUMN_INT64 ? infer_epoch_format(min, max) : NULL;
    return OK;
}

static enum err_code note_unread(const struct parquet_reader *reader, struct infer_proposal *proposal,
                                 struct error *err)
{
    size_t count = parquet_reader_unread_count(reader);
    if (count == 0) {
        return OK;
    }
    struct error why = {0};
    uint32_t column;
    const char *name = parquet_reader_unread_name(reader, 0);
    if (parquet_reader_find(reader, name, strlen(name), &column, &why) == OK) {
        return OK;
    }
    proposal->note = arena_printf(proposal->arena,
                                  "left out %zu columns that are not read, the first because: %s; hint: let the table "
                                  "ignore unknown columns (intake.unknown_columns)",
                                  count, why.text);
    return proposal->note != NULL ? OK : err_no_memory(err, sizeof why.text);
}

enum err_code infer_file(const struct infer_options *options, const struct parquet_source *source,
                         struct infer_proposal *out, struct error *err)
{
    AUTO(parquet_reader_free_auto) struct parquet_reader *reader = NULL;
    AUTO(infer_proposal_done) struct infer_proposal proposal = {.arena = arena_new(0)};
    if (proposal.arena == NULL) {
        return err_no_memory(err, sizeof proposal);
    }
    TRY(parquet_reader_open(source, &reader, err));
    size_t count = parquet_reader_schema(reader)->column_count;
    AUTO(free_auto) const char **epochs = calloc(count + 1, sizeof *epochs);
    AUTO(free_auto) bool *has_nulls = calloc(count + 1, sizeof *has_nulls);
    proposal.columns = arena_zalloc(proposal.arena, count + 1, sizeof *proposal.columns);
    if (epochs == NULL || has_nulls == NULL || proposal.columns == NULL) {
        return err_no_memory(err, count * sizeof *proposal.columns);
    }
    proposal.rows = parquet_reader_rows(reader);
    proposal.column_count = count;
    for (size_t i = 0; i < count; i++) {
        TRY(propose_column(reader, i, &proposal, &epochs[i], &has_nulls[i], err));
    }
    TRY(note_unread(reader, &proposal, err));
    TRY(infer_choose_timestamp(options->timestamp, epochs, has_nulls, &proposal, err));
    *out = proposal;
    proposal.arena = NULL; /* handed on */
    return OK;
}
