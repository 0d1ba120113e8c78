"""What it costs, in requests: the numbers of docs/object-storage.md, counted by a server that notes each. A change that asks
for more must say so there."""

import math
import random
import string
from collections import Counter
from pathlib import Path

import pytest
from harness.shelf import abandoned
from harness.stack import wait_until
from harness.store import MIB, PART, Store
from harness.table import MERGING, Table, some_rows

PARTITIONS = 10
WINDOW = 256 * 1024  # of a merge's reading, at most


BILLED = {"PutObject": "writes", "CreateMultipartUpload": "writes", "UploadPart": "writes",
          "CompleteMultipartUpload": "writes", "ListObjectsV2": "writes", "ListObjectVersions": "writes",
          "GetObject": "reads", "HeadObject": "reads", "DeleteObjects": "deletes", "DeleteObject": "deletes"}
USD = {"writes": 0.005, "reads": 0.0004, "deletes": 0}  # for a thousand


def documented(what):
    """The row of the table: requests by kind for 1,000 partitions. Its price must follow from them."""
    table = Path(__file__).parents[2].joinpath("docs/object-storage.md").read_text().splitlines()
    [row] = [line for line in table if line.startswith(f"| {what} |")]
    *counts, usd = (cell.strip().replace(",", "") for cell in row.strip("|").split("|")[1:])
    found = dict(zip(USD, map(int, counts)))
    assert float(usd) == pytest.approx(sum(found[kind] * USD[kind] / 1000 for kind in USD)), row
    return found


def check(what, counts, partitions):
    """What was counted for so many partitions is what is documented for a thousand."""
    found = dict.fromkeys(USD, 0)
    for op, count in counts.items():
        found[BILLED[op]] += count
    wanted = documented(what)
    assert {kind: count * 1000 / partitions for kind, count in found.items()} == wanted, counts


class Counted:
    """Requests for partitions since they were last taken; those for the marker, marks and probes are not among them."""

    def __init__(self, stack):
        self.peer = stack.contents.peer
        self.seen = len(self.peer.requests)

    def take(self):
        requests = self.peer.requests[self.seen:]
        self.seen += len(requests)
        return dict(Counter(request.op for request in requests if self._is_of_partitions(request)))

    @staticmethod
    def _is_of_partitions(request):
        return any(".parquet" in text for text in (request.key, request.query.get("prefix", ""), request.body.decode(
            "latin-1") if request.op == "DeleteObjects" else ""))


@pytest.fixture
def stack(peer_stack):
    peer_stack.mark()
    return peer_stack


def start_writer(stack):
    intake = stack.service("intake", {"GRANARY_WRITER_MAX_OPEN": "5ms"})
    wait_until(lambda: intake.log(message="the store has been asked what it can do"), 60, "the store to be probed")
    return intake


def billed(program):
    return {kind: program.metric("granary_store_requests_total", billed=kind) for kind in ("write", "read", "delete")}


def merge(stack, table):
    """All of it into one."""
    merging = [stack.service("rewriter", {"GRANARY_REWRITER_POOLS": "small"}),
               stack.service("merge-controller", {"GRANARY_MERGE_INTERVAL": "200ms"})]
    wait_until(lambda: stack.sql_value("select count(*) from granary.partitions where table_id = %s and active",
                                       (table.id,)) == 1, 120, "one partition to be left")
    for program in merging:
        assert program.stop() == 0


def reap(stack, before):
    """Waits until no more partitions are left than `before`."""
    stack.service("reaper")
    stack.job("merge-cleanup")
    stack.job("reap-collection")
    wait_until(lambda: stack.sql_value("select count(*) from granary.partitions") == before, 120, "the rest to be reaped")


def test_written_merged_and_reaped(stack):
    table = Table(stack, settings={**MERGING, "merge.cleanup_grace": "0s"})
    intake = start_writer(stack)
    counted, before = Counted(stack), billed(intake)
    for number in range(PARTITIONS):
        table.land(some_rows(10, 10 * number))
    after = billed(intake)
    assert {kind: after[kind] - before[kind] for kind in after} == {"write": PARTITIONS, "read": PARTITIONS, "delete": 0}
    assert intake.stop() == 0
    check("written, up to 64 MiB each", counted.take(), PARTITIONS)
    merge(stack, table)
    found = counted.take()
    check("merged, as inputs of up to 64 KiB", {"GetObject": found.pop("GetObject")}, PARTITIONS)
    check("merged, as outputs of up to 64 MiB", found, 1)
    reap(stack, before=1)
    assert counted.take() == {"DeleteObjects": 1, "HeadObject": 1}  # at least one is doubted
    assert table.sizes() == list(range(10 * PARTITIONS))


def test_reaped_by_the_thousand(stack):
    table = Table(stack, settings={"abandoned.grace": "0s"})
    abandoned(stack, table, 2000, lambda key: stack.contents.write(key, b"x"))
    counted = Counted(stack)
    reap(stack, before=0)
    check("reaped", counted.take(), 2000)


def test_reaped_where_versions_are_kept(stack):
    """That there are any is found out by the first delete, which leaves a marker of each object: then both go."""
    stack.contents.peer.versioned = True
    table = Table(stack, settings={"abandoned.grace": "0s"})
    abandoned(stack, table, 1000, lambda key: stack.contents.write(key, b"x"))
    counted = Counted(stack)
    reap(stack, before=0)
    check("reaped, in a bucket with versions", counted.take(), 1000)
    assert not [key for key, versions in stack.contents.peer.objects.items() if versions and ".parquet" in key]


def test_written_in_parts(stack):
    peer = stack.contents.peer
    Store(stack.contents.settings()).put("t/d/p", 4 * PART + MIB)
    found = Counter(peer.counts)
    assert found.pop("UploadPart") == 5
    found["HeadObject"] += 1  # a writer of partitions looks again at what it has written
    check("written, larger, besides 1,000 writes for each part of 16 MiB", found, 1)


def test_read_once_to_be_merged(stack):
    """Column after column, each by its own window."""
    chance = random.Random(3)
    table = Table(stack, settings=MERGING)
    start_writer(stack)
    for number in range(3):  # one after the other in time, which is how most are; and two that interleave
        table.land([{**row, "path": "".join(chance.choices(string.ascii_letters, k=100))}
                    for row in some_rows(20_000, 10_000 * number)])
    sizes = [row["data_bytes"] for row in stack.sql("select data_bytes from granary.partitions where active")]
    assert len(sizes) == 3 and min(sizes) > 4 * WINDOW, sizes
    counted = Counted(stack)
    merge(stack, table)
    found = counted.take()
    assert (found["PutObject"], found["HeadObject"]) == (1, 2)
    # the footer, and each of the three columns by windows of which the last is not full
    assert found["GetObject"] <= sum(1 + 3 + math.ceil(size / WINDOW) for size in sizes), (found, sizes)


def test_asked_while_nothing_happens(stack):
    """What each reaper pays for its certainty that the store is this catalog's."""
    peer = stack.contents.peer
    stack.service("reaper", {"GRANARY_REAPER_GATE_INTERVAL": "1s"})

    def marks():
        return [key for key in peer.keys() if "granary-marks/" in key]
    wait_until(marks, 60, "the first mark")
    before, first = Counter(peer.counts), len(peer.requests)
    wait_until(lambda: peer.counts["PutObject"] >= before["PutObject"] + 4, 120, "four more marks")
    asked = Counter(request.op for request in peer.requests[first:])
    rounds = asked["GetObject"]  # of the marker, in each; a mark is raised in most of them, and old ones go now and then
    assert asked["PutObject"] <= rounds + 1 and asked["HeadObject"] <= 2 * rounds + 2
    assert asked["ListObjectsV2"] <= rounds + 2 + rounds // 8 and asked["DeleteObjects"] <= 1 + rounds // 8
    assert set(asked) <= {"PutObject", "HeadObject", "GetObject", "ListObjectsV2", "DeleteObjects"}
