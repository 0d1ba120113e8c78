"""Sorted partitions of one time range into one: the rewriter, from the task in its queue to the result in the other, against
DuckDB on one thread with the same files."""

import json
import time
import uuid

import peers
from harness.program import peak_kib

from . import report
from .stage import sync_file, timed, tool

INPUTS, ROWS, RUNS = 20, 100_000, 5
LARGE_ROWS = 3_300_000  # a good 100 MB a file
BOUND_MIB = 256
RESULTS = "bench.result"
LEASE_SECONDS = 600


def merge(stage):
    with stage.stack() as stack:
        work = Work(stack, ROWS)
        ours, theirs = [], []
        for _ in range(RUNS):
            stage.settle()
            ours.append(work.rows / work.rewrite())
            stage.settle()
            theirs.append(work.rows / work.duckdb())
        report.line("merge", ours, theirs)


def merge_memory(stage):
    with stage.stack() as stack:
        work = Work(stack, LARGE_ROWS)
        report.note(f"  merge_memory: {INPUTS} inputs of {work.bytes / INPUTS / 1e6:.0f} MB")
        seconds = work.rewrite()
        report.note(f"  merge_memory: {work.rows / seconds:.0f} rows/s")
        report.memory("rewriter", peak_kib(work.rewriter.process), BOUND_MIB)


class Work:
    def __init__(self, stack, rows_each):
        self.stack = stack
        self.table_id = str(uuid.uuid4())
        self.schema, *lines = tool("bench_partitions", f"file://{stack.store}", self.table_id, INPUTS,
                                   rows_each).splitlines()
        self.inputs = [json.loads(line) for line in lines]
        self.rows = sum(item["rows"] for item in self.inputs)
        self.bytes = sum(item["bytes"] for item in self.inputs)
        stack.sql("insert into granary.tables (table_id, project, name, kind, schema_version, created_by)"
                  " values (%s, 'bench', 'merge', 'user', 1, 'bench')", (self.table_id,))
        self.rewriter = stack.service("rewriter")
        channel = stack.channel()
        channel.queue_declare(RESULTS)
        channel.queue_bind(RESULTS, "granary", RESULTS)

    def rewrite(self):
        """Seconds from the task to its result."""
        task = self._task()
        started = time.monotonic()
        self.stack.publish("rewrite.large", task, type="rewrite.v1")
        result = self._result()
        seconds = time.monotonic() - started
        if not result["ok"] or result["output"]["rows"] != self.rows:
            raise RuntimeError(f"expected {self.rows} rows but found {result}")
        return seconds

    def duckdb(self):
        output = self.stack.directory / "duckdb.parquet"
        files = [str(self.stack.store / item["path"]) for item in self.inputs]
        (seconds,), _ = peers.duckdb(f"copy (select * from read_parquet({files!r}) order by ts) to '{output}'"
                                     " (format parquet, compression zstd, compression_level 3, row_group_size 131072)")
        return seconds + timed(lambda: sync_file(output))

    def _task(self):
        """An attempt as the controller would have written it. The rewriter may only renew it."""
        attempt, lock, output_lock, output = (str(uuid.uuid4()) for _ in range(4))
        tokens = [self.stack.sql_value(
            "insert into granary.locks (lock_id, kind, owner, attempt_id, expires_at) values (%s, %s, 'bench', %s,"
            f" clock_timestamp() + interval '{LEASE_SECONDS} seconds') returning token", (lock_id, kind, attempt))
            for lock_id, kind in ((lock, "merge"), (output_lock, "write"))]
        task = {"attempt": attempt, "table": self.table_id, "token": tokens[0], "epoch": 1,
                "lease_us": LEASE_SECONDS * 1000000, "result_queue": RESULTS, "schema": self.schema,
                "output": {"id": output, "path": f"{self.table_id}/2023-11-14/{output}.parquet"},
                "inputs": self.inputs}
        self.stack.sql(
            "insert into granary.attempts (attempt_id, kind, table_id, target, pool, epoch, lock_id, token, output_id,"
            " output_lock_id, task, rows_total, bytes_total) values (%s, 'merge', %s, 'large', 'large', 1, %s, %s, %s,"
            " %s, '', %s, %s)",
            (attempt, self.table_id, lock, tokens[0], output, output_lock, self.rows, self.bytes))
        return task

    def _result(self):
        for method, _, body in self.stack.channel().consume(RESULTS, auto_ack=True, inactivity_timeout=LEASE_SECONDS):
            if method is None:
                raise RuntimeError(f"no result within {LEASE_SECONDS} s:\n{self.rewriter.tail()}")
            self.stack.channel().cancel()
            return json.loads(body)


__all__ = ["merge", "merge_memory"]
