"""How the reaper deletes from a bucket: against the bare driver, deleting the same keys in bulk on the same server; and how
much memory and patience of others a large drain takes."""

import json
import os
import statistics
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.contents import BucketContents
from harness.program import peak_kib
from harness.s3peer import S3Peer
from stacklib.postgres import program
from stacklib.processes import wait_until

from . import BUILD, report
from .retire import LIVE, REAP_DAYS, collected, reapable
from .stage import timed, tool

RUNS, PARTITIONS, BULK = 3, 5_000, 1_000
ON_PEER, ON_RADOSGW = (int(os.environ.get("BENCH_DRAIN") or count) for count in (1_000_000, 200_000))
LIVE_PARTITIONS, QUIET_ROUNDS, BOUND_MIB = 100_000, 5, 256
# At a rate that neither side of the comparison is held back by.
FREELY = {"GRANARY_STORE_DELETE_RATE": "1000000"}
# A day's live partitions, as a scan asks for them.
QUERY = r"""
\set day random(1, {days})
select partition_id, path from granary.partitions
    where active and table_id = '{table}' and min_timestamp <= now() - :day * interval '1 day' + interval '1 day'
    and max_timestamp >= now() - :day * interval '1 day' and min_timestamp >= now() - :day * interval '1 day'
    order by min_timestamp, partition_id limit 1000;
"""


def reap_s3(stage):
    """Partitions/s from the start of the collector until the last row is gone."""
    template = reapable(stage, PARTITIONS)
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(PARTITIONS / _measure(stage, template, _reap))
        theirs.append(PARTITIONS / _measure(stage, template, _delete))
    report.line("reap_s3", ours, theirs)
    stage.drop(template)


def _measure(stage, template, act):
    gateway, client, bucket = stage.servers.bucket()
    with stage.stack(template) as stack:
        stack.contents = BucketContents(client, bucket, "live", gateway.url(bucket, "live"))
        stack.mark()
        paths = [row["path"] for row in stack.sql("select path from granary.partitions order by path")]
        _write(stack, paths)
        stage.settle()
        seconds = act(stack, paths)
        if any(key.endswith(".parquet") for key in stack.contents.keys()):
            raise RuntimeError("expected no object to be left")
        return seconds


def _write(stack, paths):
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda path: stack.contents.write(path, b"PAR1"), paths):
            pass


def _reap(stack, _):
    stack.service("reaper", FREELY)
    return timed(lambda: collected(stack))


def _delete(stack, paths):
    env = {"PATH": "/usr/bin:/bin", **stack.contents.settings(), **FREELY}
    return float(tool("bench_delete", BULK, input="\n".join(paths) + "\n", env=env))


def reap_s3_memory(stage):
    """On a server that takes every key for one that it had: the drain is ours alone."""
    template = reapable(stage, ON_PEER, LIVE_PARTITIONS)
    with stage.stack(template) as stack, S3Peer() as peer:
        peer.keep_requests = False
        peer.put("live/granary-deployment.json", json.dumps(
            {"deployment_id": str(stack.sql_value("select deployment_id from granary.deployment"))}).encode())
        _drain(stage, stack, "reap_s3", ON_PEER, peer.settings("live"))
    stage.drop(template)


def reap_radosgw_memory(stage):
    """The same where every object is there."""
    template = reapable(stage, ON_RADOSGW, LIVE_PARTITIONS)
    gateway, client, bucket = stage.servers.bucket()
    with stage.stack(template) as stack:
        stack.contents = BucketContents(client, bucket, "live", gateway.url(bucket, "live"))
        stack.mark()
        _write(stack, [row["path"] for row in stack.sql("select path from granary.partitions where not active")])
        _drain(stage, stack, "reap_radosgw", ON_RADOSGW, stack.contents.settings())
        if any(key.endswith(".parquet") for key in stack.contents.keys()):
            raise RuntimeError("expected no object to be left")
    stage.drop(template)


def _drain(stage, stack, name, count, settings):
    """What somebody else's queries of the catalog take before it and meanwhile, and what the reaper takes. At the rate that it
    has by default: it is the drain that an operator sees."""
    stage.settle()
    quiet = _latencies(stage, stack, range(QUIET_ROUNDS))
    reaper = stack.service("reaper", settings)
    drained = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(_latencies, stage, stack, iter(drained.is_set, True))
        try:
            seconds = timed(lambda: collected(stack))
        finally:
            drained.set()
    wait_until(lambda: stack.sql_value("select count(*) from granary.partitions where not active") == 0, 60,
               "no row to be left")
    report.note(f"  {name}: {count / seconds:.0f} partitions/s of {count}")
    for percent in (50, 95):
        report.less(f"{name}_query_p{percent}_us", *(_percentile(taken, percent) for taken in (busy.result(), quiet)))
    report.memory(name, peak_kib(reaper.process), BOUND_MIB)


def _latencies(stage, stack, rounds):
    """Microseconds of queries that pgbench asks at random times, 50 a second, in rounds of two seconds."""
    table = stack.sql_value("select table_id from granary.tables where name = %s", (LIVE,))
    role, taken = "granary_admin", []
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        script = Path(directory, "query.sql")
        script.write_text(QUERY.format(days=REAP_DAYS, table=table), encoding="utf-8")
        for _ in rounds:
            subprocess.run([program("pgbench"), "-n", "-R", "50", "-t", "100", "-l", f"--log-prefix={directory}/log", "-f",
                            script, stage.postgres.url(role, stack.database)], check=True, capture_output=True,
                           env=stage.postgres.client_environment(role))
            for log in Path(directory).glob("log.*"):
                taken += [int(fields[2]) - int(fields[6]) for fields in map(str.split, log.read_text().splitlines())]
                log.unlink()
    return taken


def _percentile(values, percent):
    return round(statistics.quantiles(values, n=100)[percent - 1])


__all__ = ["reap_radosgw_memory", "reap_s3", "reap_s3_memory"]
