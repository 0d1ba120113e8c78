"""Rows over HTTP: many in bodies of a megabyte until they are queryable, and few in each of very many requests."""

import http.client
import json
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

import peers
from harness.table import Table
from stacklib.processes import wait_until

from . import BUILD, report
from .stage import sync_file, timed, tool

RUNS = 3
ROWS = 1_500_000
BODY_BYTES = 1 << 20
SENDERS = 16
COLUMNS = {"ts": "timestamp", "host": "string", "level": "string", "service": "string", "latency": "double",
           "bytes": "int64", "message": "string"}
DUCKDB_TYPES = {"timestamp": "TIMESTAMP", "string": "VARCHAR", "double": "DOUBLE", "int64": "BIGINT"}
SMALL_ROWS, CONNECTIONS, SECONDS = 5, 32, 5


def intake_ndjson(stage):
    bodies = list(_bodies(_lines(ROWS)))
    ours, theirs = [], []
    with stage.stack() as stack:
        intake = stack.service("intake")
        files = _write_files(stack.directory, bodies)
        for number in range(RUNS):
            table = Table(stack, f"run{number}", COLUMNS)
            stage.settle()
            ours.append(ROWS / timed(lambda: _send_and_wait(stack, intake, table, bodies)))
            stage.settle()
            theirs.append(ROWS / _duckdb(stack.directory, files))
    report.line("intake_ndjson", ours, theirs)


def intake_small(stage):
    body = "".join(_lines(SMALL_ROWS))
    report.note(f"  intake_small: {SMALL_ROWS} rows in {len(body)} bytes")
    ours, theirs = [], []
    with stage.stack() as stack:
        intake = stack.service("intake")
        table = Table(stack, "small", COLUMNS)
        for _ in range(RUNS):
            ours.append(_posts(intake.port, f"/v1/tables/{table.name}/rows", stack.token("writer"), body))
            theirs.append(_nothing(body))
    report.line("intake_small", ours, theirs)


# --- ours ------------------------------------------------------------------------------------------------------------
def _send_and_wait(stack, intake, table, bodies):
    """Several at once, each with a key, so that a repetition would add nothing."""
    def send(part):
        connection = http.client.HTTPConnection("127.0.0.1", intake.port, timeout=120)
        for number in range(part, len(bodies), SENDERS):
            connection.request("POST", f"/v1/tables/{quote(table.name)}/rows", bodies[number], {
                "Content-Type": "application/x-ndjson", "Idempotency-Key": f"{table.name}-{number}",
                "Authorization": f"Bearer {stack.token('writer')}"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 202:
                raise RuntimeError(f"expected 202 but found {answer.status}: {text[:500]}")
        connection.close()

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, range(SENDERS)))
    wait_until(lambda: table.row_count() >= ROWS, 300, "all rows to be queryable", interval=0.01)


def _posts(port, path, token, body):
    answer = json.loads(tool("bench_posts", port, path, token, CONNECTIONS, SECONDS, input=body))
    if answer["refused"]:
        raise RuntimeError(f"expected every post to be taken but found {answer}")
    return answer["posts"] / answer["seconds"]


# --- the peers -------------------------------------------------------------------------------------------------------
def _duckdb(directory, files):
    output = directory / "duckdb.parquet"
    columns = ", ".join(f"{name}: '{DUCKDB_TYPES[type_]}'" for name, type_ in COLUMNS.items())
    (seconds,), _ = peers.duckdb(
        f"copy (select * from read_json({files!r}, format = 'newline_delimited', columns = {{{columns}}}) order by ts)"
        f" to '{output}' (format parquet, compression zstd, compression_level 3, row_group_size 131072)",
        threads=os.cpu_count())
    return seconds + timed(lambda: sync_file(output))


def _nothing(body):
    """libmicrohttpd, on as many threads as intake listens with."""
    with subprocess.Popen([BUILD / "bench/bench_nothing", str(os.cpu_count())], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as server:
        try:
            return _posts(int(server.stdout.readline()), "/", "none", body)
        finally:
            server.stdin.close()


# --- the rows --------------------------------------------------------------------------------------------------------
def _lines(count):
    """Rows of a log, nearly in the order of time, all of today."""
    chance = random.Random(1)
    start = datetime.now(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 7))) for _ in range(512)]
    for number in range(count):
        at = start + timedelta(microseconds=number * 50 + chance.randrange(2_000_000))
        yield (f'{{"ts":"{at.isoformat(timespec="microseconds")[:26]}Z","host":"host-{chance.randrange(200)}",'
               f'"level":"level{chance.randrange(5)}","service":"service-{chance.randrange(40)}",'
               f'"latency":{chance.randrange(1000000) / 1000},"bytes":{chance.randrange(1000000)},'
               f'"message":"{" ".join(chance.choices(words, k=10))}"}}\n')


def _bodies(lines):
    gathered, size = [], 0
    for line in lines:
        gathered.append(line)
        size += len(line)
        if size >= BODY_BYTES:
            yield "".join(gathered).encode()
            gathered, size = [], 0
    if gathered:
        yield "".join(gathered).encode()


def _write_files(directory, bodies):
    files = []
    for number, body in enumerate(bodies):
        path = directory / f"{number}.ndjson"
        path.write_bytes(body)
        files.append(str(path))
    return files
