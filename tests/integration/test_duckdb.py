"""Partition files, as other engines see them: DuckDB and hyparquet find the rows that were posted, no more and no less."""

import base64
import json
import math
import operator
import os
import random
import stat
import struct
import sys
import uuid
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from harness import TREE
from harness.table import Table

sys.path.insert(0, str(TREE / "tests/peers"))
import peers  # noqa: E402

FILES = 60000
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
USR_COLUMNS = {"ts": "timestamp", "path": "string", "size": "int64", "owner": "string", "mode": "int32"}
TYPE_COLUMNS = {
    "ts": "timestamp", "row": "int64", "flag": "bool", "small": "int32", "large": "int64", "single": "float",
    "double": "double", "words": "string", "raw": "bytes", "seen": "timestamp", "day": "date",
    "price": "decimal(18,4)", "cents": "decimal(5,2)", "ident": "uuid", "doc": "json", "nothing": "string",
}
NULL_SHARE = 0.2
ROWS = 4000


@pytest.fixture(scope="module", autouse=True)
def installed():
    peers.install()


# --- asking DuckDB ---------------------------------------------------------------------------------------------------
# What to select so that nothing is lost on the way through JSON, and how to read that: by the type's first word.
AS_ASKED = {
    "bool": ("{}", lambda value: value),
    "int32": ("{}", int),
    "int64": ("{}", int),
    "float": ("({})::double::varchar", float),
    "double": ("({})::varchar", float),
    "string": ("hex(encode({}))", lambda value: bytes.fromhex(value).decode()),
    "bytes": ("hex({})", bytes.fromhex),
    "timestamp": ("epoch_us({})", int),
    "date": ("datediff('day', date '1970-01-01', {})", int),
    "decimal": ("({})::varchar", Decimal),
    "uuid": ("({})::varchar", str),
    "json": ("({})::varchar", str),
}
# What a DuckDB user sees: the logical types of the file are what the schema says.
DUCKDB_TYPES = {"bool": "BOOLEAN", "int32": "INTEGER", "int64": "BIGINT", "float": "FLOAT", "double": "DOUBLE",
                "string": "VARCHAR", "bytes": "BLOB", "timestamp": "TIMESTAMP WITH TIME ZONE", "date": "DATE",
                "decimal(18,4)": "DECIMAL(18,4)", "decimal(5,2)": "DECIMAL(5,2)", "uuid": "UUID", "json": "JSON"}


def word(type_):
    return type_.partition("(")[0]


def files(table):
    """The files of the active partitions, as SQL."""
    rows = table.stack.sql("select path from granary.partitions where table_id = %s and active order by path",
                           (table.id,))
    return [str(table.stack.store / row["path"]) for row in rows]


def source(table):
    return f"read_parquet({files(table)!r})"


def duckdb_rows(table, columns):
    asked = ", ".join(AS_ASKED[word(type_)][0].format(f'"{name}"') + f' as "{name}"' for name, type_ in columns.items())
    rows = peers.duckdb_rows(f"select {asked} from {source(table)}")
    return [{name: None if row[name] is None else AS_ASKED[word(type_)][1](row[name])
             for name, type_ in columns.items()} for row in rows]


def duckdb_summary(table, columns):
    """Per column: nulls, min, max and, of numbers, the sum."""
    asked = []
    for name, type_ in columns.items():
        pattern, column = AS_ASKED[word(type_)][0], f'"{name}"'
        asked.append(f'count(*) - count({column}) as "{name} nulls"')
        asked += [f'{pattern.format(f"{kind}({column})")} as "{name} {kind}"' for kind in ("min", "max")]
        if word(type_) in ("int32", "int64", "decimal"):
            asked.append(f'sum({column})::varchar as "{name} sum"')
    row, = peers.duckdb_rows(f"select count(*) as rows, {', '.join(asked)} from {source(table)}")
    return {name: read_summary(columns, name, value) for name, value in row.items()}


def read_summary(columns, name, value):
    column, _, kind = name.rpartition(" ")
    if value is None or not column or kind in ("nulls", "sum"):
        return value and Decimal(value)
    return AS_ASKED[word(columns[column])][1](value)


def summary(rows, columns):
    """The same of rows in Python."""
    found = {"rows": len(rows)}
    for name, type_ in columns.items():
        values = [row[name] for row in rows if row[name] is not None]
        found[f"{name} nulls"] = len(rows) - len(values)
        found[f"{name} min"], found[f"{name} max"] = (kind(values, key=order, default=None) for kind in (min, max))
        if word(type_) in ("int32", "int64", "decimal"):
            found[f"{name} sum"] = sum(map(Decimal, values)) if values else None
    return found


def order(value):
    return value.encode() if isinstance(value, str) else value


def bits(row):
    """Floats by their bits, so that a zero keeps its sign."""
    return {name: struct.pack("<d", value) if isinstance(value, float) else value for name, value in row.items()}


# --- every file under /usr -------------------------------------------------------------------------------------------
def usr_rows(most):
    rows = []
    for folder, _, names in os.walk("/usr"):
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                continue  # somebody installs something
            if stat.S_ISREG(status.st_mode):
                rows.append({"ts": status.st_mtime_ns // 1000, "path": os.fsencode(path).decode(errors="replace"),
                             "size": status.st_size, "owner": None if status.st_uid == 0 else str(status.st_uid),
                             "mode": status.st_mode})
            if len(rows) == most:
                return rows
    return rows


@pytest.fixture
def usr(stack):
    table = Table(stack, columns=USR_COLUMNS, settings={"partition.width": "90d", "intake.max_future": "never"})
    stack.service("intake")
    rows = usr_rows(FILES)
    for first in range(0, len(rows), 10000):
        assert table.post(rows[first:first + 10000]).status == 202
    table.wait_rows(len(rows))
    return table, rows


def test_duckdb_finds_every_file_under_usr(usr):
    table, rows = usr
    assert duckdb_summary(table, USR_COLUMNS) == summary(rows, USR_COLUMNS)
    found = duckdb_rows(table, USR_COLUMNS)
    by_path = {row["path"]: row for row in rows}
    assert len(found) == len(rows)
    assert [row for row in found if len(by_path) == len(rows) and row != by_path[row["path"]]] == []


def test_what_duckdb_skips_by_statistics_is_what_does_not_match(usr):
    """Filters make DuckDB look at bounds of row groups and pages first."""
    table, rows = usr
    wanted, asked = {}, []
    for name in ("ts", "size", "path"):
        middle = sorted(row[name] for row in rows)[len(rows) // 3]
        literal = {"ts": f"make_timestamptz({middle})", "size": str(middle)}.get(name)
        literal = literal or "'" + str(middle).replace("'", "''") + "'"
        for sign, holds in (("<", operator.lt), (">=", operator.ge), ("=", operator.eq)):
            wanted[f"{name} {sign}"] = sum(holds(order(row[name]), order(middle)) for row in rows)
            asked.append(f'(select count(*) from {source(table)} where "{name}" {sign} {literal}) as "{name} {sign}"')
    found, = peers.duckdb_rows(f"select {', '.join(asked)}")
    assert {name: int(value) for name, value in found.items()} == wanted


# --- every type ------------------------------------------------------------------------------------------------------
# Values in the form in which they are compared; `sent` makes JSON of them.
INT32, INT64 = (-2**31, -1, 0, 1, 2**31 - 1), (-2**63, -2**53 - 1, 0, 2**53 + 1, 2**63 - 1)
EDGES = {
    "flag": (False, True),
    "small": INT32,
    "large": INT64,
    "single": (0.0, -0.0, 1.5, -3.4028234663852886e38, 3.4028234663852886e38, 1.401298464324817e-45),
    "double": (0.0, -0.0, 0.1, -1.7976931348623157e308, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308),
    "words": ("", " ", "a", "ä€😀", "quote \" and \\ and \n", "x" * 20000, "\u0000", "NULL", "\ufeffmark"),
    "raw": (b"", b"\0", bytes(range(256)), b"\xff" * 70),
    "seen": (-62135596800000000, -1, 0, 1, 253402300799999999),
    "day": (-719162, -1, 0, 1, 2932896),
    "price": (Decimal("-99999999999999.9999"), Decimal("0.0000"), Decimal("0.0001"), Decimal("99999999999999.9999")),
    "cents": (Decimal("-999.99"), Decimal("0.00"), Decimal("999.99")),
    "ident": (str(uuid.UUID(int=0)), str(uuid.UUID(int=2**128 - 1)), str(uuid.UUID(int=1))),
    "doc": ("{}", "[]", '"text"', "1.50", "true", '{"a": [1, 2.0,  {"b":null}], "a": 2}', '"\\u00e4"'),
    "nothing": (),
}


def type_rows():
    """Each edge at least once, then what chance brings; the same rows every time."""
    chance = random.Random(20260101)
    rows = []
    for number in range(ROWS):
        row = {"ts": 1760000000000000 + chance.randrange(10**11), "row": number}
        for name, edges in EDGES.items():
            if number < len(edges):
                row[name] = edges[number]
            elif not edges or chance.random() < NULL_SHARE:
                row[name] = None
            else:
                row[name] = chance.choice(edges) if chance.random() < 0.1 else any_value(name, chance)
        rows.append(row)
    return rows


def any_value(name, chance):
    return {
        "flag": lambda: chance.random() < 0.5,
        "small": lambda: chance.randint(*INT32[::4]),
        "large": lambda: chance.randint(*INT64[::4]),
        "single": lambda: struct.unpack("<f", struct.pack("<f", chance.uniform(-1e6, 1e6)))[0],
        "double": lambda: chance.uniform(-1, 1) * 10 ** chance.randint(-200, 200),
        "words": lambda: "".join(chance.choices("abcdeföß€ ", k=chance.randrange(40))),
        "raw": lambda: chance.randbytes(chance.randrange(80)),
        "seen": lambda: chance.randint(-10**15, 4 * 10**15),
        "day": lambda: chance.randint(-100000, 100000),
        "price": lambda: Decimal(chance.randint(-10**18 + 1, 10**18 - 1)).scaleb(-4),
        "cents": lambda: Decimal(chance.randint(-99999, 99999)).scaleb(-2),
        "ident": lambda: str(uuid.UUID(int=chance.getrandbits(128))),
        "doc": lambda: json.dumps({"n": chance.randrange(1000), "s": "".join(chance.choices("xyz", k=5))}),
    }[name]()


def sent(row):
    """One line of NDJSON. A document goes as it is, so that its text can come back word for word."""
    forms = {
        "raw": lambda value: base64.b64encode(value).decode(),
        "seen": lambda value: (EPOCH + timedelta(microseconds=value)).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0"),
        "day": lambda value: (date(1970, 1, 1) + timedelta(days=value)).isoformat(),
        "price": str,
        "cents": str,
    }
    members = []
    for name, value in row.items():
        if value is None and row["row"] % 2:
            continue  # absent is null, too
        text = value if name == "doc" and value is not None else \
            json.dumps(value if value is None or name not in forms else forms[name](value))
        members.append(f'"{name}":{text}')
    return "{" + ",".join(members) + "}\n"


@pytest.fixture
def types(stack):
    table = Table(stack, columns=TYPE_COLUMNS)
    stack.service("intake")
    rows = type_rows()
    answer = table.land("".join(map(sent, rows)))
    assert (answer.json["rows"], answer.json["rejects"]) == (len(rows), []), answer
    return table, rows


def test_duckdb_finds_every_value_of_every_type(types):
    table, rows = types
    described = peers.duckdb_rows(f"describe select * from {source(table)}")
    assert {row["column_name"]: row["column_type"] for row in described} == {
        name: DUCKDB_TYPES[type_] for name, type_ in TYPE_COLUMNS.items()}
    assert duckdb_summary(table, TYPE_COLUMNS) == summary(rows, TYPE_COLUMNS)
    found = sorted(duckdb_rows(table, TYPE_COLUMNS), key=lambda row: row["row"])
    assert list(map(bits, found)) == list(map(bits, rows))


def hyparquet_value(name, value):
    type_ = word(TYPE_COLUMNS[name])
    if value is None or type_ in ("bool", "string", "json", "uuid"):
        return value
    if type_ in ("float", "double"):
        return float(value)
    if type_ == "bytes":
        return bytes.fromhex(value)
    if type_ == "date":
        return int(value) // 86400000000
    return value if type_ == "decimal" else int(value)


def test_hyparquet_finds_every_value_of_every_type(types):
    table, rows = types
    found = sorted(({name: hyparquet_value(name, row.get(name)) for name in TYPE_COLUMNS}
                    for row in peers.hyparquet_rows(files(table))), key=lambda row: row["row"])
    assert len(found) == len(rows)
    for row, wanted in zip(found, rows):
        for name, value in wanted.items():
            if isinstance(value, Decimal):  # it computes with floating point
                assert math.isclose(row[name], value, rel_tol=1e-15), (wanted["row"], name)
            else:
                assert row[name] == value, (wanted["row"], name)
