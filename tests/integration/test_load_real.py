"""Data that others have made (npm vega-datasets): a table inferred from each file, the file loaded, and what is in the
partitions compared with what DuckDB finds in the file itself."""

import json
import shlex
import sys

import pytest
from harness import TREE

sys.path.insert(0, str(TREE / "tests/peers"))
import peers  # noqa: E402

DATA = TREE / "tests/peers/node_modules/vega-datasets/data"


@pytest.fixture(scope="module", autouse=True)
def installed():
    peers.install()


@pytest.fixture
def running(stack):
    stack.service("admin")
    stack.service("intake")
    return stack


def features(tmp_path):
    """The file is GeoJSON, one object: its features become rows, with geometry and id beside their properties."""
    collection = json.loads((DATA / "earthquakes.json").read_text())
    file = tmp_path / "earthquakes.ndjson"
    file.write_text("".join(json.dumps({**feature["properties"], "id": feature["id"], "geometry": feature["geometry"]})
                            + "\n" for feature in collection["features"]))
    return file


# The file, how DuckDB reads it, the timestamp column, columns to add up, columns to count distinct values of.
CSV, JSON = "read_csv('{file}', header = true)", "read_json('{file}')"
FILES = {
    "flights-3m.parquet": ("read_parquet('{file}')", "date", ["delay", "distance"], ["origin", "destination"]),
    "birdstrikes.csv": (CSV, "Flight Date", ["Cost Other", "Cost Repair", "Speed IAS in knots"],
                        ["Airport Name", "Wildlife Species"]),
    "seattle-weather-hourly-normals.csv": (CSV, "date", ["pressure", "temperature", "wind"], []),
    "football.json": (JSON, "date", ["home_score", "away_score"], ["division", "home_team"]),
    "earthquakes.ndjson": (JSON, "time", ["mag", "sig", "gap", "rms"], ["place", "id"]),
}


def name_in_table(column):
    return column.replace(" ", "_")


def summary(source, numbers, texts, rename):
    """Rows, and of each column how many values there are and what they add up to, or how many differ."""
    asked = ['count(*) as "rows"']
    for column in numbers:
        asked += [f'count("{rename(column)}") as "{column} count"', f'sum("{rename(column)}")::double as "{column} sum"']
    asked += [f'count(distinct "{rename(column)}") as "{column} distinct"' for column in texts]
    (row,) = peers.duckdb_rows(f"select {', '.join(asked)} from {source}")
    return {name: float(value) for name, value in row.items()}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_inferred_loaded_and_found_again(running, tmp_path, name):
    reader, timestamp, numbers, texts = FILES[name]
    file = features(tmp_path) if name == "earthquakes.ndjson" else DATA / name
    proposed = running.cli_json("table", "create", "demo.real", "--infer", file)
    assert proposed["timestamp"] == name_in_table(timestamp)
    assert "--timestamp" in proposed["command"] and running.cli("table", "ls", "--output", "json") == ""
    running.cli("table", "create", "demo.shown", "--infer", file)
    shown = running.cli_json("table", "create", "demo.shown", "--infer", file)["command"]
    running.cli(*shlex.split(shown.replace("\\\n", " "))[1:])  # what it prints makes the table that it proposes
    # Flights of three months are in three thousand hours; one partition for each day would be tested for nothing.
    running.cli("table", "create", "demo.real", "--infer", file, "--yes", "--set", "partition.width=3650d")

    made, printed = (running.cli_json("table", "show", name) for name in ("demo.real", "demo.shown"))
    assert printed["schema"] == made["schema"]
    expected = summary(reader.format(file=file), numbers, texts, lambda column: column)
    dry = running.cli_json("load", "demo.real", file, "--dry-run", seconds=200)
    assert (dry["rows"], dry["rejected"], dry["committed"]) == (expected["rows"], 0, False), dry["rejects"][:3]
    done = running.cli_json("load", "demo.real", file, seconds=200)
    assert (done["rows"], done["rejected"]) == (expected["rows"], 0)

    paths = [str(running.store / row["path"]) for row in running.sql("select path from granary.partitions where active")]
    pairs = {pair["key"]: pair["value"] for pair in peers.hyparquet_footer(paths[0])["key_value_metadata"]}
    assert paths[0].endswith(f"{pairs['granary.partition_id']}.parquet") and pairs["granary.schema_version"] == "1"
    assert pairs["granary.table_id"] == made["table_id"]
    found = summary(f"read_parquet({paths!r})", numbers, texts, name_in_table)
    assert found == pytest.approx(expected, rel=1e-9)
    assert int(running.cli("count", "demo.real").strip()) == expected["rows"]
    assert running.cli_json("load", "demo.real", file)["duplicate"] is True
