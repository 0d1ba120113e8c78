"""What holds at any moment, even with a service dead on the floor, and what holds once everything is quiet."""

import hashlib

from .contents import MARKER

MARKS = "granary-marks/"


def check_objects(stack, partitions):
    """The object of each of these rows is there, and it is the one that was published."""
    for row in partitions:
        data = stack.contents.read(row["path"])
        assert data is not None, f"a partition has no object: {row['path']}"
        assert len(data) == row["data_bytes"], f"{row['path']}: {len(data)} bytes, not {row['data_bytes']}"
        assert hashlib.sha256(data).digest() == bytes(row["sha256"]), f"{row['path']} is not what was published"


def check_always(stack):
    """No live partition is without its object, and none that has a receipt is there."""
    check_objects(stack, stack.sql("select path, data_bytes, sha256 from granary.partitions where active"))
    both = stack.sql("select partition_id from granary.partitions join granary.receipts using (partition_id)")
    assert not both, f"deleted by its receipt, and yet there: {both}"


def leftovers(stack):
    """What still has to go before everything is quiet: nothing, when nothing is left over. Graces are over by then."""
    left = {}
    for what, sql in {
        "partitions that are not plainly live":
            "select count(*) from granary.partitions where not active or lock_id is not null",
        "locks": "select count(*) from granary.locks where expires_at is not null",
        "open attempts": "select count(*) from granary.attempts where state in ('planned', 'running')",
        "failed deletions": "select count(*) from granary.reap_failures",
    }.items():
        count = stack.sql_value(sql)
        if count:
            left[what] = count
    return left


def files(stack):
    """Every file of the store, temporary ones too, but for the marker and the marks."""
    return [key for key in stack.contents.keys() if key != MARKER and not key.startswith(MARKS)]


def check_quiet(stack):
    """Rows and objects name each other one to one; no lock, no attempt and no temporary file outlives its owner; each
    partition that is gone has left one receipt; no message was given up."""
    check_always(stack)
    assert not leftovers(stack)
    named = sorted(row["path"] for row in stack.sql("select path from granary.partitions"
                                                    " union all select path from granary.partition_objects"))
    assert files(stack) == named
    doubled = stack.sql("select partition_id from granary.receipts group by 1 having count(*) > 1")
    assert not doubled, f"deleted twice: {doubled}"
    parents = stack.sql("select parent_id from granary.lineage"
                        " except select partition_id from granary.receipts"
                        " except select partition_id from granary.partitions")
    assert not parents, f"merged, and gone without a receipt: {parents}"
    for queue in ("intake", "merge.result", "rewrite.small", "reap"):
        for name in (queue, f"{queue}.dead"):
            assert not stack.queue_length(name), f"messages are left in {name}"
