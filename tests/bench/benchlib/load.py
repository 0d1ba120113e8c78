"""A load of one request: how much memory the writer takes, whatever comes, and how fast it is."""

import http.client
import itertools
import json
import random
from urllib.parse import quote

from harness.program import peak_kib
from harness.table import Table

from . import report
from .stage import timed

ROWS, BLOCK_ROWS = 20_000_000, 20_000
BOUND_MIB = 512
COLUMNS = {"ts": "timestamp", "host": "string", "level": "string", "service": "string", "latency": "double",
           "bytes": "int64", "message": "string"}
MARK = b"0000-00-00T00"


def load_memory(stage):
    with stage.stack() as stack:
        intake = stack.service("intake")
        table = Table(stack, "load", COLUMNS)
        answer = {}
        seconds = timed(lambda: answer.update(_load(intake.port, table, stack.token("writer"))))
        if answer["rows"] != ROWS or table.row_count() != ROWS:
            raise RuntimeError(f"expected {ROWS} rows but found {answer}")
        report.note(f"  load_memory: {ROWS / seconds:.0f} rows/s, {answer['partitions']} partitions,"
                    f" {answer['bytes'] / 1e6:.0f} MB")
        report.memory("load", peak_kib(intake.process), BOUND_MIB)


def _load(port, table, token):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)
    connection.request("POST", f"/v1/tables/{quote(table.name)}/load", _body(), {
        "Content-Type": "application/x-ndjson", "Authorization": f"Bearer {token}"}, encode_chunked=True)
    response = connection.getresponse()
    text = response.read()
    if response.status != 200:
        raise RuntimeError(f"expected 200 but found {response.status}: {text[:500]}")
    return json.loads(text)


def _body():
    """One block again and again, in another hour of some forty days each time, so that rows of many days come mixed."""
    block = _block()
    hours = itertools.cycle(f"2026-{month:02}-{day:02}T{hour:02}".encode()
                            for hour in range(24) for month in (1, 2) for day in range(1, 21))
    for _ in range(ROWS // BLOCK_ROWS):
        yield block.replace(MARK, next(hours))


def _block():
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 7))) for _ in range(512)]
    return "".join(
        f'{{"ts":"{MARK.decode()}:{number // 60 % 60:02}:{number % 60:02}.{number:06}Z","host":"host-{chance.randrange(200)}",'
        f'"level":"level{chance.randrange(5)}","service":"service-{chance.randrange(40)}",'
        f'"latency":{chance.randrange(1000000) / 1000},"bytes":{chance.randrange(1000000)},'
        f'"message":"{" ".join(chance.choices(words, k=10))}"}}\n' for number in range(BLOCK_ROWS)).encode()
