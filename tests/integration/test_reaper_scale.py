"""Many partitions at once, on an S3 server that misbehaves: what is reaped, in whose turn, and what is not believed."""

import json
import re
import uuid

import pytest
from harness.s3peer import Answer, S3Peer, error
from harness.shelf import abandoned
from harness.stack import wait_until
from harness.table import Table

GRACELESS = {"abandoned.grace": "0s"}
LADDER = {"GRANARY_BUS_DELAYS": "100ms,200ms,300ms,400ms"}
PREFIX = "live"


@pytest.fixture
def peer():
    with S3Peer() as made:
        yield made


def put_into(peer):
    return lambda key: peer.put(f"{PREFIX}/{key}")


def start_reaper(stack, peer, **env):
    deployment = str(stack.sql_value("select deployment_id from granary.deployment"))
    peer.put(f"{PREFIX}/granary-deployment.json", json.dumps({"deployment_id": deployment}).encode())
    return stack.service("reaper", {**peer.settings(PREFIX), **LADDER, "GRANARY_REAPER_LEASE": "2m",
                                    "GRANARY_STORE_RETRY_FOR": "2s", "GRANARY_STORE_DELETE_RATE": "100000", **env})


def rows_left(stack):
    return stack.sql_value("select count(*) from granary.partitions")


def objects_left(peer):
    return [key for key in peer.keys() if key.endswith(".parquet")]


def check_gone(stack, peer, count):
    assert objects_left(peer) == []
    assert stack.sql_value("select count(distinct partition_id) from granary.receipts") == count
    assert stack.sql_value("select count(*) from granary.receipts") == count
    assert stack.sql_value("select count(*) from granary.locks where kind = 'reap'") == 0


def test_thousands_over_many_tables_go_in_bulk(stack, peer):
    tables = [Table(stack, f"t{number}", settings=GRACELESS) for number in range(3)]
    for table, count in zip(tables, (3000, 1500, 500)):
        abandoned(stack, table, count, put_into(peer))
    program = start_reaper(stack, peer)
    stack.job("reap-collection", env=LADDER)
    wait_until(lambda: rows_left(stack) == 0, 120, "all of them to be reaped")
    check_gone(stack, peer, 5000)
    assert peer.count("DeleteObjects") <= 8  # five of a thousand, but for what stands at the end of a table
    assert program.metric("granary_reaper_kept_objects_total") == 0


def test_tables_take_turns_in_a_short_queue(stack):
    large, *small = [Table(stack, f"t{number}", settings=GRACELESS) for number in range(4)]
    abandoned(stack, large, 400)
    for table in small:
        abandoned(stack, table, 10)
    stack.job("reap-collection", env={**LADDER, "GRANARY_COLLECTION_BATCH": "10", "GRANARY_COLLECTION_MAX_BACKLOG": "8"})
    told = [json.loads(body)["table"] for _, body in stack.messages("reap")]
    assert len(told) == 8
    assert set(told[:4]) == {str(table.id) for table in (large, *small)}
    assert told[4:] == [str(large.id)] * 4


def says_deleted(_peer, request, _go_on):
    """Deletes nothing, and says that it has."""
    keys = re.findall(rb"<Key>(.*?)</Key>", request.body)
    return Answer(200, b"<DeleteResult>" + b"".join(b"<Deleted><Key>" + key + b"</Key></Deleted>" for key in keys) +
                  b"</DeleteResult>")


def test_a_store_that_says_deleted_and_deletes_nothing_is_found_out(stack, peer):
    table = Table(stack, settings=GRACELESS)
    keys = abandoned(stack, table, 300, put_into(peer))
    peer.fault(says_deleted, op="DeleteObjects")
    program = start_reaper(stack, peer)
    stack.job("reap-collection", env=LADDER)
    wait_until(lambda: program.metric("granary_reaper_kept_objects_total") >= 2, 60, "the lie to be found out twice")
    assert rows_left(stack) == len(keys) == len(objects_left(peer))
    told = stack.sql_value("select distinct last_error from granary.reap_failures")
    assert "to be gone" in told and "but it is there" in told
    peer.faults.clear()
    wait_until(lambda: rows_left(stack) == 0, 120, "all of them to be reaped")
    check_gone(stack, peer, len(keys))


def test_a_store_that_throttles_nine_of_ten_bulk_deletes_is_drained_all_the_same(stack, peer):
    table = Table(stack, settings=GRACELESS)
    keys = abandoned(stack, table, 1000, put_into(peer))
    peer.fault(error(503, "SlowDown"), op="DeleteObjects", share=0.9)
    program = start_reaper(stack, peer)
    stack.job("reap-collection", env={**LADDER, "GRANARY_COLLECTION_BATCH": "200"})

    def drained():
        paths = {row["path"] for row in stack.sql("select path from granary.partitions")}  # before the objects
        assert {key.removeprefix(f"{PREFIX}/") for key in objects_left(peer)} <= paths  # no row goes before its object
        return not paths
    wait_until(drained, 240, "all of them to be reaped", interval=0.5)
    check_gone(stack, peer, len(keys))
    assert program.metric("granary_store_throttled_total") > 0
    assert 0 < program.metric("granary_store_delete_rate") < 100_000  # as which it began


@pytest.mark.parametrize("versioned", [False, True], ids=["no versions", "versions"])
def test_what_is_called_alike_is_not_taken_along(stack, versioned):
    """A table whose id differs in the last digit; deployments above, below and beside ours; keys that go on where ours end."""
    table = Table(stack, settings=GRACELESS)
    twin = Table(stack, "twin", table_id=uuid.UUID(int=table.id.int ^ 1))  # without a setting: its grace is hours
    with S3Peer(versioned=versioned) as peer:
        keys, twins = abandoned(stack, table, 20, put_into(peer)), abandoned(stack, twin, 20, put_into(peer))
        others = [f"{root}/{key}" for root in ("liv", "live-2", "live/below", "live.") for key in keys]
        others += [f"{PREFIX}/{key}{more}" for key in keys for more in ("2", "/more")]
        others += [f"{PREFIX}/{key}".replace(str(table.id), str(twin.id)) for key in keys]
        for key in others:
            peer.put(key)
        start_reaper(stack, peer)
        stack.job("reap-collection", env=LADDER)
        wait_until(lambda: rows_left(stack) == len(twins), 60, "the table's partitions to be reaped")
        left = {key for key in peer.keys() if ".parquet" in key}
        assert left == {*others, *(f"{PREFIX}/{key}" for key in twins)}
        assert {row["path"] for row in stack.sql("select path from granary.partitions")} == set(twins)
