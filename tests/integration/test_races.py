"""Two at once, and events that lie: the lock holder wins, the fence orders the rest, and nothing is done twice."""

import contextlib
import json
import uuid
from datetime import timedelta

import psycopg2
import pytest
from harness.invariants import check_always, check_objects, check_quiet
from harness.life import BATCHES, LIVE_DAYS, OLD_DAYS, Life, rows_of_batch
from harness.stack import wait_until

OLD_PARTITIONS = BATCHES * len(OLD_DAYS)
REAP = {"type": "reap.v1"}
GUARD = "GR001"


@pytest.fixture
def life(stack):
    """Rows that are in."""
    made = Life(stack)
    made.load()
    return made


def handled(reaper):
    return reaper.metric("granary_reaper_events_total")


def wait_handled(reaper, count):
    wait_until(lambda: handled(reaper) >= count, 120, f"{count} reap events to be handled")


def state_of(stack):
    """All that a change would change."""
    return (stack.sql("select partition_id, active, lock_id, deactivation_reason, deactivated_at, version"
                      " from granary.partitions order by partition_id"), stack.objects())


@contextlib.contextmanager
def standing_still(path, seconds=120):
    """Until a process has come to its fault point hold:PATH; it goes on at the end."""
    wait_until(path.exists, seconds, f"somebody to stand at {path.name}")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def lock_partition(stack, row, kind):
    """As an alter job, or an operator, does it."""
    lock = uuid.uuid4()
    stack.sql_as("granary_admin", "insert into granary.locks (lock_id, kind, owner, expires_at)"
                                  " values (%s, %s, 'test', null)", (lock, kind))
    stack.sql_as("granary_admin", "update granary.partitions set lock_id = %s, lock_kind = %s where partition_id = %s",
                 (lock, kind, row["partition_id"]))


def unlock_partition(stack, row):
    stack.sql_as("granary_admin", "update granary.partitions set lock_id = null, lock_kind = null"
                                  " where partition_id = %s", (row["partition_id"],))


def place_hold(stack, life, partition=None):
    """As the admin service does it: under the table's fence, taken alone."""
    connection = stack.connection("granary_admin", fresh=True)
    connection.autocommit = False
    with contextlib.closing(connection), connection, connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(granary.table_fence(%s))", (life.table.id,))
        cursor.execute("insert into granary.holds (table_id, partition_id, reason, placed_by)"
                       " values (%s, %s, 'a court asks', 'test')", (life.table.id, partition))


def release_holds(stack):
    stack.sql("update granary.holds set released_at = clock_timestamp(), released_by = 'test'")


def fence_is_free(stack, life):
    """Whether a hold or a drop would get through now."""
    connection = stack.connection("granary_admin", fresh=True)
    connection.autocommit = False
    with contextlib.closing(connection), connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(granary.table_fence(%s))", (life.table.id,))
        return cursor.fetchone()[0]


def publish_under_the_fence(stack, tmp_path):
    """A life whose first rows are being published: whoever wants the fence alone has to wait meanwhile."""
    held = tmp_path / "before the commit"
    life = Life(stack, {"intake": f"catalog.before_commit=hold:{held}@2"})  # the first stages, the second publishes
    life.start("intake")
    stack.find("intake").wait_ready()
    assert life.table.post(rows_of_batch(0)).status == 202
    with standing_still(held):
        assert not fence_is_free(stack, life)
    return life


# --- reap events that lie --------------------------------------------------------------------------------------------
def test_events_for_what_may_not_be_reaped_touch_nothing(stack, life):
    active, merging, parked = life.live_partitions()[:3]
    lock_partition(stack, merging, "alter")
    lock_partition(stack, parked, "manual")
    stack.sql_as("granary_admin", "update granary.partitions set active = false, deactivation_reason = 'park'"
                                  " where partition_id = %s", (parked["partition_id"],))
    parked = life.partition(parked)
    life.decay()
    held, late = life.old_partitions()[:2]
    place_hold(stack, life, held["partition_id"])
    late = {**late, "deactivated_at": late["deactivated_at"] + timedelta(microseconds=1)}
    soon = {**active, "deactivated_at": held["deactivated_at"]}
    unknown = {**held, "partition_id": uuid.uuid4()}
    before = state_of(stack)
    life.start("reaper")
    reaper = stack.find("reaper")
    cases = [soon, {**soon, "partition_id": merging["partition_id"]}, parked, held, late, unknown]
    for row in cases:
        stack.publish("reap", life.reap_event([row]), **REAP)
    stack.publish("reap", life.reap_event(cases), **REAP)
    stack.publish("reap", {**life.reap_event([held]), "table": str(uuid.uuid4())}, **REAP)
    wait_handled(reaper, len(cases) + 2)
    assert state_of(stack) == before
    assert reaper.metric("granary_reaper_partitions_total", result="stale") == 2 * len(cases)
    assert reaper.metric("granary_reaper_partitions_total", result="deleted") == 0
    assert not stack.queue_length("reap.dead")


MALFORMED = [b"", b"{", b"[]", b"\xff\xfe", b'{"table":"x","partitions":[]}', b'{"partitions":[]}',
             json.dumps({"table": str(uuid.uuid4()), "partitions": [{"id": str(uuid.uuid4())}]}).encode(),
             json.dumps({"table": str(uuid.uuid4()), "partitions": [
                 {"id": str(uuid.uuid4()), "deactivated_at_us": 1}] * 1001}).encode()]


def test_malformed_events_go_to_the_dead_queue_and_stop_nobody(stack, life):
    life.decay()
    life.start("reaper")
    for body in MALFORMED:
        stack.publish("reap", body, **REAP)
    life.wait(life.is_clean, "everything to be reaped")
    wait_until(lambda: stack.queue_length("reap.dead") == len(MALFORMED), 120, "the malformed events to be set aside")
    assert stack.find("reaper").metric("granary_reaper_malformed_events_total") == len(MALFORMED)
    assert sorted(body for _, body in stack.messages("reap.dead")) == sorted(MALFORMED)
    check_quiet(stack)


def test_doubled_and_reordered_events_delete_once(stack, life):
    life.decay()
    old = life.old_partitions()
    life.start("reaper")
    for rows in (old[::-1], old, old[3:], old[:5], old, [old[2], old[2]]):
        stack.publish("reap", life.reap_event(rows), **REAP)
    wait_handled(stack.find("reaper"), 6)
    check_always(stack)
    life.wait(life.is_clean, "everything to be reaped")
    assert stack.sql_value("select count(*) from granary.receipts") == OLD_PARTITIONS
    check_quiet(stack)


def test_an_event_from_before_an_undo_does_not_reach_what_decayed_again(stack, life):
    life.decay()
    stale = life.reap_event(life.old_partitions())
    stack.sql_as("granary_admin", "update granary.partitions set active = true, deactivation_reason = null"
                                  " where not active")
    life.start("reaper")
    reaper = stack.find("reaper")
    stack.publish("reap", stale, **REAP)
    wait_handled(reaper, 1)
    assert len(life.rows()) == len(life.loaded)  # it is live again
    life.decay()
    stack.publish("reap", stale, **REAP)
    wait_handled(reaper, 2)
    assert len(life.old_partitions()) == OLD_PARTITIONS
    life.wait(life.is_clean, "everything to be reaped")
    check_quiet(stack)


# --- two of a kind ---------------------------------------------------------------------------------------------------
def test_two_reapers_share_the_work_and_delete_nothing_twice(stack, life):
    life.decay()
    old = life.old_partitions()
    reapers = [stack.service("reaper", life.settings("reaper")) for _ in range(2)]
    events = [[row] for row in old] * 3 + [old] * 3
    for rows in events:
        stack.publish("reap", life.reap_event(rows), **REAP)
    wait_until(lambda: sum(map(handled, reapers)) >= len(events), 120, "all events to be handled")
    wait_until(lambda: not life.old_partitions(), 120, "all to be deleted")
    deleted = [reaper.metric("granary_reaper_partitions_total", result="deleted") for reaper in reapers]
    assert sum(deleted) == OLD_PARTITIONS
    life.wait(life.is_clean, "everything to be reaped")
    check_quiet(stack)


def test_two_decays_share_the_partitions(stack, life, tmp_path):
    held = tmp_path / "in the batch"
    first = stack.service("decay", {"GRANARY_DECAY_BATCH": "3"}, fault=f"decay.in_batch=hold:{held}", wait=False)
    with standing_still(held):
        second = stack.job("decay", env={"GRANARY_DECAY_BATCH": "3"})
        assert len([row for row in life.old_partitions() if not row["active"]]) == OLD_PARTITIONS - 3
    assert first.wait_exit() == 0
    assert {row["version"] for row in life.old_partitions()} == {3}  # staged, published, decayed: once
    counts = [run["counts"]["partitions"] for run in
              stack.sql("select counts from granary.job_runs where job like '%%decay' order by run_id")]
    assert counts == [OLD_PARTITIONS - 3, 3]
    assert second.fired() == []


def test_two_collections_at_once_do_no_harm(stack, life):
    life.decay()
    jobs = [stack.service("reap-collection", life.settings("reap-collection"), wait=False) for _ in range(2)]
    assert [job.wait_exit() for job in jobs] == [0, 0]
    life.start("reaper")
    life.wait(life.is_clean, "everything to be reaped")
    assert stack.sql_value("select count(*) from granary.receipts") == OLD_PARTITIONS
    check_quiet(stack)


LEADERS_SESSION = """select l.pid from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory' and l.mode = 'ExclusiveLock' and l.granted"""


def test_a_leader_that_lost_the_lead_in_the_middle_of_a_commit_changes_nothing(stack, life, tmp_path):
    """Its epoch is over, though the attempt is not: the next leader commits the same result."""
    held = tmp_path / "before the commit"
    settings = {**life.settings("merge-controller"), "GRANARY_MERGE_LEASE": "1m", "GRANARY_MERGE_START_LEASE": "1m"}
    first = stack.service("merge-controller", settings, fault=f"merge.before_commit=hold:{held}", wait=True)
    life.start("rewriter")
    with standing_still(held):
        second = stack.service("merge-controller", settings)
        stack.sql_as("postgres", f"select pg_terminate_backend(pid) from ({LEADERS_SESSION}) leader")
        wait_until(lambda: second.log(message="leading", epoch=2), 120, "the other one to lead")
    life.wait(life.is_merged, "the live days to be merged")
    assert first.metric("granary_merge_attempts_total", event="committed") == 0
    assert stack.sql("select distinct state from granary.attempts") == [{"state": "done"}]
    assert life.rows() == life.loaded


# --- locks -----------------------------------------------------------------------------------------------------------
def test_decay_leaves_what_a_merge_has_and_takes_its_output(stack, life, tmp_path):
    """The days that are live grow old while their merge is under way."""
    held = tmp_path / "merged"
    life.start_held("rewriter", "rewriter.mid_write", held)
    stack.service("merge-controller", {**life.settings("merge-controller"), "GRANARY_MERGE_LEASE": "1m",
                                       "GRANARY_MERGE_START_LEASE": "1m"})  # the other merges wait for this one
    with standing_still(held):
        reserved = stack.sql("select partition_id from granary.partitions where active and lock_kind = 'merge'")
        stack.sql("update granary.tables set settings = settings || '{\"age.max_age\": \"1d\"}' where table_id = %s",
                  (life.table.id,))
        life.job("decay")
        assert reserved == stack.sql("select partition_id from granary.partitions where active")
        counts = stack.sql("select counts from granary.job_runs order by run_id desc limit 1")[0]["counts"]
        assert counts["overdue_partitions"] == len(reserved)
    life.wait(lambda: not life.attempts("planned", "running"),
              "the merges to end")
    assert life.attempts("done") == len(LIVE_DAYS)
    life.job("decay")
    assert not life.rows()
    life.reap()
    check_quiet(stack)


def test_an_alters_lock_keeps_merge_and_decay_away(stack, life):
    locked = [life.old_partitions()[0], *life.live_partitions()[:BATCHES]]  # one of an old day, and all of a live one
    for row in locked:
        lock_partition(stack, row, "alter")
    life.start("merge-controller", "rewriter")
    life.wait(lambda: life.attempts("done") == len(LIVE_DAYS) - 1,
              "the other days to be merged")
    life.job("decay")
    for row in locked:
        assert life.partition(row)["active"]
        unlock_partition(stack, row)
    life.wait(life.is_merged, "the live days to be merged")
    life.decay()
    life.reap()
    check_quiet(stack)


def test_a_lease_that_ran_out_while_the_rewriter_still_wrote_leaves_only_work_for_the_reaper(stack, life, tmp_path):
    held = tmp_path / "mid write"
    slow = life.start_held("rewriter", "rewriter.mid_write", held)
    life.start("merge-controller")
    with standing_still(held):
        slow.pause()  # nobody renews its lease
        life.wait(lambda: life.attempts("abandoned"),
                  "the attempt to be given up")
        life.start("rewriter")
        life.wait(life.is_merged, "the live days to be merged")
    slow.resume()
    wait_until(lambda: slow.metric("granary_rewriter_tasks_total", result="lost") == 1, 120, "the lease to be missed")
    life.decay()
    life.reap()
    check_quiet(stack)


# --- the table's fence -----------------------------------------------------------------------------------------------
def test_a_hold_waits_for_a_claim_in_the_middle(stack, life, tmp_path):
    life.decay()
    held = tmp_path / "in the claim"
    life.start_held("reaper", "reaper.in_claim", held)
    life.job("reap-collection")
    with standing_still(held):
        assert not fence_is_free(stack, life)
    place_hold(stack, life)
    wait_until(lambda: not life.old_partitions(), 120, "what was claimed before the hold to be reaped")
    assert stack.sql_value("select count(*) from granary.receipts") == OLD_PARTITIONS
    life.wait(life.is_clean, "quiet")
    check_quiet(stack)


def test_a_hold_placed_before_the_claim_keeps_everything_until_it_is_released(stack, life):
    life.decay()
    event = life.reap_event(life.old_partitions())
    place_hold(stack, life)
    life.start("reaper")
    stack.publish("reap", event, **REAP)
    wait_handled(stack.find("reaper"), 1)
    life.job("reap-collection")
    assert len(life.old_partitions()) == OLD_PARTITIONS
    assert not stack.queue_length("reap")
    release_holds(stack)
    life.wait(life.is_clean, "everything to be reaped")
    check_quiet(stack)


def test_a_hold_placed_between_two_tries_keeps_what_is_still_there(stack, life):
    life.decay()
    stubborn = life.old_partitions()[:BATCHES]  # of one day
    life.start("reaper")
    with life.unreachable(stubborn[0]):
        life.job("reap-collection")
        wait_until(lambda: stack.sql_value("select count(*) from granary.reap_failures") == BATCHES, 120,
                   "the store to refuse")
        place_hold(stack, life)
    standing = "select from granary.locks where kind = 'reap' and expires_at > clock_timestamp()"
    wait_until(lambda: not stack.sql(standing), 120, "the claim to run out")
    life.job("reap-collection")
    assert life.old_partitions_left() == {row["partition_id"] for row in stubborn}
    check_objects(stack, stubborn)
    release_holds(stack)
    life.wait(life.is_clean, "everything to be reaped")
    check_quiet(stack)


def test_an_undo_in_the_middle_of_a_claim_is_refused(stack, life, tmp_path):
    life.decay()
    held = tmp_path / "after the claim"
    life.start_held("reaper", "reaper.after_claim", held)
    life.job("reap-collection")
    with standing_still(held), pytest.raises(psycopg2.Error) as refused:
        stack.sql_as("granary_admin", "update granary.partitions set active = true, deactivation_reason = null"
                                      " where not active")
    assert refused.value.pgcode == GUARD
    life.wait(life.is_clean, "everything to be reaped")
    check_quiet(stack)


def test_a_drop_waits_for_a_publish_in_the_middle_and_takes_what_it_published(stack, tmp_path):
    life = publish_under_the_fence(stack, tmp_path)
    life.table.wait_rows(len(rows_of_batch(0)), 30)
    life.table.drop()
    life.reap_dropped()
    assert not stack.objects()


def test_a_hold_waits_for_a_publish_in_the_middle_and_covers_what_it_published(stack, tmp_path):
    life = publish_under_the_fence(stack, tmp_path)
    place_hold(stack, life)
    life.table.wait_rows(len(rows_of_batch(0)), 30)
    live = stack.sql_value("select count(*) from granary.partitions where active")
    life.job("decay")
    assert stack.sql_value("select count(*) from granary.partitions where active") == live
    release_holds(stack)
    life.decay()
    assert stack.sql_value("select count(*) from granary.partitions where active") < live


@pytest.mark.allow_errors("a message cannot be written and goes to the dead queue")
def test_a_publish_after_a_drop_is_refused_and_its_rows_are_kept_aside(stack, tmp_path):
    held = tmp_path / "before the publish"
    life = Life(stack, {"intake": f"publish.before_commit=hold:{held}"})
    life.start("intake")
    stack.find("intake").wait_ready()
    assert life.table.post(rows_of_batch(0)).status == 202
    with standing_still(held):
        assert fence_is_free(stack, life)
        life.table.drop()
    wait_until(lambda: stack.queue_length("intake.dead") == 1, 120, "the only copy to be set aside")
    assert stack.sql_value("select count(*) from granary.partitions where active") == 0
    life.reap_dropped()
    assert not stack.objects()
