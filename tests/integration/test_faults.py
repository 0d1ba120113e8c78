"""What goes away for a while, or fails once: everything recovers without a hand, as if nothing had happened."""

import os

import pytest
from harness.invariants import check_always, check_quiet
from harness.life import BATCHES, LIVE_DAYS, OLD_DAYS, Life, rows_of_batch, sizes_of
from harness.servers import build_directory
from harness.stack import wait_until

ALL_ROWS = BATCHES * len(rows_of_batch(0))
SERVICES = ("intake", "merge-controller", "rewriter", "reaper")
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


def live_rows():
    days = OLD_DAYS + LIVE_DAYS
    return [row for row in range(ALL_ROWS) if row % len(days) >= len(OLD_DAYS)]


def check_life(life):
    """What an untouched life leaves."""
    assert sizes_of(life.rows()) == live_rows()
    check_quiet(life.stack)


def retention(stack, table, **settings):
    for name, value in settings.items():
        stack.sql("update granary.tables set settings = settings || jsonb_build_object(%s, %s) where table_id = %s",
                  (name.replace("__", "."), value, table.id))


# --- an answer of COMMIT that is lost --------------------------------------------------------------------------------
# The first commits of each process: intake stages and publishes, the reaper claims and deletes, a merge is reserved,
# abandoned or swapped.
@pytest.mark.parametrize("hits", [(1, 3), (2, 4)], ids=["odd", "even"])
@pytest.mark.parametrize("point", ["catalog.commit_lost", "catalog.commit_never_sent"])
@pytest.mark.parametrize("process", ["intake", "merge-controller", "reaper"])
def test_an_answer_of_commit_that_is_lost_is_looked_up(stack, process, point, hits):
    life = Life(stack, {process: ",".join(f"{point}=fail@{hit}" for hit in hits)})
    life.live_through(merge=process == "merge-controller")
    assert point in life.faulty[0].fired()
    check_life(life)


@pytest.mark.allow_errors('"run failed", "code": "unknown"')
@pytest.mark.parametrize("point", ["catalog.commit_lost", "catalog.commit_never_sent"])
@pytest.mark.parametrize("job", ["decay", "merge-cleanup"])
def test_a_job_whose_commit_got_no_answer_is_put_right_by_its_next_run(stack, job, point):
    life = Life(stack, {job: f"{point}=fail"})
    life.live_through(merge=job == "merge-cleanup")
    assert life.faulty[0].fired() == [point]
    check_life(life)


# --- a full disk -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("process", ["intake", "rewriter"])
def test_a_full_disk_is_waited_out(stack, process):
    life = Life(stack, {process: "store.disk_full=fail@1,store.disk_full=fail@2"})
    life.live_through(merge=process == "rewriter")
    assert life.faulty[0].fired() == ["store.disk_full"] * 2
    check_life(life)


# --- servers that go and come ----------------------------------------------------------------------------------------
def unready(program):
    try:
        return program.request("GET", "/readyz").status == 503
    except OSError:
        return False


def test_everything_waits_while_postgresql_is_away_and_goes_on_by_itself(stack):
    wire = stack.proxy("catalog")
    life = Life(stack)
    life.start(*SERVICES)
    programs = [stack.find(name) for name in SERVICES]
    assert life.table.post(rows_of_batch(0), key="batch-0", committed=True).status == 200
    wire.refuse()
    for program in programs:
        wait_until(lambda program=program: unready(program), 120, f"{program.name} to say that the catalog is away")
    assert life.table.post(rows_of_batch(1), key="batch-1").status == 503
    check_always(stack)
    wire.restore()
    go_on_and_check(life, programs)


def test_everything_waits_while_the_broker_restarts_and_goes_on_by_itself(stack):
    wire = stack.proxy("bus")
    life = Life(stack)
    life.start(*SERVICES)
    programs = [stack.find(name) for name in SERVICES]
    assert life.table.post(rows_of_batch(0), key="batch-0", committed=True).status == 200
    wire.refuse()
    for program in programs:
        wait_until(lambda program=program: unready(program), 120, f"{program.name} to say that the broker is away")
    assert life.table.post(rows_of_batch(1), key="batch-1").status == 503
    wire.restore()
    go_on_and_check(life, programs)


def test_connections_that_break_again_and_again_lose_nothing(stack):
    wires = [stack.proxy("catalog"), stack.proxy("bus")]
    life = Life(stack)
    life.start(*SERVICES)
    programs = [stack.find(name) for name in SERVICES]
    for number in range(BATCHES):
        wires[number % 2].cut()
        life.wait(lambda number=number: life.post_batch(number), f"batch {number} to be committed")
    go_on_and_check(life, programs)


def go_on_and_check(life, programs):
    """The same processes finish the life."""
    for number in range(BATCHES):
        life.wait(lambda number=number: life.post_batch(number), f"batch {number} to be committed")
    life.wait(life.is_merged, "the live days to be merged")
    life.decay()
    life.wait(life.is_clean, "everything to be reaped")
    assert all(program.running for program in programs)
    check_life(life)


# --- the store refuses -----------------------------------------------------------------------------------------------
def test_what_the_store_does_not_delete_is_tried_again_until_it_does(stack):
    life = Life(stack)
    life.load()
    life.decay()
    stubborn = life.old_partitions()[:BATCHES]  # of one day
    life.start("reaper")
    with life.unreachable(stubborn[0]):
        life.job("reap-collection")
        wait_until(lambda: life.old_partitions_left() == {row["partition_id"] for row in stubborn}, 120,
                   "all others to be reaped")
        told = "select count(*) from granary.reap_failures where tries > 1 and last_error like 'could not delete%'"
        wait_until(lambda: stack.sql_value(told) == len(stubborn), 120, "the deletions to be tried again")
    life.wait(life.is_clean, "everything to be reaped")
    check_life(life)


# --- clocks ----------------------------------------------------------------------------------------------------------
# With half a day of retention left, or half a day over: a clock a day off would take the first live day, or leave it.
@pytest.mark.parametrize("offset, cutoff, days_left",
                         [("+1d", "2024-05-05T15:00:00Z", 3), ("-1d", "2024-05-07T00:30:00Z", 2)])
@pytest.mark.skipif(os.path.basename(build_directory()) == "tsan",
                    reason="libfaketime waits on conditions behind the thread sanitizer's back")
def test_the_clock_of_a_service_is_a_day_wrong_and_the_databases_clock_decides(stack, offset, cutoff, days_left):
    life = Life(stack)
    life.load()
    max_age = stack.sql_value("select extract(epoch from clock_timestamp() - %s::timestamptz)::bigint", (cutoff,))
    retention(stack, life.table, age__max_age=f"{max_age}s", reaper__max_age="12h")
    wrong = {"LD_PRELOAD": FAKETIME, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
             "DONT_FAKE_MONOTONIC": "1", "ASAN_OPTIONS": "verify_asan_link_order=0"}
    assert os.path.exists(FAKETIME)
    for name in ("decay", "merge-cleanup", "reap-collection"):
        stack.job(name, env={**life.settings(name), **wrong})
    off = stack.sql_value("select started_at - now() from granary.job_runs order by run_id limit 1")
    assert abs(off.total_seconds()) > 80000, "the clock was not wrong"
    assert len(life.rows()) == len(live_rows()) * days_left // len(LIVE_DAYS)
    reaper = stack.service("reaper", {**life.settings("reaper"), **wrong})
    stack.publish("reap", life.reap_event(life.old_partitions()), type="reap.v1")
    wait_until(lambda: reaper.metric("granary_reaper_events_total") == 1, 120, "the event to be handled")
    assert len(life.old_partitions()) == BATCHES * len(OLD_DAYS)  # half a day of grace is left


# --- retention -------------------------------------------------------------------------------------------------------
@pytest.mark.allow_errors("decay is refused by the breaker")
def test_a_retention_that_would_take_most_of_a_table_is_refused_until_somebody_has_looked(stack):
    life = Life(stack, settings={"breaker.max_share": "0.5"})
    life.load()
    retention(stack, life.table, age__max_age="1d")
    refused = stack.job("decay", expect=3)
    assert refused.log(level="error")[0]["share"] == 1
    assert len(life.rows()) == ALL_ROWS
    assert stack.sql_value("select (counts->>'refused')::int from granary.job_runs order by run_id desc limit 1") == 1


def test_a_shortened_retention_waits_for_its_cooling_time(stack):
    life = Life(stack)
    life.load()
    retention(stack, life.table, age__max_age="1d")
    stack.sql("update granary.tables set retention_previous_us = 5478 * 86400000000,"
              " retention_effective_at = clock_timestamp() + interval '1 hour' where table_id = %s", (life.table.id,))
    stack.job("decay")
    assert sizes_of(life.rows()) == live_rows()  # the former retention still counts
    stack.sql("update granary.tables set retention_effective_at = clock_timestamp() where table_id = %s",
              (life.table.id,))
    stack.job("decay")
    assert not life.rows()


def test_never_keeps_for_ever(stack):
    life = Life(stack, settings={"age.max_age": "never"})
    life.load()
    stack.job("decay")
    assert len(life.rows()) == ALL_ROWS
    retention(stack, life.table, age__max_age="5478d", reaper__max_age="never")
    stack.job("decay")
    assert sizes_of(life.rows()) == live_rows()
    life.start("reaper")
    life.job("reap-collection")
    stack.publish("reap", life.reap_event(life.old_partitions()), type="reap.v1")
    wait_until(lambda: stack.find("reaper").metric("granary_reaper_events_total") == 1, 120, "the event to be handled")
    assert len(life.old_partitions()) == BATCHES * len(OLD_DAYS)
    assert len(stack.objects()) == BATCHES * (len(OLD_DAYS) + len(LIVE_DAYS))


def test_a_paused_deployment_deletes_nothing(stack):
    life = Life(stack)
    life.load()
    stack.job("decay")
    stack.sql("update granary.deployment set deleting_paused_at = clock_timestamp(), deleting_paused_by = 'test'")
    for job in ("decay", "merge-cleanup", "reap-collection"):
        stack.job(job, env=life.settings(job), expect=3)
    life.start("reaper")
    reaper = stack.find("reaper")
    stack.publish("reap", life.reap_event(life.old_partitions()), type="reap.v1")
    wait_until(lambda: reaper.log(message="deleting is stopped"), 120, "the reaper to stop")
    assert len(life.old_partitions()) == BATCHES * len(OLD_DAYS)
    stack.sql("update granary.deployment set deleting_paused_at = null, deleting_paused_by = null")
    life.wait(life.is_clean, "everything to be reaped")
    check_life(life)


def test_a_store_of_another_deployment_is_not_deleted_from(stack):
    life = Life(stack)
    life.load()
    life.decay()
    marker = stack.store / "granary-deployment.json"
    ours = marker.read_text()
    marker.write_text(ours.replace(ours.split('"')[3], "00000000-0000-4000-8000-000000000000"))
    reaper = stack.service("reaper", life.settings("reaper"), wait=False)
    wait_until(lambda: reaper.log(message="deleting is stopped"), 120, "the reaper to stop")
    assert unready(reaper)
    stack.publish("reap", life.reap_event(life.old_partitions()), type="reap.v1")
    assert len(stack.objects()) == BATCHES * (len(OLD_DAYS) + len(LIVE_DAYS))
    marker.write_text(ours)
    reaper.wait_ready()
    life.wait(life.is_clean, "everything to be reaped")
    check_life(life)
