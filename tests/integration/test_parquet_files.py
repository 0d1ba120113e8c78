"""Parquet files of many other writers: what our reader finds in them is what DuckDB finds (hyparquet, where DuckDB does not
read the codec), value by value.

Which columns it does not read, and what it says of broken files, is in tests/unit/parquet/test_vectors.c.
"""

import base64
import json
import os
import struct
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from harness import TREE

sys.path.insert(0, str(TREE / "tests/peers"))
import peers  # noqa: E402

DATA = Path(os.environ.get("VECTORS_DIR", TREE / "../shared/vectors")) / "parquet-testing/data"
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# Broken on purpose: the unit test says how they are refused.
BROKEN = {"datapage_v1-corrupt-checksum.parquet", "rle-dict-uncompressed-corrupt-checksum.parquet"}
# DuckDB does not undo what Spark does to times beyond the year 292278: int96_from_spark.md says what they are.
OTHERWISE = {"int96_from_spark.parquet": {"a": [1704141296123456, 1704070800000000, 253402225200000000,
                                               1735599600000000, None, 9089380393200000000]}}
# DuckDB reads this encoding of reals only; each column has a twin of equal values in another one.
TWINS = {"byte_stream_split_extended.gzip.parquet": ("_byte_stream_split", "_plain")}

# DuckDB does not know this codec, hyparquet does; its types are text and numbers here.
BY_HYPARQUET = {"hadoop_lz4_compressed.parquet", "hadoop_lz4_compressed_larger.parquet",
                "non_hadoop_lz4_compressed.parquet"}

# What to select of a column of ours, and both answers in one form to compare them in.
ASKED = {
    "bool": "{}", "int32": "({})::varchar", "int64": "({})::varchar", "float": "({})::float::double::varchar",
    "double": "({})::varchar", "string": "hex(encode(({})::varchar))", "bytes": "hex({})", "json": "({})::varchar",
    "timestamp": "epoch_us({})::varchar", "date": "datediff('day', date '1970-01-01', {})::varchar",
    "decimal": "({})::varchar", "uuid": "({})::varchar",
}


def real(value, size):
    """By its bits, so that zeros keep their sign and every NaN is alike."""
    value = float(value)
    return "NaN" if value != value else struct.pack("<f" if size == 4 else "<d", value)


def microseconds(text):
    year, rest = text.split("-", 1)
    if len(year) == 4:
        return (datetime.fromisoformat(text[:-1] + "+00:00") - EPOCH) // timedelta(microseconds=1)
    cycles, year = divmod(int(year), 400)  # the calendar repeats; Python's ends in 9999
    return microseconds(f"{year + 2000:04}-{rest}") + (cycles - 5) * 146097 * 86400 * 10**6


OURS = {
    "bool": bool, "int32": int, "int64": int, "float": lambda value: real(value, 4), "double": lambda value: real(value, 8),
    "string": str.encode, "bytes": base64.b64decode, "json": json.dumps, "timestamp": microseconds,
    "date": lambda value: microseconds(value + "T00:00:00.000000Z") // 86400000000, "decimal": Decimal, "uuid": str,
}
THEIRS = {**OURS, "string": bytes.fromhex, "bytes": bytes.fromhex, "json": str, "timestamp": int, "date": int}


def our_columns(path):
    answer = subprocess.run([f"{os.environ['TEST_BUILD']}/tools/parquet", "--readable", path], capture_output=True,
                            check=False)
    assert answer.returncode == 0, (path.name, answer.stderr)
    lines = answer.stdout.decode().splitlines()
    types = {name: type_.partition("(")[0] for name, type_ in json.loads(lines[0]).items()}
    rows = [json.loads(line, parse_int=str) for line in lines[1:]]  # a whole -0 is an integer to JSON
    return types, {name: [None if row[name] is None else OURS[type_](row[name]) for row in rows]
                   for name, type_ in types.items()}


def their_columns(database, path, types):
    twin = TWINS.get(path.name, ("", ""))
    asked = ", ".join(f"{ASKED[type_].format(quoted(name.replace(*twin)))} as {quoted(name)}"
                      for name, type_ in types.items())
    rows = database.ask(f"select {asked} from read_parquet('{path}')")["rows"]
    return {name: [None if row[name] is None else THEIRS[type_](row[name]) for row in rows]
            for name, type_ in types.items()}


def hyparquet_columns(path, types):
    read = {**THEIRS, "string": str.encode}
    rows = peers.hyparquet_rows([path])
    return {name: [None if row[name] is None else read[type_](row[name]) for row in rows]
            for name, type_ in types.items()}


def wanted_columns(database, path, types):
    if path.name in OTHERWISE:
        return OTHERWISE[path.name]
    if path.name in BY_HYPARQUET:
        return hyparquet_columns(path, types)
    return their_columns(database, path, types) if types else {}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def test_another_reader_finds_the_same_values_from_the_files_of_other_writers():
    if not DATA.is_dir():
        pytest.skip(f"no test vectors in {DATA}; hint: set VECTORS_DIR")
    peers.install()
    compared = 0
    with peers.DuckDB() as database:
        for path in sorted(DATA.glob("*.parquet")):
            if path.name in BROKEN:
                continue
            types, found = our_columns(path)
            wanted = wanted_columns(database, path, types)
            for name in types:
                assert found[name] == wanted[name], (path.name, name)
                compared += len(found[name])
    assert compared > 40000  # values: the files are what they were
