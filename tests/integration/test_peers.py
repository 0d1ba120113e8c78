"""Files that we write, read by DuckDB, hyparquet and parquet-wasm; and files that DuckDB writes, read by us: equal values for
every type, pattern of nulls, encoding and codec."""

import base64
import json
import math
import os
import random
import struct
import subprocess
import sys
import uuid
from datetime import date, timedelta
from decimal import Decimal

import pytest
from harness import TREE
from test_parquet_files import our_columns, their_columns

sys.path.insert(0, str(TREE / "tests/peers"))
import peers  # noqa: E402

ROWS, ROW_GROUP_ROWS, PAGE_BYTES = 400, 170, 400
CODECS = {"none": -1, "zstd": 3}
START = 1_700_000_000_000_000


@pytest.fixture(scope="module", autouse=True)
def installed():
    peers.install()


# --- values ----------------------------------------------------------------------------------------------------------
def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


# For each type: any value, and a value that rises with the row. In the form in which they are compared.
TYPES = {
    "bool": (lambda chance: chance.random() < 0.5, lambda row: row > 100),
    "int32": (lambda chance: chance.choice([-2**31, 2**31 - 1, chance.randint(-2**31, 2**31 - 1)]), lambda row: row * 3),
    "int64": (lambda chance: chance.choice([-2**63, 2**63 - 1, chance.randint(-2**63, 2**63 - 1)]),
              lambda row: row * 7 - 2**40),
    "float": (lambda chance: single(chance.choice([0.0, -0.0, chance.uniform(-1e30, 1e30)])), lambda row: single(row / 10)),
    "double": (lambda chance: chance.choice([-0.0, 5e-324, chance.uniform(-1, 1) * 10 ** chance.randint(-200, 200)]),
               lambda row: row / 10),
    "string": (lambda chance: "".join(chance.choices("abcdeföß€😀 ", k=chance.randrange(100))), lambda row: f"row {row:06}"),
    "bytes": (lambda chance: chance.choice([b"", b"\xff" * 70, chance.randbytes(chance.randrange(80))]),
              lambda row: b"%06d" % row),
    "timestamp": (lambda chance: chance.randint(-10**15, 4 * 10**15), lambda row: START + row * 1000),
    "date": (lambda chance: chance.randint(-100000, 100000), lambda row: 19000 + row // 20),
    "decimal(18,4)": (lambda chance: Decimal(chance.randint(-10**18 + 1, 10**18 - 1)).scaleb(-4),
                      lambda row: Decimal(row).scaleb(-4)),
    "decimal(5,2)": (lambda chance: Decimal(chance.randint(-99999, 99999)).scaleb(-2), lambda row: Decimal(row).scaleb(-2)),
    "uuid": (lambda chance: str(uuid.UUID(int=chance.getrandbits(128))), lambda row: str(uuid.UUID(int=row))),
    "json": (lambda chance: json.dumps({"n": chance.randrange(10**9)}, separators=(",", ":")), lambda row: f"[{row}]"),
}
# Which of the encodings a column gets depends on what is in it.
SHAPES = {
    "constant": lambda any_value, rising, chance: [any_value(chance)] * ROWS,
    "few": lambda any_value, rising, chance: chance.choices([any_value(chance) for _ in range(5)], k=ROWS),
    "rising": lambda any_value, rising, chance: list(map(rising, range(ROWS))),
    "drawn": lambda any_value, rising, chance: [any_value(chance) for _ in range(ROWS)],
}
# True where the row is null. "required" is a column that may not have any.
NULLS = {
    "required": lambda row, chance: False,
    "never": lambda row, chance: False,
    "always": lambda row, chance: True,
    "in_turn": lambda row, chance: row % 2 == 0,
    "at_first": lambda row, chance: row < ROWS // 2,
    "drawn": lambda row, chance: chance.random() < 0.2,
    "but_one": lambda row, chance: row != ROWS - 7,
}


def made_columns():
    """{name: (type, nullable, values)}, the same every time."""
    chance = random.Random(20260101)
    columns = {"ts": ("timestamp", False, [START + row for row in range(ROWS)])}
    for type_, makers in TYPES.items():
        for shape, make in SHAPES.items():
            for pattern, is_null in NULLS.items():
                name = f"{type_.translate(str.maketrans('(,', '__', ')'))}_{shape}_{pattern}"
                values = [None if is_null(row, chance) else value for row, value in enumerate(make(*makers, chance))]
                columns[name] = (type_, pattern != "required", values)
    return columns


def sent(type_, value):
    if value is None:
        return "null"
    forms = {"bytes": lambda: json.dumps(base64.b64encode(value).decode()), "json": lambda: value,
             "date": lambda: json.dumps((date(1970, 1, 1) + timedelta(days=value)).isoformat()),
             "decimal": lambda: json.dumps(str(value))}
    return forms.get(word(type_), lambda: json.dumps(value))()


def word(type_):
    return type_.partition("(")[0]


def write_rows(schema, rows, path, row_group_rows, level):
    path.with_suffix(".json").write_text(json.dumps(schema))
    answer = subprocess.run([f"{os.environ['TEST_BUILD']}/tools/parquet_write", path.with_suffix(".json"), path,
                             str(row_group_rows), str(PAGE_BYTES), str(level)], input=rows, text=True, capture_output=True,
                            check=False)
    assert answer.returncode == 0, answer.stderr


def write(columns, path, level):
    schema = {"timestamp": "ts", "columns": [
        {"name": name, "type": type_, "nullable": nullable, "bloom": type_ != "bool" and name.endswith("drawn")}
        for name, (type_, nullable, _) in columns.items()]}
    rows = "".join("{" + ",".join(f'"{name}":{sent(type_, values[row])}' for name, (type_, _, values) in columns.items())
                   + "}\n" for row in range(ROWS))
    write_rows(schema, rows, path, ROW_GROUP_ROWS, level)


@pytest.fixture(scope="module", params=CODECS)
def written(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("peers") / f"{request.param}.parquet"
    columns = made_columns()
    write(columns, path, CODECS[request.param])
    return path, columns


def assert_equal(found, columns, plain):
    for name, (type_, _, values) in columns.items():
        assert len(found[name]) == ROWS, name
        for row, (value, wanted) in enumerate(zip(found[name], values)):
            read = None if value is None else plain(word(type_), value, type_)
            assert read == wanted and type(read) is type(wanted), (name, row, value, wanted)


# --- ours, read by others --------------------------------------------------------------------------------------------
DUCKDB = {"bool": "{}", "string": "hex(encode({}))", "bytes": "hex({})", "timestamp": "epoch_us({})::varchar",
          "date": "datediff('day', date '1970-01-01', {})::varchar", "float": "({})::double::varchar"}


def plain_of_duckdb(kind, value, _):
    return {"bool": bool, "int32": int, "int64": int, "float": float, "double": float, "timestamp": int, "date": int,
            "string": lambda text: bytes.fromhex(text).decode(), "bytes": bytes.fromhex, "decimal": Decimal,
            "uuid": str, "json": str}[kind](value)


def test_duckdb_finds_what_we_wrote(written):
    path, columns = written
    asked = ", ".join(f"{DUCKDB.get(word(type_), '({})::varchar').format(name)} as {name}"
                      for name, (type_, _, _) in columns.items())
    rows = peers.duckdb_rows(f"select {asked} from read_parquet('{path}')")
    assert_equal({name: [row[name] for row in rows] for name in columns}, columns, plain_of_duckdb)


def test_hyparquet_finds_what_we_wrote(written):
    def plain(kind, value, _):
        if kind == "decimal":  # it computes with floating point
            return value
        return {"bool": bool, "int32": int, "int64": int, "float": float, "double": float, "timestamp": int,
                "date": lambda days: int(days) // 86400000000, "string": str, "bytes": bytes.fromhex, "uuid": str,
                "json": str}[kind](value)

    path, columns = written
    rows = peers.hyparquet_rows([path])
    found = {name: [row.get(name) for row in rows] for name in columns}
    decimals = {name for name, (type_, _, _) in columns.items() if word(type_) == "decimal"}
    assert_equal(found, {name: column for name, column in columns.items() if name not in decimals}, plain)
    for name in decimals:
        for value, wanted in zip(found[name], columns[name][2]):
            assert value is wanted is None or math.isclose(value, wanted, rel_tol=1e-15), name


def test_parquet_wasm_finds_what_we_wrote(written):
    def plain(kind, value, type_):
        if kind == "decimal":
            return Decimal(int(value)).scaleb(-int(type_[:-1].partition(",")[2]))
        return {"bool": bool, "int32": int, "int64": int, "float": float, "double": float, "timestamp": int, "date": int,
                "string": str, "bytes": bytes.fromhex, "uuid": lambda text: str(uuid.UUID(text)), "json": str}[kind](value)

    path, columns = written
    found = peers.parquet_wasm_columns(path)
    for name, (type_, _, _) in columns.items():
        if word(type_) == "float":  # the shortest text of a number that has 24 bits
            found[name] = [None if value is None else single(float(value)) for value in found[name]]
    assert_equal(found, columns, plain)


def test_what_we_wrote_has_every_encoding_an_index_and_filters(written):
    path, columns = written
    with peers.DuckDB() as database:
        rows = database.ask(f"select path_in_schema as name, encodings, bloom_filter_offset from parquet_metadata('{path}')")
        encodings = {word_ for row in rows["rows"] for word_ in row["encodings"].split(", ")}
        assert encodings >= {"PLAIN", "RLE", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY"}
        assert "BYTE_STREAM_SPLIT" in encodings or path.stem == "none"  # without compression it gains nothing
        assert {row["name"] for row in rows["rows"] if row["bloom_filter_offset"]} == {
            name for name, (type_, _, _) in columns.items() if type_ != "bool" and name.endswith("drawn")}
        for name in ("int64_drawn_drawn", "string_drawn_drawn"):
            present = next(value for value in columns[name][2][ROW_GROUP_ROWS:] if value is not None)
            literal = present if isinstance(present, int) else "'" + present.replace("'", "''") + "'"
            absent = 12345 if isinstance(present, int) else "'not there'"
            assert probe(database, path, name, literal)[1] is False  # not excluded: it is in the second row group
            assert all(probe(database, path, name, absent))


def probe(database, path, name, literal):
    """For each row group, whether its filter excludes the value."""
    rows = database.ask(f"select * from parquet_bloom_probe('{path}', '{name}', {literal}) order by row_group_id")["rows"]
    return [row["bloom_filter_excludes"] for row in rows]


def test_hyparquet_finds_the_order_of_rows_and_the_ids_of_columns(tmp_path):
    path = tmp_path / "sorted.parquet"
    schema = {"timestamp": "ts", "sort": [{"column": "name", "descending": True}, {"column": "ts"}], "columns": [
        {"name": "ts", "type": "timestamp", "nullable": False, "id": 7}, {"name": "n", "type": "int64", "id": 3},
        {"name": "name", "type": "string", "id": 12}]}
    rows = [{"ts": 2, "name": "b"}, {"ts": 1, "name": "a"}, {"ts": 2, "name": "a"}, {"ts": 1}]
    write_rows(schema, "".join(json.dumps(row) + "\n" for row in rows), path, 2, 3)
    footer = peers.hyparquet_footer(path)
    assert [(element["name"], element["field_id"]) for element in footer["schema"][1:]] == [("ts", 7), ("n", 3), ("name", 12)]
    assert [group["sorting_columns"] for group in footer["row_groups"]] == 2 * [[
        {"column_idx": 2, "descending": True, "nulls_first": False},
        {"column_idx": 0, "descending": False, "nulls_first": False}]]
    assert footer["created_by"].startswith("granary version ")


def test_hyparquet_takes_our_page_index(written):
    """A filter makes it read the column index, also of columns with pages of nulls only."""
    path, columns = written
    day = 86400000000
    if path.stem == "none":
        return  # the index does not depend on the codec
    for name, least, unit in (("int64_rising_at_first", 300 * 7 - 2**40, 1), ("date_rising_at_first", 19015, 86400000000),
                              ("timestamp_rising_at_first", START + 350_000, 1), ("string_rising_in_turn", "row 000350", 1)):
        limit = str(least * unit) if isinstance(least, int) else least
        rows = peers.hyparquet_rows([path], {name: {"$gte": limit}})
        values = [value for value in columns[name][2] if value is not None and value >= least]
        assert len(rows) == len(values) > 0, name


# --- DuckDB's, read by us --------------------------------------------------------------------------------------------
THEIRS = {
    "boolean": "r % 3 = 0", "tinyint": "(r % 256 - 128)::tinyint", "smallint": "(r * 91 % 65536 - 32768)::smallint",
    "integer": "(r * 7919 - 2147483648)::integer", "bigint": "(hash(r) % 9223372036854775807)::bigint",
    "utinyint": "(r % 256)::utinyint", "usmallint": "(r * 91 % 65536)::usmallint", "uinteger": "(4294967295 - r)::uinteger",
    "ubigint": "(r * 123456789)::ubigint", "float": "(r / 7)::float", "double": "sin(r)",
    "decimal_4": "((r % 1999 - 999) / 10)::decimal(4, 1)", "decimal_9": "(r * 1000.25)::decimal(9, 2)",
    "decimal_18": "(r * 123456789.125)::decimal(18, 3)", "decimal_38": "(r * 5)::decimal(38, 3)",
    "date": "date '2000-01-01' + (r % 20000)::integer", "time": "time '00:00:00' + to_seconds(r % 86400)",
    "timestamp": "timestamp '2001-02-03 04:05:06.789' + to_seconds(r * 1000)",
    "timestamp_s": "(timestamp '1969-01-01' + to_seconds(r * 1000))::timestamp_s",
    "timestamp_ms": "(timestamp '1969-01-01' + to_milliseconds(r * 999))::timestamp_ms",
    "timestamp_ns": "(timestamp '2020-01-01' + to_microseconds(r * 999))::timestamp_ns",
    "timestamptz": "timestamptz '2020-01-01 00:00:00+00' + to_microseconds(r * 999)",
    "varchar": "repeat(chr((65 + r % 26)::integer), (r % 50)::integer) || '€'", "blob": "encode(md5(r::varchar))",
    "uuid": "md5(r::varchar)::uuid", "few": "list_extract(['a', 'bb', ''], 1 + r % 3)", "one": "42", "json": "(case when r % 2 = 0 then 'true' else '\"x\"' end)::json",
}
SHARES = {"none": "false", "all": "true", "some": "hash(r, {seed}) % 5 = 0", "first": "r < 2100"}
OPTIONS = [f"compression {codec}, parquet_version {version}, row_group_size 2048"
           for codec in ("uncompressed", "snappy", "gzip", "zstd", "lz4_raw") for version in ("v1", "v2")]


def test_we_find_what_duckdb_wrote(tmp_path):
    asked = ", ".join(f"case when {condition.format(seed=seed)} then null else {value} end as {name}_{nulls}"
                      for seed, (name, value) in enumerate(THEIRS.items()) for nulls, condition in SHARES.items())
    with peers.DuckDB() as database:
        database.ask("set timezone = 'UTC'", f"create table made as select {asked} from range(2500) t(r)")
        for number, options in enumerate(OPTIONS):
            path = tmp_path / f"{number}.parquet"
            database.ask(f"copy made to '{path}' (format parquet, {options})")
            types, found = our_columns(path)
            assert len(types) == len(THEIRS) * len(SHARES), options
            times = {name for name in types if name.startswith("time_")}  # microseconds since midnight, to us
            wanted = their_columns(database, path, {name: type_ for name, type_ in types.items() if name not in times})
            for name in times:
                rows = database.ask(f"select datediff('microsecond', time '00:00:00', {name})::varchar as us"
                                    f" from read_parquet('{path}')")["rows"]
                wanted[name] = [None if row["us"] is None else int(row["us"]) for row in rows]
            for name in types:
                assert found[name] == wanted[name], (options, name)
