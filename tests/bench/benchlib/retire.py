"""How partitions leave: decay marks them, the reaper deletes them. Against one UPDATE, and against unlink and DELETE, of the
same rows of the same table without the guard."""

import json
import os
from itertools import islice

from harness.program import peak_kib
from harness.table import Table
from stacklib.processes import wait_until

from . import report
from .stage import timed

RUNS = 3
DECAY_ROWS, DECAY_DAYS, MAX_AGE_DAYS = 2_000_000, 300, 270  # a tenth is older
REAP_PARTITIONS, REAP_DAYS = 50_000, 100
MANY = 200_000
BATCH = 1000  # partitions in a reap event
BOUND_MIB = 256
FIRST_MS = {False: 1_700_000_000_000, True: 1_600_000_000_000}  # in the ids, so that no two are the same
COLUMNS = 5
LIVE = "live"  # the table that is asked while another is drained
GUARD = "partitions_guard"


def decay(stage):
    with stage.stack() as stack:
        table = Table(stack, settings={"age.max_age": f"{MAX_AGE_DAYS}d"})
        _fill(stage, stack, table, DECAY_ROWS, DECAY_DAYS, active=True)
        template = stage.keep(stack)
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(_measure_decay(stage, template, lambda stack: stack.job("decay", seconds=600)))
        theirs.append(_measure_decay(stage, template, _plain_update))
    report.line("decay", ours, theirs)
    stage.drop(template)


def _measure_decay(stage, template, act):
    with stage.stack(template) as stack:
        _without_guard(stack, act is _plain_update)
        stage.settle()
        seconds = timed(lambda: act(stack))
        gone = stack.sql_value("select count(*) from granary.partitions where not active")
        if not 0.09 < gone / DECAY_ROWS < 0.11:
            raise RuntimeError(f"expected a tenth of {DECAY_ROWS} partitions to decay but found {gone}")
        return gone / seconds


def _plain_update(stack):
    stack.sql_as("postgres", "update granary.partitions set active = false, deactivation_reason = 'decay',"
                 " deactivated_at = clock_timestamp(), deactivated_by = 'bench', modified_at = clock_timestamp(),"
                 " version = version + 1"
                 f" where active and max_timestamp < clock_timestamp() - interval '{MAX_AGE_DAYS} days'")


def reap(stage):
    template = reapable(stage, REAP_PARTITIONS)
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(REAP_PARTITIONS / _measure_reap(stage, template, _reaper))
        theirs.append(REAP_PARTITIONS / _measure_reap(stage, template, _unlink_and_delete))
    report.line("reap", ours, theirs)
    stage.drop(template)


def reap_memory(stage):
    template = reapable(stage, MANY)
    with stage.stack(template) as stack:
        _objects(stack)
        report.note(f"  reap_memory: {MANY / timed(lambda: _reaper(stack)):.0f} partitions/s of {MANY}")
        report.memory("reaper", peak_kib(stack.find("reaper").process), BOUND_MIB)
    stage.drop(template)


def reapable(stage, count, live=0):
    """A template database of so many partitions whose grace is over, and of so many live ones of another table."""
    with stage.stack() as stack:
        _fill(stage, stack, Table(stack, settings={"reaper.max_age": "1s"}), count, REAP_DAYS, active=False)
        if live:
            _fill(stage, stack, Table(stack, LIVE), live, REAP_DAYS, active=True)
        return stage.keep(stack)


def _measure_reap(stage, template, act):
    with stage.stack(template) as stack:
        _objects(stack)
        _without_guard(stack, act is _unlink_and_delete)
        if act is _reaper:
            stack.service("reaper")
        stage.settle()
        seconds = timed(lambda: act(stack))
        left = stack.sql_value("select count(*) from granary.partitions"), len(stack.objects())
        if left != (0, 0):
            raise RuntimeError(f"expected no rows and no objects to be left but found {left}")
        return seconds


def _reaper(stack):
    if not stack.find("reaper"):
        stack.service("reaper")
    collected(stack)


def collected(stack):
    """Until nothing is left, by a reaper that runs; the collector stops at its backlog limit."""
    reaper = stack.find("reaper")
    wanted = stack.sql_value("select count(*) from granary.partitions where not active")
    published = 0
    while reaper.metric("granary_reaper_partitions_total", result="deleted") < wanted:
        events = _collect(stack)
        if not events:
            raise RuntimeError(f"expected {wanted} partitions to be reaped:\n{reaper.tail()}")
        published += events
        wait_until(lambda: reaper.metric("granary_reaper_events_total") >= published, 600,
                   "the reaper to handle all events", interval=0.02)


def _collect(stack):
    """How many events the collector has published."""
    return json.loads(stack.job("reap-collection").log(message="reap collection ran")[-1]["counts"])["events"]


def _unlink_and_delete(stack):
    """What the same work costs without claims, receipts and messages: names, then folders, then rows, batch by batch."""
    connection = stack.connection("postgres")
    rows = iter([(str(row["partition_id"]), row["path"]) for row in stack.sql(
        "select partition_id, path from granary.partitions order by deactivated_at, partition_id")])
    with connection.cursor() as cursor:
        while batch := list(islice(rows, BATCH)):
            _unlink([stack.store / path for _, path in batch])
            cursor.execute("delete from granary.partitions where partition_id = any(%s::uuid[])",
                           ([partition_id for partition_id, _ in batch],))


def _unlink(paths):
    for path in paths:
        os.unlink(path)
    for folder in {path.parent for path in paths}:
        try:
            os.rmdir(folder)
            folder = folder.parent
        except OSError:
            pass  # others live there
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(descriptor)
        os.close(descriptor)


# --- a catalog and a store of many partitions ------------------------------------------------------------------------
def _fill(stage, stack, table, count, days, active):
    """Partitions in the order of time, as they would have come in; published, and then perhaps decayed an hour ago. Written
    without triggers, or filling would take longer than measuring."""
    stage.postgres.sql(f"""
        set session_replication_role = replica;
        insert into granary.partitions (partition_id, table_id, schema_version, min_timestamp, max_timestamp, path,
            row_count, data_bytes, memory_bytes, sha256, etag, active, origin, created_at, modified_at, deactivated_at,
            deactivation_reason, deactivated_by, version)
        select id, '{table.id}', 1, at, at + interval '1 minute',
            '{table.id}/' || to_char(at at time zone 'UTC', 'YYYY-MM-DD') || '/' || id || '.parquet', 1000, 50000,
            150000, sha256(id::text::bytea), '', {active}, 'intake', at, at,
            {"null, null, null" if active else "clock_timestamp() - interval '1 hour', 'decay', 'bench'"}, 2
        from (select (lpad(to_hex({FIRST_MS[active]} + i), 12, '0') || '7' || substr(md5(i::text), 1, 3) || '8'
                      || substr(md5(i::text), 4, 15))::uuid as id,
                     clock_timestamp() - interval '{days} days' * (1 - i::float8 / {count + 1}) as at
              from generate_series(1, {count}) i) made;
        """, stack.database, "postgres")
    if not active:
        stage.postgres.sql(f"""
            insert into granary.partition_columns (partition_id, column_id, min_value, max_value, null_count)
            select partition_id, c, '\\x0000000000000000', '\\x00000000000000ff', 0
            from granary.partitions, generate_series(1, {COLUMNS}) c where not active""", stack.database, "postgres")
    stage.postgres.sql("vacuum analyze", stack.database, "postgres")


def _objects(stack):
    """A file for each row. What is in it does not matter to a deletion."""
    stack.mark()
    folders = set()
    for row in stack.sql("select path from granary.partitions"):
        path = stack.store / row["path"]
        if path.parent not in folders:
            path.parent.mkdir(parents=True)
            folders.add(path.parent)
        path.write_bytes(b"PAR1")


def _without_guard(stack, off):
    if off:
        stack.sql_as("postgres", f"alter table granary.partitions disable trigger {GUARD}")


__all__ = ["LIVE", "REAP_DAYS", "collected", "decay", "reap", "reap_memory", "reapable"]
