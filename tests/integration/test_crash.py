"""The crash matrix: killed at the first hit of each fault point, started again; nothing is lost, doubled, left."""

import os
import re

import pytest
from harness import TREE
from harness.life import KILLED, Life
from harness.stack import Stack

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

# Where each point is reached: (process, point, another process's fault that leads there).
OWN_POINTS = [
    *(("intake", point, {}) for point in (
        "intake.before_enqueue", "intake.after_confirm", "writer.after_receive", "writer.before_stage",
        "publish.after_stage", "publish.mid_write", "publish.after_write", "publish.before_commit",
        "publish.after_commit", "writer.before_ack", "writer.after_ack",
        "store.mid_upload", "store.before_rename", "store.after_rename",
        "load.before_write", "load.after_write", "load.before_commit", "load.after_commit")),
    *(("merge-controller", point, {}) for point in (
        "merge.after_reserve", "merge.before_publish_task", "merge.after_publish_task", "merge.before_commit",
        "merge.after_commit", "merge.before_ack_result")),
    ("merge-controller", "merge.after_abandon", {"rewriter": "rewriter.after_lease=kill"}),
    *(("rewriter", point, {}) for point in (
        "rewriter.after_lease", "rewriter.after_ack", "rewriter.mid_write", "rewriter.after_upload",
        "rewriter.before_publish_result", "rewriter.after_publish_result")),
    ("decay", "decay.in_batch", {}),
    ("decay", "decay.after_batch", {}),
    *(("merge-cleanup", point, {}) for point in (
        "cleanup.after_attempts", "cleanup.after_unlock", "cleanup.after_publish")),
    ("reap-collection", "collection.before_publish", {}),
    ("reap-collection", "collection.after_publish", {}),
    *(("reaper", point, {}) for point in (
        "reaper.in_claim", "reaper.after_claim", "store.before_unlink", "store.after_unlink", "reaper.after_objects",
        "reaper.in_delete", "reaper.after_rows", "reaper.before_ack", "reaper.after_ack",
        "gate.after_advance", "gate.after_put")),
    *(("partition-cleaner", point, {}) for point in (
        "cleaner.after_save", "cleaner.after_compare", "cleaner.before_finish", "cleaner.after_finish",
        "cleaner.before_delete", "cleaner.after_delete")),
]
# Met where the objects lie in a bucket.
OWN_POINTS += [*(("intake", f"s3.{point}", {}) for point in ("before_put", "after_put")),
               *(("reaper", f"s3.{point}", {}) for point in ("before_delete", "after_delete"))]
# Every process that commits meets these; the merges' writes go through the same store.
COMMITTING = ("intake", "reaper", "merge-controller", "decay", "merge-cleanup")
SHARED_POINTS = [
    *((process, f"catalog.{point}", {}) for point in ("before_commit", "after_commit", "commit_lost",
                                                      "commit_never_sent") for process in COMMITTING),
    *(("rewriter", f"store.{point}", {}) for point in ("mid_upload", "before_rename", "after_rename")),
]
# The first CRASH_CASES of them; none or 0 for all. Every point is among the first.
CASES = sorted(OWN_POINTS + SHARED_POINTS, key=lambda case: case in SHARED_POINTS)
CASES = CASES[:int(os.environ.get("CRASH_CASES") or 0) or None]

NEEDS_MERGES = ("merge-controller", "rewriter", "merge-cleanup")


@pytest.fixture(scope="session")
def twin_rows(servers, tmp_path_factory):
    """What is left after an untouched life."""
    stack = Stack(servers, tmp_path_factory.mktemp("twin"))
    passed = False
    try:
        life = Life(stack)
        life.live_through()
        rows = life.rows()
        life.check(rows)
        passed = True
    finally:
        stack.finish(passed)
    return rows


@pytest.mark.parametrize("process, point, others", CASES, ids=lambda part: part if isinstance(part, str) else "")
def test_nothing_is_lost_doubled_or_left_after_a_kill(request, twin_rows, process, point, others):
    stack = request.getfixturevalue("bucket_stack" if point.startswith("s3.") else "stack")
    life = Life(stack, {process: f"{point}=kill", **others}, loads=point.startswith("load."))
    life.live_through(merge=process in NEEDS_MERGES, clean=process == "partition-cleaner")
    victims = [program for program in life.faulty if program.service == process]
    assert [program.wait_exit(30) for program in victims] == [KILLED]  # the last thing that a process does may come last
    assert victims[0].fired() == [point]
    life.check(twin_rows)


def test_every_fault_point_of_the_sources_has_a_case_and_a_line_in_the_documentation():
    sources = [*(TREE / "common").rglob("*.c"), *(TREE / "services").rglob("*.c")]
    points = {point for source in sources
              for point in re.findall(r'FAULT_(?:POINT|FAIL)\("([\w.]+)"\)', source.read_text())}
    points.discard("store.disk_full")  # nobody is killed by a full disk: see test_faults.py
    assert points == {point for _, point, _ in OWN_POINTS + SHARED_POINTS}
    documented = set(re.findall(r"`(\w+\.\w+)`", (TREE / "docs/crash-matrix.md").read_text()))
    assert points == {name for name in documented if not name.endswith(".py")}
