"""The partition cleaner over a million objects: an S3 peer that makes up its listing, and a catalog that names them all.
Against the same listing read by the same driver and thrown away; memory must not know how many there are."""

import json

from harness.program import peak_kib
from harness.s3peer import Generated, S3Peer
from stacklib.processes import wait_until

from . import report
from .stage import timed, tool

RUNS = 3
MILLION = 1_000_000
BOUND_MIB, MORE_PERCENT = 64, 10
TABLE = "01930000-0000-7000-8000-000000000001"
SIZE = 1000  # of an object
CLEANER = "partition-cleaner"


def key_of(number):
    return f"{TABLE}/2026-11-01/{number:08x}-0000-7000-8000-000000000000.parquet"


def cleaner(stage):
    """Objects compared a second."""
    template = _named(stage, MILLION)
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(MILLION / _clean(stage, template, MILLION)[0])
        theirs.append(MILLION / _list(MILLION))
    report.line("cleaner", ours, theirs)
    stage.drop(template)


def cleaner_memory(stage):
    """At one million and at four."""
    peaks = []
    for count in (MILLION, 4 * MILLION):
        template = _named(stage, count)
        seconds, peak = _clean(stage, template, count)
        stage.drop(template)
        peaks.append(peak)
        report.note(f"  cleaner_memory: {count / seconds:.0f} objects/s of {count}")
        report.memory(f"cleaner_{count // MILLION}m", peak, BOUND_MIB)
    if peaks[1] > peaks[0] * (100 + MORE_PERCENT) / 100:
        raise RuntimeError(f"expected the same memory for four times the objects but found {peaks} KiB")


def _peer(count):
    peer = S3Peer()
    peer.generated = Generated(count, key_of, SIZE)
    peer.keep_requests = False
    return peer


def _clean(stage, template, count):
    """Seconds from the start to the end of the run, and the most memory that it took."""
    with _peer(count) as peer, stage.stack(template) as stack:
        deployment = stack.sql_value("select deployment_id::text from granary.deployment")
        peer.put("granary-deployment.json", b'{"deployment_id":"%s"}' % deployment.encode())
        stage.settle()
        program = None

        def run():
            nonlocal program
            program = stack.begin(CLEANER, "--every", "1h", env=peer.settings())
            wait_until(lambda: program.log(message="the cleaner ran"), 1800, "the run to end", interval=0.05)

        seconds = timed(run)
        counts = json.loads(program.log(message="the cleaner ran")[-1]["counts"])
        if (counts["objects"], counts["rows"], counts["orphans"], counts["missing"]) != (count, count, 0, 0):
            raise RuntimeError(f"expected {count} objects and rows without findings but found {counts}")
        return seconds, peak_kib(program.process)


def _list(count):
    with _peer(count) as peer:
        return timed(lambda: tool("store", "list", "", "", 1000, count // 1000 + 1, env=peer.settings(), folder="tools"))


def _named(stage, count):
    """A catalog with a live partition for each key. Written without triggers, or filling would take longer than measuring."""
    with stage.stack() as stack:
        stage.postgres.sql(f"""
            insert into granary.tables (table_id, project, name, kind, schema_version, created_by)
                values ('{TABLE}', 'demo', 'many', 'user', 1, 'bench');
            set session_replication_role = replica;
            insert into granary.partitions (partition_id, table_id, schema_version, min_timestamp, max_timestamp, path,
                row_count, data_bytes, memory_bytes, sha256, etag, active, origin, created_at, modified_at, version)
            select id::uuid, '{TABLE}', 1, '2026-11-01Z', '2026-11-01Z', '{TABLE}/2026-11-01/' || id || '.parquet', 1000,
                {SIZE}, 1000, '\\x{"ab" * 32}', '', true, 'intake', now(), now(), 2
            from (select lpad(to_hex(i), 8, '0') || '-0000-7000-8000-000000000000' as id
                  from generate_series(0, {count - 1}) i) made;
            """, stack.database, "postgres")
        stage.postgres.sql("vacuum analyze granary.partitions", stack.database, "postgres")
        return stage.keep(stack)


__all__ = ["cleaner", "cleaner_memory"]
