"""Partitions of one table in several stores: written, merged, read and deleted where they are; tables that are dropped and
brought back."""

import contextlib
import json

import pytest
from harness.invariants import leftovers
from harness.life import KILLED, Life
from harness.s3peer import S3Peer, error
from harness.stack import wait_until
from harness.table import Table, some_rows

READY_AT_ONCE = {"reaper.max_age": "0s", "merge.cleanup_grace": "0s", "abandoned.grace": "0s"}
WRITER = {"GRANARY_WRITER_MAX_OPEN": "5ms", "GRANARY_WRITER_LEASE": "2s"}


def add_storage(stack, name):
    """Through the API, as an operator does. Returns its folder."""
    folder = stack.directory / name
    if not stack.find("admin"):
        stack.service("admin")
    stack.cli("storage", "add", name, f"file://{folder}")
    return folder


def files_in(*folders):
    return sorted(str(path.relative_to(folder)) for folder in folders for path in folder.rglob("*.parquet"))


def storage_of(stack, folder_of):
    """The folder that the catalog means, by path."""
    return {row["path"]: folder_of[row["storage_id"]]
            for row in stack.sql("select path, storage_id from granary.partitions")}


def check_places(stack, folder_of):
    """Each row's object is in its storage, and nothing else is anywhere."""
    places = storage_of(stack, folder_of)
    assert all((folder / path).is_file() for path, folder in places.items())
    assert files_in(*folder_of.values()) == sorted(places)


def test_a_life_over_two_stores_leaves_each_object_where_its_row_says(stack):
    second = add_storage(stack, "second")
    life = Life(stack, settings={"storage.spread": "default,second"})
    life.live_through()
    places = storage_of(stack, {1: stack.store, 2: second})
    assert set(places.values()) <= {stack.store, second}
    check_places(stack, {1: stack.store, 2: second})
    assert not leftovers(stack)
    receipts = stack.sql_value("select count(*) from granary.receipts")
    assert receipts > 8  # some of either storage, with a chance of one in many thousands that not


def test_files_and_scan_find_partitions_in_all_stores(stack):
    second = add_storage(stack, "second")
    stack.service("intake", WRITER)
    table = Table(stack, settings={"storage.spread": "default,second"})
    wanted = {1, 2}
    for first in range(0, 400, 10):  # until both have some
        table.land(some_rows(10, first))
        if {row["storage_id"] for row in stack.sql("select distinct storage_id from granary.partitions")} == wanted:
            break
    assert table.sizes() == list(range(first + 10))
    urls = [json.loads(line)["url"] for line in stack.cli("files", table.name, "--output", "json").splitlines()]
    assert {url.rsplit("/", 3)[0] for url in urls} == {f"file://{stack.store}", f"file://{second}"}
    check_places(stack, {1: stack.store, 2: second})


def test_nothing_new_goes_to_a_storage_that_is_read_only_and_what_it_has_is_read_and_reaped(stack):
    second = add_storage(stack, "second")
    stack.service("intake", WRITER)
    table = Table(stack, settings={**READY_AT_ONCE, "storage.default": "second"})
    table.land(some_rows(5))
    assert len(files_in(second)) == 1
    stack.cli("storage", "set", "second", "--state", "read_only")
    table.land(some_rows(5, 5))
    assert len(files_in(second)) == 1 and len(files_in(stack.store)) == 1
    assert table.sizes() == list(range(10))
    assert "no storage would be left" in stack.cli("storage", "set", "default", "--state", "read_only", expect=1)
    table.drop()
    stack.service("reaper")
    stack.job("decay")
    stack.job("reap-collection")
    wait_until(lambda: not leftovers(stack), 60, "everything to be reaped")
    assert files_in(second, stack.store) == []


def test_rejected_rows_go_where_the_rows_of_their_table_go(stack):
    second = add_storage(stack, "second")
    stack.service("intake", WRITER)
    table = Table(stack, settings={"storage.default": "second"})
    table.land(b'{"ts":"2026-11-01T00:00:00Z","size":"no number"}\n{"ts":"2026-11-01T00:00:00Z","size":1}\n')
    assert len(table.rejects()) == 1 and table.sizes() == [1]
    assert len(files_in(second)) == 2 and files_in(stack.store) == []


def test_a_store_is_looked_at_before_it_is_added_or_moved(stack):
    second = add_storage(stack, "second")
    other = stack.directory / "other"
    other.mkdir()
    (other / "granary-deployment.json").write_text('{"deployment_id":"00000000-0000-4000-8000-000000000000"}')
    for arguments, words in {
        ("add", "third", f"file://{other}"): "expected the marker of deployment",
        ("add", "third", f"file://{stack.store}"): "that every process has",
        ("add", "third", f"file://{second}"): "another storage's",
        ("add", "second", f"file://{stack.directory}/fourth"): "another storage's",
        ("add", "Third", f"file://{stack.directory}/fifth"): "expected a storage's name",
        ("add", "third", "ftp://host/x"): "expected a store url",
        ("set", "second", "--to", f"file://{stack.directory}/empty"): "found none",
        ("set", "default", "--to", f"file://{second}"): "GRANARY_STORE_URL",
        ("set", "third", "--state", "active"): "no storage",
        ("set", "second", "--state", "gone"): "read_only",
    }.items():
        assert words in stack.cli("storage", *arguments, expect=1), arguments
    moved = stack.directory / "moved"
    second.rename(moved)
    stack.cli("storage", "set", "second", "--to", f"file://{moved}")
    listed = [json.loads(line) for line in stack.cli("storage", "ls", "--output", "json").splitlines()]
    assert [(row["name"], row["url"], row["state"]) for row in listed] == [
        ("default", f"file://{stack.store}", "active"), ("second", f"file://{moved}", "active")]
    assert stack.sql_value("select count(*) from granary.audit_log where action like 'storage.%%'") == 2


def test_settings_name_storages_that_there_are(stack):
    add_storage(stack, "second")
    table = Table(stack)
    stack.cli("table", "set", table.name, "storage.spread=default,second", "storage.default=second")
    for setting in ("storage.default=third", "storage.spread=second,third"):
        for command in (("table", "set", table.name), ("deployment", "set")):
            assert 'no storage "third"' in stack.cli(*command, setting, expect=1)
    assert stack.sql_value("select settings ->> 'storage.default' from granary.tables where table_id = %s",
                           (table.id,)) == "second"


@contextlib.contextmanager
def gone(folder):
    """A store that answers nothing, as an unmounted disk does."""
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.symlink_to(folder)
    try:
        yield
    finally:
        folder.unlink()
        aside.rename(folder)


# --- dropped tables --------------------------------------------------------------------------------------------------
@pytest.mark.allow_errors("goes to the dead queue")
def test_a_dropped_table_goes_whole_with_what_a_late_writer_left_and_its_successor_stays(stack):
    life = Life(stack, {"intake": "publish.before_commit=kill@2"}, {"storage.default": "default"})
    life.start("intake", wait=True)
    life.table.land(some_rows(5))
    with contextlib.suppress(Exception):
        life.table.post(some_rows(5, 5), committed=True, timeout="5s")  # its writer dies with the object written
    assert life.faulty[0].wait_exit(60) == KILLED
    life.table.drop()
    heir = Table(stack)
    life.mend()
    wait_until(lambda: heir.post(some_rows(7), committed=True, timeout="5s").status == 200, 120, "the heir's rows")
    life.reap_dropped()
    assert stack.sql_value("select count(*) from granary.partitions where table_id = %s", (life.table.id,)) == 0
    assert not [key for key in stack.objects() if key.startswith(str(life.table.id))]
    assert stack.sql_value("select count(*) from granary.receipts where table_id = %s", (life.table.id,)) >= 2
    assert heir.sizes() == list(range(7))


@pytest.fixture
def dropped(stack):
    """A table of twenty rows in four partitions, dropped and decayed, with a reject."""
    stack.service("intake", WRITER)
    stack.service("admin")
    table = Table(stack, settings=READY_AT_ONCE)
    for number in range(4):
        table.land(some_rows(5, 5 * number, f"2026-11-0{number + 1}"))
    table.land(b'{"ts":"2026-11-01T00:00:00Z","size":"x"}\n{"ts":"2026-11-01T00:00:00Z","size":20}\n')
    stack.cli("table", "drop", table.name, "--yes")
    stack.job("decay")
    assert table.row_count() == 0
    return table


def test_undrop_brings_everything_back_under_a_hold(stack, dropped):
    answer = stack.cli_json("table", "undrop", dropped.name, "--reason", "the wrong one")
    assert (answer["table"], answer["table_id"]) == (dropped.name, str(dropped.id))
    assert (answer["partitions"], answer["rows"], answer["lost"]) == (6, 22, 0)
    assert dropped.sizes() == list(range(21)) and len(dropped.rejects()) == 1
    hold = stack.sql("select table_id, reason from granary.holds where hold_id = %s", (answer["hold_id"],))
    assert hold == [{"table_id": dropped.id, "reason": "the wrong one"}]
    wait_until(lambda: dropped.post(some_rows(1, 21), committed=True, timeout="5s").status == 200, 60,
               "intake to know the table again")
    stack.service("reaper")
    stack.job("decay")
    stack.job("reap-collection")
    assert dropped.sizes() == list(range(22))
    assert "no dropped table" in stack.cli("table", "undrop", dropped.name, expect=1)


def test_undrop_is_refused_where_reapers_were_unless_the_rest_will_do(stack, dropped):
    stack.service("reaper")
    stack.sql("insert into granary.holds (table_id, min_timestamp, max_timestamp, reason, placed_by)"
              " values (%s, '2026-11-03', '2026-11-05', 'test', 'test')", (dropped.id,))
    stack.job("reap-collection")
    wait_until(lambda: stack.sql_value("select count(*) from granary.receipts") == 3, 60, "the others to be reaped")
    assert "reapers have taken 3" in stack.cli("table", "undrop", dropped.name, expect=3)
    assert stack.sql_value("select dropped_at is not null from granary.tables where table_id = %s", (dropped.id,))
    answer = stack.cli_json("table", "undrop", str(dropped.id), "--partial")
    assert (answer["partitions"], answer["lost"]) == (3, 3)  # rejected rows have a grace of their own
    assert dropped.sizes() == list(range(10, 20))


def test_undrop_is_refused_while_another_table_has_the_name(stack, dropped):
    heir = Table(stack)
    assert "another table has its name" in stack.cli("table", "undrop", str(dropped.id), expect=3)
    heir.drop()
    assert "several dropped tables" in stack.cli("table", "undrop", dropped.name, expect=3)
    stack.cli("table", "undrop", str(dropped.id))
    assert dropped.sizes() == list(range(21))


def test_the_status_says_what_a_store_can_do_and_asks_now_and_then(stack):
    with S3Peer(versioned=True, bulk=False) as peer:
        for number in range(2):  # the first stays as a version
            peer.put("live/key", b"x" * (100 + number))
        stack.service("admin", {"GRANARY_STORE_RETRY_FOR": "1s", **peer.settings("live", versions="keep")})
        for _ in range(3):
            [storage] = stack.cli_json("status")["storages"]
            assert storage["finding"] == "unused"
            assert storage["can"] == ("creates if absent, deletes one by one, lists own writes, keeps versions,"
                                      " no object lock")
            assert storage["noncurrent_bytes"] == 100
        shown = stack.cli("status")
        assert "keeps versions" in shown and "take 100 B or more" in shown and "NoncurrentVersionExpiration" in shown
        assert peer.count("GetBucketVersioning") == 1
        assert "live/key" in peer.keys() and not any("probe" in key for key in peer.keys())


def test_the_status_comes_where_a_store_may_not_be_written(stack):
    with S3Peer() as peer:
        peer.fault(error(403, "AccessDenied"), op="PutObject")
        stack.service("admin", {"GRANARY_STORE_RETRY_FOR": "1s", **peer.settings("live")})
        [storage] = stack.cli_json("status")["storages"]
        assert (storage["finding"], storage["can"], storage["noncurrent_bytes"]) == ("unused", None, None)
        peer.fault(error(403, "AccessDenied"))
        [away] = stack.cli_json("status")["storages"]
        assert (away["finding"], away["can"]) == ("not_asked", None)


def test_a_storage_that_does_not_answer_stops_only_what_lies_there(stack):
    second = add_storage(stack, "second")
    stack.service("intake", WRITER)
    here = Table(stack, "here", settings=READY_AT_ONCE)
    there = Table(stack, "there", settings={**READY_AT_ONCE, "storage.default": "second"})
    here.land(some_rows(3))
    there.land(some_rows(3))
    here.drop()
    there.drop()
    ladder = {"GRANARY_BUS_DELAYS": "100ms,200ms,300ms,400ms", "GRANARY_REAPER_GATE_INTERVAL": "1s"}
    with gone(second):
        stack.service("reaper", ladder)
        stack.job("decay")
        stack.job("reap-collection", env=ladder)
        wait_until(lambda: not files_in(stack.store), 60, "what is in the store that answers to be reaped")
        assert stack.sql_value("select count(*) from granary.partitions where table_id = %s", (there.id,)) == 1
    wait_until(lambda: not leftovers(stack), 120, "the rest to be reaped")
    assert files_in(second) == []
