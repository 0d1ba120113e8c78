#include "common/parquet/projection.h"

#include <stdlib.h>

void parquet_projection_done(struct parquet_projection *projection)
{
    free(projection->map);
    free(projection->columns);
    *projection = (struct parquet_projection){0};
}

enum err_code parquet_projection_init(const struct parquet_reader *reader, const struct schema *to,
                                      struct parquet_projection *out, struct error *err)
{
    const struct schema *from = parquet_reader_schema(reader);
    AUTO(parquet_projection_done)
    struct parquet_projection projection = {.to = to,
                                            .map = calloc(to->column_count, sizeof *projection.map),
                                            .columns = calloc(to->column_count, sizeof *projection.columns)};
    if (projection.map == NULL || projection.columns == NULL) {
        return err_no_memory(err, to->column_count * sizeof *projection.map);
    }
    TRY(schema_reconcile(from, to, projection.map, err));
    for (size_t i = 0; i < to->column_count; i++) {
        int index = projection.map[i];
        projection.converts |= index < 0 || from->columns[index].type != to->columns[i].type;
        if (index >= 0) {
            projection.columns[projection.column_count++] = (uint32_t)index;
        }
    }
    *out = projection;
    projection = (struct parquet_projection){0};
    return OK;
}
