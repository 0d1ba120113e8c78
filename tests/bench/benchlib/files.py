"""Parquet files on one thread: written, read, selected from, made of text, merged; against DuckDB on one thread with the same
rows. The figures are rows (or queries) per second of the processor, so that others on the machine weigh less.

Beside each stands a limit: what the same bytes cost where only that is done which nobody can do without."""

import json
import os
import tempfile
from pathlib import Path

import peers

from . import BUILD, report
from .stage import tool

ROWS = int(os.environ.get("BENCH_ROWS") or 5_000_000)
RUNS = int(os.environ.get("BENCH_RUNS") or 3)
INPUTS = 10
WIDE_INPUTS, WIDE_ROWS, WIDE_BOUND_MIB = 100, 1_500_000, 512  # 50 MB each
QUERIES = 20  # at once
SHARE = 0.01  # of the time that a selective query asks for
PARQUET = "(format parquet, compression zstd, compression_level 3, row_group_size 131072)"
SUMS = ("count(*) as rows, epoch_us(min(ts)) as first, count(host) + count(level) + count(service) as names,"
        " sum(latency) as latency, sum(load) as load, sum(bytes) as sum, sum(strlen(message)) as text")
TIME = "strftime(ts at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') as ts"
TYPES = {"ts": "TIMESTAMP", "host": "VARCHAR", "level": "VARCHAR", "service": "VARCHAR", "latency": "DOUBLE",
         "load": "DOUBLE", "bytes": "BIGINT", "message": "VARCHAR"}


class Work:
    """The rows in a file of ours, and DuckDB with the same rows in a table. Made once for all benches of a run."""

    def __init__(self, stage):
        self.folder = Path(stage.enter(tempfile.TemporaryDirectory(dir=BUILD, prefix="bench-")))
        self.database = database = stage.enter(peers.DuckDB())
        self.rows_file = self.path("rows.parquet")
        self.made = self.files("generate", self.rows_file, ROWS)
        database.ask("set timezone = 'UTC'", "set preserve_insertion_order = true",
                     f"create table rows as select * from read_parquet('{self.rows_file}')")
        self.costs = self.files("limit", self.rows_file, self.path("moved"))

    def path(self, name):
        return str(self.folder / name)

    def files(self, *arguments):
        return json.loads(tool("bench_files", *arguments))

    def ours(self, *arguments):
        return json.loads(tool("bench_parquet", *arguments))

    def ask(self, statement):
        answer = self.database.ask(statement)
        return answer["cpu_seconds"][0], answer["rows"]

    def limit(self, what):
        return ROWS / self.costs[what]


def compare(name, ours, peer, limit, of, units=ROWS):
    """Runs both in turn. Each returns the seconds of the processor that `units` took."""
    pairs = [(units / ours(), units / peer()) for _ in range(RUNS)]
    report.line(name, *zip(*pairs), limit=limit, of=of)


# --- one file --------------------------------------------------------------------------------------------------------
def parquet_write(stage):
    work = stage.shared(Work)
    output, other = work.path("ours.parquet"), work.path("duckdb.parquet")
    compare("parquet_write", lambda: work.ours("write", work.rows_file, output)["seconds"],
            lambda: work.ask(f"copy rows to '{other}' {PARQUET}")[0], work.limit("compress"), "zstd 3 alone")


def parquet_size(stage):
    work = stage.shared(Work)
    other = work.path("size.parquet")
    work.ask(f"copy rows to '{other}' {PARQUET}")
    report.less("parquet_size", work.made["bytes"], os.path.getsize(other))


def parquet_read(stage):
    work = stage.shared(Work)
    def ours():
        answer = work.ours("read", work.rows_file)
        same_sums(answer, asked[1])
        return answer["seconds"]

    asked = work.ask(f"select {SUMS} from read_parquet('{work.rows_file}')")
    compare("parquet_read", ours, lambda: work.ask(f"select {SUMS} from read_parquet('{work.rows_file}')")[0],
            work.limit("read"), "page cache, checksum and zstd alone")


def parquet_read_selective(stage):
    work = stage.shared(Work)
    (row,) = work.ask("select epoch_us(min(ts)) as first, epoch_us(max(ts)) as last from rows")[1]
    first, last = int(row["first"]), int(row["last"])
    begin = first + (last - first) // 2
    end = begin + int((last - first) * SHARE)
    query = (f"select count(service) as rows, sum(latency) as latency from read_parquet('{work.rows_file}')"
             f" where ts >= make_timestamptz({begin}) and ts < make_timestamptz({end})")
    _, (wanted,) = work.ask(query)

    def ours():
        answer = work.ours("select", work.rows_file, begin, end, QUERIES)
        same_sums(answer, [wanted])
        return answer["seconds"]

    compare("parquet_read_selective", ours, lambda: sum(work.database.ask(*[query] * QUERIES)["cpu_seconds"]),
            work.limit("read") / ROWS / SHARE / (3 / len(TYPES)), "zstd on the share of rows and columns", QUERIES)


def same_sums(ours, rows):
    (row,) = rows
    for name, value in row.items():
        if abs(float(value) - ours[name]) > 1e-8 * abs(ours[name]):
            raise RuntimeError(f"expected {name} {value} but found {ours[name]}")


# --- from text -------------------------------------------------------------------------------------------------------
def ndjson_to_parquet(stage):
    work = stage.shared(Work)
    text = work.path("rows.ndjson")
    work.ask(f"copy (select * replace ({TIME}) from rows) to '{text}' (format json)")
    columns = ", ".join(f"{name}: '{type_}'" for name, type_ in TYPES.items())
    _from_text(work, "ndjson", text,
               f"read_json('{text}', format = 'newline_delimited', columns = {{{columns}}})")


def csv_to_parquet(stage):
    work = stage.shared(Work)
    text = work.path("rows.csv")
    work.ask(f"copy (select * replace ({TIME}) from rows) to '{text}' (format csv, header true)")
    columns = ", ".join(f"'{name}': '{type_}'" for name, type_ in TYPES.items())
    _from_text(work, "csv", text, f"read_csv('{text}', header = true, auto_detect = false, columns = {{{columns}}})")


def _from_text(work, kind, text, source):
    output, other = work.path("ours.parquet"), work.path("duckdb.parquet")

    def ours():
        answer = work.ours(kind, text, output)
        if answer["rows"] != ROWS or answer["rejects"]:
            raise RuntimeError(f"expected {ROWS} rows but found {answer}")
        return answer["seconds"]

    compare(f"{kind}_to_parquet", ours, lambda: work.ask(f"copy (select * from {source}) to '{other}' {PARQUET}")[0],
            work.limit("compress"), "zstd 3 alone")
    os.unlink(text)


# --- merging ---------------------------------------------------------------------------------------------------------
def merge_overlapping(stage):
    work = stage.shared(Work)
    _merge(work, "overlapping", work.limit("compress"), "zstd 3 alone")


def merge_disjoint(stage):
    work = stage.shared(Work)
    _merge(work, "disjoint", work.limit("move"), "reading, SHA-256 and writing alone")


def merge_memory_wide(stage):
    """The same file under many names: every row ties with one of each of the others."""
    folder = Path(stage.enter(tempfile.TemporaryDirectory(dir=BUILD, prefix="bench-")))
    tool("bench_files", "generate", folder / "0", WIDE_ROWS)
    for number in range(1, WIDE_INPUTS):
        os.link(folder / "0", folder / str(number))
    answer = json.loads(tool("bench_parquet", "merge", folder, "out", *range(WIDE_INPUTS)))
    report.note(f"  merge_memory_wide: {WIDE_INPUTS} inputs of {(folder / '0').stat().st_size / 1e6:.0f} MB,"
                f" {answer['rows'] / answer['seconds']:.0f} rows/s")
    report.memory("merge_wide", answer["peak_kib"], WIDE_BOUND_MIB)


def _merge(work, how, limit, of):
    work.files("split", work.rows_file, work.folder, INPUTS, how)
    names = [f"{how}-{number:03}.parquet" for number in range(INPUTS)]
    source = f"read_parquet({[work.path(name) for name in names]!r})"
    output, other = f"{how}.parquet", work.path("duckdb.parquet")

    def ours():
        Path(work.path(output)).unlink(missing_ok=True)
        answer = work.ours("merge", work.folder, output, *names)
        if answer["rows"] != ROWS:
            raise RuntimeError(f"expected {ROWS} rows but found {answer}")
        return answer["seconds"]

    compare(f"merge_{how}", ours, lambda: work.ask(f"copy (select * from {source} order by ts) to '{other}' {PARQUET}")[0],
            limit, of)
    same_rows(work, work.path(output), other)


def same_rows(work, ours, theirs):
    """Neither has a row more, nor another order of time."""
    counts = [work.ask(f"select count(*) as n from (from read_parquet('{a}') except all from read_parquet('{b}'))")[1]
              for a, b in ((ours, theirs), (theirs, ours))] if ROWS <= 1_000_000 else []
    if any(row["n"] != "0" for (row,) in counts):
        raise RuntimeError(f"expected the same rows but found {counts}")
    sums = [work.ask(f"select {SUMS} from read_parquet('{path}')")[1][0] for path in (ours, theirs)]
    same_sums({name: float(value) for name, value in sums[0].items()}, sums[1:])


BENCHES = {bench.__name__: bench for bench in (
    parquet_write, parquet_size, parquet_read, parquet_read_selective, ndjson_to_parquet, csv_to_parquet,
    merge_overlapping, merge_disjoint, merge_memory_wide)}
