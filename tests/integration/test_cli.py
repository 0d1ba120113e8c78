"""The command line against the real services."""

import csv
import gzip
import io
import json
import subprocess

import pytest
from harness.proxy import Proxy
from stacklib import services
from stacklib.processes import wait_until

COLUMNS = ("--column", "at:timestamp", "--column", "host:string:notnull", "--column", "size:int64")
DAY_ROWS = 1000


@pytest.fixture
def running(stack):
    stack.service("admin")
    stack.service("intake", env={"GRANARY_WRITER_MAX_OPEN": "50ms"})
    return stack


def create(stack, name="demo.events", **settings):
    arguments = [part for setting, value in settings.items() for part in ("--set", f"{setting.replace('__', '.')}={value}")]
    return stack.cli_json("table", "create", name, *COLUMNS, "--timestamp", "at", "--sort", "at,host", *arguments)


def rows(day, count=DAY_ROWS):
    return "".join(json.dumps({"at": f"{day}T{i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}Z", "host": f"host{i % 7}",
                               "size": i}) + "\n" for i in range(count))


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def load(stack, day, *arguments, name="demo.events", **options):
    return json.loads(stack.cli("load", name, "-", "--key", f"key-{day}", "--output", "json", *arguments,
                                input=rows(day), **options))


# --- without any server ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("arguments, code, text", [
    ([], 64, "Usage: granary COMMAND"),
    (["tabel", "ls"], 64, 'did you mean "granary table ls"?'),
    (["hold"], 64, "hold release"),
    (["scan"], 64, "hint: granary scan TABLE"),
    (["scan", "a.b", "c.d"], 64, 'expected nothing more but found "c.d"'),
    (["scan", "a.b", "--form", "x"], 64, "did you mean --from?"),
    (["scan", "a.b", "--from", "yesterday"], 64, "--from"),
    (["table", "create", "events", "--column", "at:timestamp", "--timestamp", "at"], 64, "expected PROJECT.NAME"),
    (["table", "create", "a.b", "--column", "at:time", "--timestamp", "at"], 64, '"time"'),
    (["undo", "a.b"], 64, "--from and --to"),
    (["unpark", "x", "--to", "nowhere"], 64, "active or inactive"),
    (["status"], 78, "GRANARY_URL"),
    (["status", "--url", "http://127.0.0.1:1"], 1, "could not GET"),
    (["load", "a.b", "/nowhere"], 1, "/nowhere"),
    (["migrate"], 78, "GRANARY_MIGRATE_URL"),
])
def test_faults_of_usage_have_exit_codes_and_hints(servers, arguments, code, text):
    answer = call(servers, *arguments)
    assert answer.returncode == code and text in answer.stdout + answer.stderr, answer


def call(servers, *arguments, **env):
    return subprocess.run([servers.local.binary("granary"), *arguments], check=False, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env={**services.BASE_ENVIRONMENT, "GRANARY_TIMEOUT": "1s", **env})


def test_an_unknown_setting_is_named(servers):
    answer = call(servers, "status", GRANARY_ULR="http://127.0.0.1:1")
    assert answer.returncode == 78 and "GRANARY_ULR" in answer.stderr


def test_every_command_has_help_with_examples(servers):
    overview = call(servers, "help").stdout
    commands = [line[2:20].strip() for line in overview.split("Flags of every command")[0].splitlines()
                if line.startswith("  ") and line[20:22] == "  "]
    assert len(commands) > 30 and "table create" in commands
    for command in commands:
        answer = call(servers, *command.split(), "--help")
        assert answer.returncode == 0 and f"granary {command}" in answer.stdout.split("Examples")[1], command
    assert call(servers, "--version").stdout.startswith("granary ")


# --- tables ----------------------------------------------------------------------------------------------------------
def test_a_table_is_created_listed_changed_and_dropped(running):
    made = create(running, age__max_age="30d")
    assert made["settings"] == {"age.max_age": "30d"} and made["effective"]["reaper.max_age"] == "1d"
    assert "demo.events" in running.cli("table", "create", "demo.events", *COLUMNS, "--timestamp", "at", expect=1)
    assert [table["name"] for table in lines(running.cli("table", "ls", "--output", "json"))] == [
        "events", "events$rejects"]
    assert "events" in running.cli("table", "ls").splitlines()[1]
    shown = running.cli("table", "show", "demo.events")
    assert "host    string" in shown and "age.max_age                30d\n" in shown

    dry = running.cli("table", "set", "demo.events", "age.max_age=7d", "--dry-run")
    assert dry.startswith("nothing was changed") and running.cli_json("table", "show", "demo.events")["settings"] == {
        "age.max_age": "30d"}
    assert "effect" in running.cli("table", "set", "demo.events", "age.max_age=7d", "reaper.max_age=2d")
    assert running.cli_json("table", "show", made["table_id"])["settings"] == {"age.max_age": "7d", "reaper.max_age": "2d"}
    running.cli("table", "set", "demo.events", "reaper.max_age=")
    assert "reaper.max_age" not in running.cli_json("table", "show", "demo.events")["settings"]
    assert "age.max_agee" in running.cli("table", "set", "demo.events", "age.max_agee=7d", expect=1)

    assert "dry run" in running.cli("table", "drop", "demo.events")
    assert running.cli_json("table", "show", "demo.events")["dropped_at"] is None
    running.cli("table", "drop", "demo.events", "--yes")
    assert running.cli("table", "ls", "--output", "json") == ""


def test_roles_decide_who_may_do_what(running):
    create(running)
    running.cli("status", token="reader")
    assert "operate" in running.cli("table", "drop", "demo.events", token="reader", expect=1)
    assert "token" in running.cli("status", env={"GRANARY_TOKEN_FILE": "/dev/null"}, expect=1)


# --- rows ------------------------------------------------------------------------------------------------------------
def test_rows_are_loaded_once_and_read_back(running, tmp_path):
    create(running)
    file = tmp_path / "rows.ndjson"
    file.write_text(rows("2026-11-28", 30000) + '{"at":"2026-11-28T00:00:00Z"}\n\nnonsense\n' + rows("2026-11-29", 10))

    printed = running.cli("load", "demo.events", file, "--output", "json", expect=2)
    first = json.loads(printed.splitlines()[0])  # what follows is progress, on the standard error
    assert (first["rows"], first["rejected"], first["partitions"], first["files"]) == (30010, 2, 3, 1)  # one of rejects
    assert [(reject["file"], reject["row"]) for reject in first["rejects"]] == [(str(file), 30001), (str(file), 30002)]
    again = json.loads(running.cli("load", "demo.events", file, "--output", "json"))
    assert (again["rows"], again["duplicate"]) == (30010, True)
    assert "nothing was added" in running.cli("load", "demo.events", file)
    assert running.cli("count", "demo.events").strip() == "30010"
    assert running.cli("count", "demo.events", "--from", "2026-11-29").strip() == "10"
    assert running.cli("count", "demo.events", "--where", "host = 'host1' and size < 14").strip() == "4"

    day = lines(running.cli("scan", "demo.events", "--from", "2026-11-29", "--columns", "host,size"))
    assert day == [{"host": f"host{i % 7}", "size": i} for i in range(10)]
    assert len(running.cli("scan", "demo.events", "--limit", "7").splitlines()) == 7
    table = list(csv.DictReader(io.StringIO(running.cli("scan", "demo.events", "--from", "2026-11-29", "--format", "csv"))))
    assert [row["size"] for row in table] == [str(i) for i in range(10)]
    assert "no_such" in running.cli("scan", "demo.events", "--columns", "no_such", expect=1)

    rejects = running.cli("rejects", "demo.events")
    assert "nonsense" in rejects and rejects.count("\n") == 3
    partitions = lines(running.cli("ls", "demo.events", "--output", "json"))
    assert sum(partition["rows"] for partition in partitions) == 30010
    one = running.cli_json("show", partitions[0]["partition_id"])
    assert {column["column"] for column in one["columns"]} == {"at", "host", "size"}
    assert partitions[0]["partition_id"] in running.cli("ls", "demo.events", "--state", "active")
    assert len(lines(running.cli("files", "demo.events", "--output", "json"))) == len(partitions)


def test_a_folder_is_one_load_of_all_its_files(running, tmp_path):
    create(running)
    folder = tmp_path / "in"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "a.ndjson").write_text(rows("2026-11-28", 100))
    (folder / "deep/b.json.gz").write_bytes(gzip.compress(json.dumps(lines(rows("2026-11-28", 20))).encode()))
    (folder / "deep/er/c.csv").write_text("host,at,size\nh,2026-11-29T00:00:00Z,7\n\"x,y\",2026-11-29T00:00:01Z,\n")
    (folder / "deep/er/d.tsv").write_text("host\tat\nh\t2026-11-29T00:00:02Z\n")
    (folder / "rows.json").write_text(rows("2026-11-28", 3))  # one on each line, whatever the name says
    (folder / "readme.txt").write_text("no rows")
    report = running.cli("load", "demo.events", folder, "--dry-run")
    assert "126 rows would be loaded" in report and "from 2026-11-28" in report and "from 2026-11-29" in report
    assert running.cli("count", "demo.events").strip() == "0"
    done = json.loads(running.cli("load", "demo.events", folder, "--output", "json"))
    assert (done["rows"], done["rejected"], done["files"], done["partitions"]) == (126, 0, 5, 2)
    assert running.cli("count", "demo.events").strip() == "126"

    pattern = json.loads(running.cli("load", "demo.events", f"{folder}/*.ndjson", f"{folder}/deep/er/c.csv",
                                     "--output", "json"))
    assert (pattern["rows"], pattern["files"]) == (102, 2)
    assert "but found none" in running.cli("load", "demo.events", f"{folder}/none*", expect=1)


def test_a_load_that_fails_says_why_and_adds_nothing(running, tmp_path):
    create(running)
    good, bad = tmp_path / "good.ndjson", tmp_path / "bad.ndjson.gz"
    good.write_text(rows("2026-11-28", 1000))
    bad.write_bytes(gzip.compress(rows("2026-11-29", 1000).encode())[:-20])
    said = running.cli("load", "demo.events", good, bad, expect=1)
    assert "nothing was loaded" in said and "bad.ndjson.gz" in said
    (tmp_path / "rejects.ndjson").write_text("nonsense\n" * 5)
    said = running.cli("load", "demo.events", good, tmp_path / "rejects.ndjson", "--max-rejects", "4", expect=1)
    assert "expected at most 4 rejected rows but found 5" in said
    assert running.cli("count", "demo.events").strip() == "0"
    assert "--format" in running.cli("load", "demo.events", "/etc/hostname", expect=64)
    assert "demo.nothing" in running.cli("load", "demo.nothing", "-", input="{}\n", expect=1)


def test_a_load_waits_for_intake_to_come_back(running):
    create(running)
    wire = Proxy(running.find("intake").port)
    wire.refuse()
    loading = start(running, "load", "demo.events", "-", stdin=subprocess.PIPE,
                    GRANARY_INTAKE_URL=f"http://127.0.0.1:{wire.port}")
    loading.stdin.write(rows("2026-11-28", 10))
    loading.stdin.close()
    assert loading.stderr.readline().startswith("0 B")  # a line of progress: it has been trying for seconds
    wire.restore()
    assert loading.wait(60) == 0, loading.stderr.read()
    wire.close()
    assert running.cli("count", "demo.events").strip() == "10"


def start(stack, *arguments, **options):
    env = {name: options.pop(name) for name in list(options) if name.startswith("GRANARY_")}
    return subprocess.Popen([stack.servers.local.binary("granary"), *arguments], stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.PIPE, **options,
                            env={**services.BASE_ENVIRONMENT, "GRANARY_TOKEN": stack.token(), **env})


def test_a_reader_that_has_seen_enough_ends_a_scan_quietly(running):
    create(running)
    load(running, "2026-11-28")
    scan = start(running, "scan", "demo.events", GRANARY_URL=f"http://127.0.0.1:{running.find('admin').port}")
    scan.stdout.close()
    assert scan.wait(30) == 1 and scan.stderr.read() == ""


# --- the life of partitions ------------------------------------------------------------------------------------------
@pytest.mark.allow_errors("refused by the breaker")
def test_what_the_breaker_stops_is_planned_applied_explained_and_undone(running):
    create(running, retention__cooling="0", age__max_age="30d")
    load(running, "2020-01-01")
    assert running.job("decay", expect=None).wait_exit() in (2, 3)
    old = lines(running.cli("ls", "demo.events", "--output", "json"))[0]["partition_id"]

    plan = running.cli_json("plan", "retention", "demo.events")
    assert (plan["partitions"], plan["breaker"]["allowed"]) == (1, False)
    assert "dry run" in running.cli("apply", plan["plan_id"])
    assert running.cli_json("show", old)["state"] == "active"
    assert running.cli_json("apply", plan["plan_id"], "--yes")["deactivated"] == 1
    assert running.cli("count", "demo.events").strip() == "0"
    explained = running.cli("explain", old)
    assert "decay_inactive" in explained and "reaper.max_age" in explained and "next" in explained

    assert running.cli_json("undo", old, "--reason", "still needed")["state"] == "active"
    assert running.cli("count", "demo.events").strip() == str(DAY_ROWS)
    holds = lines(running.cli("hold", "ls", "--output", "json"))
    assert len(holds) == 1 and "still needed" in running.cli("hold", "ls")
    refused = running.cli("undo", old, expect=3)
    assert refused.startswith("granary: ")
    running.cli("hold", "release", holds[0]["hold_id"])
    assert len(lines(running.cli("hold", "ls", "--output", "json"))) == 1
    running.cli("hold", "release", holds[0]["hold_id"], "--yes")
    assert running.cli("hold", "ls").strip() == "no holds"
    assert "undo" in running.cli("audit", "demo.events") and "undo" in running.cli("audit", "--partition", old)


def test_a_hold_keeps_a_table_from_being_dropped(running):
    create(running)
    load(running, "2026-11-28")
    hold = running.cli_json("hold", "add", "demo.events", "--from", "2026-11-01", "--to", "2026-11-30", "--reason", "case")
    assert hold["min"].startswith("2026-11-01")
    assert "hold" in running.cli("table", "drop", "demo.events", "--yes", expect=3)
    partition = lines(running.cli("ls", "demo.events", "--output", "json"))[0]["partition_id"]
    assert running.cli_json("hold", "add", partition)["partition_id"] == partition


def test_a_range_is_undone_and_what_cannot_be_is_told(running):
    create(running, breaker__max_share="1", age__max_age="30d")
    load(running, "2020-01-01")
    load(running, "2020-01-02")
    running.job("decay")
    assert running.cli("count", "demo.events").strip() == "0"
    undone = running.cli_json("undo", "demo.events", "--from", "2020-01-01", "--to", "2020-01-01T23:59:59Z")
    assert undone["undone"] == 1 and undone["refused"] == []
    assert running.cli("count", "demo.events").strip() == str(DAY_ROWS)


def test_partitions_are_locked_and_parked_by_hand(running):
    create(running)
    load(running, "2026-11-28")
    partition = lines(running.cli("ls", "demo.events", "--output", "json"))[0]["partition_id"]
    states = [running.cli_json(*command)["state"] for command in (
        ("lock", partition, "--reason", "look"), ("unlock", partition), ("park", partition),
        ("unpark", partition, "--to", "active"), ("park", partition), ("unpark", partition, "--to", "inactive"))]
    assert states == ["pinned", "active", "parked", "active", "parked", "park_inactive"]
    running.cli("lock", partition, expect=3)


def test_a_deleted_partition_leaves_a_receipt_that_explain_finds(running):
    create(running, breaker__max_share="1", age__max_age="30d", reaper__max_age="0")
    load(running, "2020-01-01")
    partition = lines(running.cli("ls", "demo.events", "--output", "json"))[0]["partition_id"]
    running.service("reaper")
    running.cli("pause", "deleting", "--reason", "not yet")
    assert "not yet" in running.cli("status")
    running.cli("resume", "deleting")
    running.job("decay")
    running.job("reap-collection")
    wait_until(lambda: running.cli("ls", "demo.events", "--output", "json") == "", 120, "the reap")
    assert partition in running.cli("receipts", "demo.events")
    explained = running.cli("explain", partition)
    assert "deleted by" in explained and "decay" in explained
    assert "demo.events" not in running.cli("status", "--output", "json").split('"queues"')[0].split('"states"')[1]


# --- around ----------------------------------------------------------------------------------------------------------
def test_dead_letters_are_shown_exported_replayed_and_dropped(running):
    running.service("reaper")
    running.publish("reap", "nonsense")
    wait_until(lambda: running.queue_length("reap.dead") == 1, 120, "the dead letter")
    assert {"queue": "reap", "messages": 1} in lines(running.cli("dead", "ls", "--output", "json"))
    assert "reap" in running.cli("dead", "ls")
    assert len(lines(running.cli("dead", "show", "reap", "--output", "json"))) == 1
    exported = lines(running.cli("dead", "export", "reap"))
    assert len(exported) == 1 and exported[0]["body_base64"] == "bm9uc2Vuc2U="
    assert running.cli_json("dead", "replay", "reap")["replayed"] == 1
    wait_until(lambda: running.queue_length("reap.dead") == 1, 120, "the dead letter, again")
    assert "dry run" in running.cli("dead", "drop", "reap")
    assert running.queue_length("reap.dead") == 1
    assert running.cli_json("dead", "drop", "reap", "--yes")["dropped"] == 1
    assert running.queue_length("reap.dead") == 0


def test_settings_of_the_deployment_count_for_tables_without_their_own(running):
    create(running)
    running.cli("deployment", "set", "age.max_age=90d")
    assert running.cli_json("deployment", "show")["settings"] == {"age.max_age": "90d"}
    assert running.cli_json("table", "show", "demo.events")["effective"]["age.max_age"] == "90d"
    running.cli("deployment", "set", "age.max_age=")
    assert running.cli_json("table", "show", "demo.events")["effective"]["age.max_age"] == "never"


def test_status_shows_what_there_is(running):
    create(running)
    load(running, "2026-11-28")
    status = running.cli_json("status")
    assert [state["rows"] for state in status["states"] if state["table"] == "demo.events"] == [DAY_ROWS]
    shown = running.cli("status")
    assert "demo.events" in shown and "intake" in shown and "\x1b" not in shown
