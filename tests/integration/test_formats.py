"""Rows in every format that is taken: the same rows come out, and what is bad is rejected by the same words."""

import csv
import gzip
import io
import sys

import pytest
from harness import TREE
from harness.table import Table, ndjson

sys.path.insert(0, str(TREE / "tests/peers"))
import peers  # noqa: E402

COLUMNS = {"ts": "timestamp", "path": "string", "size": "int64", "ratio": "double", "day": "date", "price": "decimal(9,2)",
           "uid": "uuid", "flag": "bool"}
COUNT = 300


def make_rows():
    return [{"ts": f"2026-11-01T{n // 60:02}:{n % 60:02}:00.000000Z", "path": None if n % 7 == 0 else f'a "{n}",\nb é',
             "size": None if n % 5 == 0 else n * 2**40, "ratio": n / 7, "day": "2026-02-28", "price": f"{n}.50",
             "uid": f"00000000-0000-0000-0000-{n:012}", "flag": n % 2 == 0} for n in range(COUNT)]


def as_csv(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(COLUMNS)[::-1], lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return "\ufeff".encode() + text.getvalue().encode()


def as_parquet(rows, folder):
    """By DuckDB, with its own types."""
    lines, file = folder / "rows.ndjson", folder / "rows.parquet"
    lines.write_bytes(ndjson(rows))
    peers.install()
    peers.duckdb("set timezone = 'UTC'",
                 f"copy (select ts::timestamptz as ts, path, size::bigint as size, ratio::double as ratio, day::date as day,"
                 f" price::decimal(9,2) as price, uid::uuid as uid, flag::boolean as flag from read_json('{lines}',"
                 f" format = 'newline_delimited', columns = {{ts: 'VARCHAR', path: 'VARCHAR', size: 'BIGINT', ratio: 'DOUBLE',"
                 f" day: 'VARCHAR', price: 'VARCHAR', uid: 'VARCHAR', flag: 'BOOLEAN'}})) to '{file}' (format parquet)")
    return file.read_bytes()


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_rows_in_other_formats_read_back_as_sent(stack, tmp_path, kind):
    table = Table(stack, columns=COLUMNS)
    stack.service("intake")
    rows = make_rows()
    body = as_parquet(rows, tmp_path) if kind == "parquet" else as_csv(rows)
    headers = {"Content-Type": "application/vnd.apache.parquet" if kind == "parquet" else "text/csv; charset=utf-8"}
    if kind == "csv.gz":
        body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
    answer = table.land(body, headers=headers)
    assert (answer.json["rows"], answer.json["rejected"]) == (COUNT, 0), answer.json
    assert sorted(table.rows(), key=lambda row: row["uid"]) == rows


def test_bad_rows_of_csv_are_rejects_word_for_word(stack):
    table = Table(stack, columns=COLUMNS)
    stack.service("intake")
    body = (b"ts,path,size\r\n2026-11-01T00:00:00Z,\"a, b\",x\r\n2026-11-01T00:00:00Z,good,1\r\n\r\n2026-11-01T00:00:00Z,1\r\n"
            b"2026-11-01 00:00:00 CET,a,1\r\n")
    answer = table.land(body, headers={"Content-Type": "text/csv"})
    assert (answer.json["rows"], answer.json["rejected"]) == (1, 3), answer.json
    assert [(reject["row"], reject["column"], reject["text"]) for reject in table.rejects()] == [
        (1, "size", b'2026-11-01T00:00:00Z,"a, b",x'),
        (3, None, b"2026-11-01T00:00:00Z,1"),
        (4, "ts", b"2026-11-01 00:00:00 CET,a,1"),
    ]
    refused = table.post(b"ts,colour\n2026-11-01,red\n", headers={"Content-Type": "text/csv"})
    assert refused.status == 400
    assert 'columns of the table but found "colour"' in refused.json["error"]["message"]


def test_columns_say_how_their_times_are_written(stack):
    stack.service("admin")
    stack.service("intake")
    stack.cli("table", "create", "demo.visits", "--column", "at:timestamp:format=strftime:%d/%b/%Y:%H:%M:%S %z",
              "--column", "seen:timestamp:format=epoch_ms", "--column", "born:date:format=strftime:%d.%m.%Y", "--timestamp", "at")
    answer = stack.request("intake", "POST", "/v1/tables/demo.visits/rows?wait=committed&timeout=200s",
                           b"at,seen,born\n10/Nov/2026:13:55:36 -0700,1709204400001,29.02.2024\n2026-11-10,1,29.02.2023\n",
                           {"Content-Type": "text/csv"}, token="writer")
    assert answer.status == 200, answer
    assert (answer.json["rows"], answer.json["rejected"]) == (1, 1), answer.json
    assert answer.json["rejects"][0]["reason"] == (
        'expected a time such as the pattern %d/%b/%Y:%H:%M:%S %z says but found "2026-11-10"')
    scanned = stack.cli("scan", "demo.visits")
    assert '"at":"2026-11-10T20:55:36.000000Z","seen":"2024-02-29T11:00:00.001000Z","born":"2024-02-29"' in scanned
