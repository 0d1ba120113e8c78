"""How the reaper deletes from a bucket: against the bare driver, deleting the same keys in bulk on the same server; and how
much memory and patience of others a large drain takes."""

import json
import statistics
import threading
from concurrent.futures import ThreadPoolExecutor

from harness.contents import BucketContents
from harness.s3peer import S3Peer
from stacklib.processes import wait_until

from . import report
from .retire import collected, reapable
from .stage import peak_kib, timed, tool

RUNS, PARTITIONS, BULK = 3, 5_000, 1_000
MANY, BOUND_MIB = 200_000, 256
# At a rate that neither side is held back by.
FREELY = {"GRANARY_STORE_DELETE_RATE": "1000000"}
QUERY = ("select partition_id, path from granary.partitions where active and table_id = %s and min_timestamp <= now()"
         " order by min_timestamp limit 100")


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
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda path: stack.contents.write(path, b"PAR1"), paths))
        stage.settle()
        seconds = act(stack, paths)
        if any(key.endswith(".parquet") for key in stack.contents.keys()):
            raise RuntimeError("expected no object to be left")
        return seconds


def _reap(stack, _):
    stack.service("reaper", FREELY)
    return timed(lambda: collected(stack))


def _delete(stack, paths):
    env = {"PATH": "/usr/bin:/bin", **stack.contents.settings(), **FREELY}
    return float(tool("bench_delete", BULK, input="\n".join(paths) + "\n", env=env))


def reap_s3_memory(stage):
    """On a server that takes every key for one that it had: the drain is ours alone."""
    template = reapable(stage, MANY)
    with stage.stack(template) as stack, S3Peer() as peer:
        peer.keep_requests = False
        peer.put("live/granary-deployment.json", json.dumps(
            {"deployment_id": str(stack.sql_value("select deployment_id from granary.deployment"))}).encode())
        table = stack.sql_value("select table_id from granary.tables where kind = 'user'")
        quiet = _latency(stack, table, threading.Event(), 200)
        reaper = stack.service("reaper", {**peer.settings("live"), **FREELY})
        drained = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            busy = pool.submit(_latency, stack, table, drained)
            seconds = timed(lambda: collected(stack))
            drained.set()
        wait_until(lambda: stack.sql_value("select count(*) from granary.partitions") == 0, 60, "no row to be left")
        report.note(f"  reap_s3_memory: {MANY / seconds:.0f} partitions/s of {MANY}; a query of the catalog took"
                    f" {1000 * busy.result():.2f} ms meanwhile, {1000 * quiet:.2f} ms before")
        report.memory("reaper_s3", peak_kib(reaper), BOUND_MIB)
    stage.drop(template)


def _latency(stack, table, ended, most=None):
    """The median of a query, asked again and again over a connection of its own."""
    taken = []
    with stack.connection("granary_admin", fresh=True) as connection, connection.cursor() as cursor:
        while not ended.is_set() and (most is None or len(taken) < most):
            taken.append(timed(lambda: (cursor.execute(QUERY, (table,)), cursor.fetchall())))
            ended.wait(0.005)
    return statistics.median(taken)


__all__ = ["reap_s3", "reap_s3_memory"]
