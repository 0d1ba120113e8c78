/* SQL that several statements must share word for word, so that a preview and the act ask the same (safety rule 2).
 * Each takes the alias of granary.partitions; none uses a parameter of its own unless it says so. */
#ifndef GRANARY_CATALOG_PREDICATES_H
#define GRANARY_CATALOG_PREDICATES_H

/* As granary.is_held, but a subquery: the planner can join it, where the function costs a call for each row. */
#define CATALOG_SQL_NOT_HELD(p)                                                                            \
    " not exists (select from granary.holds h where h.table_id = " p ".table_id and h.released_at is null" \
    "   and (h.partition_id is null or h.partition_id = " p ".partition_id)"                               \
    "   and (h.min_timestamp is null"                                                                      \
    "        or (h.min_timestamp <= " p ".max_timestamp and h.max_timestamp >= " p ".min_timestamp)))"

/* The operator's brake on all deleting. */
#define CATALOG_SQL_NOT_PAUSED " not exists (select from granary.deployment b where b.deleting_paused_at is not null)"

/* All of its data is older than the cutoff ($2), and nobody holds it. $1: table. */
#define CATALOG_SQL_PAST_RETENTION(p) " " p ".table_id = $1 and " p ".active and " p ".max_timestamp < $2"
#define CATALOG_SQL_DECAYABLE(p)                                   \
    CATALOG_SQL_PAST_RETENTION(p)                                  \
    " and " p ".lock_id is null and" CATALOG_SQL_NOT_HELD(p) " an" \
                                                             "d" CATALOG_SQL_NOT_PAUSED

/* Its grace is over: $2 for merged, $3 for given up, $4 for all other reasons (intervals; null never ends). $1: table. */
#define CATALOG_SQL_REAPABLE(p)                                                                                      \
    " " p ".table_id = $1 and not " p ".active and " p ".deactivation_reason is not null"                            \
    " and " p ".deactivated_at <= clock_timestamp() - case " p ".deactivation_reason when 'merge' then $2::interval" \
    "   when 'abandoned' then $3::interval else $4::interval end"                                                    \
    " and" CATALOG_SQL_NOT_HELD(p) " and" CATALOG_SQL_NOT_PAUSED

/* May be an input of a merge, once nobody holds it. A hold on the partition itself keeps its file; holds on a table or a
 * time range let merges go on, because the rows live on in the output. */
#define CATALOG_SQL_MERGEABLE(p)                                                                      \
    " " p ".active and not exists (select from granary.holds h where h.table_id = " p ".table_id"     \
    "   and h.partition_id = " p ".partition_id and h.released_at is null)"                           \
    " and not exists (select from granary.merge_failures f where f.partition_id = " p ".partition_id" \
    "   and f.set_aside_at is not null)"

/* Unlocked, or under a reaper's claim that has run out. */
#define CATALOG_SQL_CLAIMABLE(p)                                                                   \
    " (" p ".lock_id is null or (" p ".lock_kind = 'reap' and exists (select from granary.locks c" \
    "   where c.lock_id = " p ".lock_id and c.expires_at <= clock_timestamp())))"

#endif
