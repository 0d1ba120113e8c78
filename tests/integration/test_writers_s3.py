"""Writers on an S3 server that misbehaves: rows that were confirmed land once, whatever the server says of their objects."""

import base64
import os
import threading

import pytest
from harness.invariants import check_objects
from harness.s3peer import altered, error
from harness.shelf import CLEANER, DELETE, OLD
from harness.stack import wait_until
from harness.table import MERGING, Table, some_rows

WRITER = {"GRANARY_WRITER_MAX_OPEN": "5ms", "GRANARY_WRITER_LEASE": "2s", "GRANARY_STORE_RETRY_FOR": "1s"}
LADDER = {"GRANARY_BUS_DELAYS": "100ms,200ms,300ms,400ms"}
ROWS = 20


@pytest.fixture
def table(peer_stack):
    """Of whose rows nothing is there yet; its writer has looked at the store."""
    peer_stack.mark()
    made = Table(peer_stack, settings={"abandoned.grace": "0s"})
    intake = peer_stack.service("intake", {**LADDER, **WRITER})
    wait_until(lambda: intake.log(message="the store has been asked what it can do"), 60, "the store to be probed")
    return made


def check_landed(stack, table):
    """Once; and nothing was set aside."""
    table.wait_rows(ROWS)
    assert table.sizes() == list(range(ROWS))
    check_objects(stack, stack.sql("select path, data_bytes, sha256 from granary.partitions where active"))
    assert not stack.queue_length("intake.dead")


def reap_given_up(stack):
    """Merge cleanup gives up what has no lease any more, and the reaper deletes it."""
    def quiet():
        stack.job("merge-cleanup", env=LADDER)
        stack.job("reap-collection", env=LADDER)
        return stack.sql_value("select count(*) from granary.partitions where not active") == 0
    if not stack.find("reaper"):
        stack.service("reaper", LADDER)
    wait_until(quiet, 120, "what was given up to be reaped", interval=0.5)


def test_the_writer_tells_at_its_start_what_the_store_can_do(peer_stack, table):
    intake = peer_stack.find("intake")
    [line] = intake.log(message="the store has been asked what it can do")
    assert line["found"] == "creates if absent, deletes in bulk, lists own writes, no versions, no object lock"
    assert {name: intake.metric("granary_store_ability", ability=name) for name in
            ("create_if_absent", "bulk_delete", "lists_own_writes", "versioned", "object_lock")} == {
                "create_if_absent": 1, "bulk_delete": 1, "lists_own_writes": 1, "versioned": 0, "object_lock": 0}
    assert table.row_count() == 0 and not [key for key in peer_stack.contents.keys() if "probe" in key]


@pytest.mark.parametrize("act", [error(403, "AccessDenied"), error(403, "InvalidAccessKeyId"), error(400, "ExpiredToken"),
                                 error(503, "SlowDown")],
                         ids=["forbidden", "a key that was withdrawn", "a token that nobody renews", "busy"])
def test_a_store_that_takes_no_rows_has_nothing_against_them(peer_stack, table, act):
    peer = peer_stack.contents.peer
    intake = peer_stack.find("intake")
    peer.fault(act, op="PutObject")
    assert table.post(some_rows(ROWS)).status == 202
    wait_until(lambda: intake.log(message="rows cannot be written now and are held"), 60, "the writer to wait")
    wait_until(lambda: intake.metric("granary_writer_failed_flushes_total") >= 2, 60, "the writer to try again")
    assert table.row_count() == 0
    peer.faults.clear()
    check_landed(peer_stack, table)


@pytest.mark.parametrize("wrong", [{"Content-Length": "12345"}, {"ETag": '"0123456789abcdef"'}], ids=["length", "etag"])
def test_an_object_that_is_not_what_was_written_is_written_again_elsewhere(peer_stack, table, wrong):
    peer = peer_stack.contents.peer
    peer.fault(altered(lambda answer: answer.headers.update(wrong)), op="HeadObject", times=1)
    assert table.post(some_rows(ROWS)).status == 202
    check_landed(peer_stack, table)
    assert len(peer_stack.objects()) == 2
    reap_given_up(peer_stack)
    [left] = peer_stack.objects()
    assert left == peer_stack.sql_value("select path from granary.partitions")


def test_an_upload_that_ends_behind_every_grace_is_found_by_the_cleaner(peer_stack, table):
    """The writer has given up, its row was reaped, and then the server does what it was asked to."""
    peer = peer_stack.contents.peer
    late, over = [], threading.Event()

    def stalled(_peer, request, go_on):
        late.append(request.key.removeprefix("live/"))
        over.wait(240)
        return go_on()

    peer.fault(stalled, op="PutObject", times=1)
    try:
        assert table.post(some_rows(ROWS)).status == 202
        wait_until(lambda: late, 60, "the upload to begin")
        check_landed(peer_stack, table)
        reap_given_up(peer_stack)
        [path] = late
        assert peer_stack.sql_value("select count(*) from granary.receipts where path = %s", (path,)) == 1
        assert path not in peer_stack.objects()
    finally:
        over.set()
    wait_until(lambda: path in peer_stack.objects(), 60, "the upload to end")

    peer_stack.job(CLEANER, env=DELETE)  # too young
    assert path in peer_stack.objects()
    for versions in peer.objects.values():
        versions[-1].time -= OLD
    peer_stack.sql("update granary.receipts set deleted_at = deleted_at - %s * interval '1 second'", (OLD,))
    peer_stack.job(CLEANER, env=DELETE)
    assert path not in peer_stack.objects()
    assert peer_stack.sql("select path, owner, answer from granary.orphan_receipts") == [
        {"path": path, "owner": "late upload", "answer": "deleted"}]
    assert table.sizes() == list(range(ROWS))


def test_an_output_that_is_not_what_was_written_is_no_fault_of_its_inputs(peer_stack):
    wrong = []

    def once(_peer, request, go_on):
        answer = go_on()
        if request.key.endswith(".parquet") and answer.status == 200 and not wrong:
            wrong.append(request.key)
            answer.headers["ETag"] = '"0123456789abcdef"'
        return answer

    peer_stack.mark()
    table = Table(peer_stack, settings=MERGING)
    peer_stack.service("intake", {**LADDER, **WRITER})
    for first in range(0, 3 * ROWS, ROWS):
        table.land(some_rows(ROWS, first))
    peer_stack.contents.peer.fault(once, op="HeadObject")
    peer_stack.service("rewriter", {**LADDER, "GRANARY_REWRITER_POOLS": "small"})
    peer_stack.service("merge-controller", {**LADDER, "GRANARY_MERGE_INTERVAL": "200ms"})
    wait_until(lambda: peer_stack.sql_value("select count(*) from granary.partitions where active") == 1, 120,
               "one partition to be left")
    assert wrong and not peer_stack.sql("select * from granary.merge_failures")
    assert [row["state"] for row in peer_stack.sql("select state from granary.attempts order by created_at")] == [
        "abandoned", "done"]
    assert table.sizes() == list(range(3 * ROWS))


def test_a_merge_may_take_longer_than_its_first_lease(peer_stack):
    """Its parts go up slowly, one after the other, while the lease is renewed."""
    def slow(the_peer, _request, go_on):
        the_peer.ended.wait(1)
        return go_on()

    peer_stack.mark()
    table = Table(peer_stack, settings=MERGING)
    peer_stack.service("intake", {**LADDER, **WRITER, "GRANARY_WRITER_LEASE": "5m"})
    for first in range(0, 35_000, 7_000):
        table.land([{**row, "path": base64.b64encode(os.urandom(750)).decode()} for row in some_rows(7_000, first)])
    peer_stack.contents.peer.fault(slow, op="UploadPart")
    peer_stack.service("rewriter", {**LADDER, "GRANARY_REWRITER_POOLS": "small", "GRANARY_STORE_PART_SIZE": "5MiB",
                                    "GRANARY_STORE_CONNECTIONS": "1"})
    peer_stack.service("merge-controller", {**LADDER, "GRANARY_MERGE_INTERVAL": "200ms", "GRANARY_MERGE_LEASE": "2s"})
    wait_until(lambda: peer_stack.sql_value("select count(*) from granary.partitions where active") == 1, 120,
               "one partition to be left")
    assert peer_stack.contents.peer.count("UploadPart") >= 5
    assert table.sizes() == list(range(35_000))
