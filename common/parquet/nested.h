/* Columns with branches are not read, but who asks for one should hear when it is broken rather than that it is nested. */
#ifndef GRANARY_PARQUET_NESTED_H
#define GRANARY_PARQUET_NESTED_H

#include "common/parquet/reader_internal.h"

/* ERR_CORRUPT where the levels of the column, in the first row group, contradict themselves or the footer. OK says no more
 * than that this has not been found; levels or codecs that are not read are not looked at. */
MUST_CHECK enum err_code parquet_nested_check(const struct parquet_reader *reader, const struct unread_column *column,
                                              struct error *err);

#endif
