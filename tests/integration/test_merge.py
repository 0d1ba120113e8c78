"""Merging with the real controller and rewriters: what becomes of partitions, and that no row is lost or doubled."""

import json
import subprocess
from pathlib import Path

import pytest
from harness.servers import build_directory
from harness.stack import wait_until

CONTROLLER, REWRITER = "merge-controller", "rewriter"
QUICK = {"GRANARY_MERGE_INTERVAL": "200ms", "GRANARY_MERGE_LEASE": "2s", "GRANARY_MERGE_START_LEASE": "30s"}
SECONDS = 240

STATES = """select granary.partition_state(active, lock_kind, deactivation_reason) as state, count(*), sum(row_count)::bigint as rows
            from granary.partitions group by 1"""


class Table:
    """Old partitions, small enough that everything in a bucket fits one output."""

    def __init__(self, stack, days=6, each=4, rows=200, name="t"):
        self.stack, self.name = stack, name
        self.made = self._seed("make", name, days, each, rows)

    def _seed(self, *arguments):
        local = self.stack.servers.local
        password = self.stack.servers.layout.secret("postgres-granary_owner")
        answer = subprocess.run(
            [Path(build_directory(), "live/publish/seed_live"), *map(str, arguments)], check=False, text=True,
            capture_output=True, stdin=subprocess.DEVNULL,
            env={"GRANARY_CATALOG_URL": f"{local.postgres.url('granary_owner', self.stack.database)} password={password}",
                 "GRANARY_STORE_URL": f"file://{self.stack.store}"})
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def read(self):
        return self._seed("read", self.name)

    def set(self, **settings):
        """merge__max_tries="2" sets merge.max_tries."""
        self.stack.sql("update granary.tables set settings = settings || %s::jsonb where name = %s",
                       (json.dumps({name.replace("__", "."): value for name, value in settings.items()}), self.name))

    def states(self):
        return {row["state"]: (row["count"], row["rows"]) for row in self.stack.sql(STATES)}

    def partitions(self, **where):
        clause = " and ".join(f"p.{column} = %s" for column in where) or "true"
        return self.stack.sql(f"select p.* from granary.partitions p where {clause} order by p.min_timestamp, p.partition_id",
                              list(where.values()))


def attempts(stack, state=None):
    return stack.sql("select * from granary.attempts where %s::text is null or state = %s order by created_at",
                     (state, state))


def wait_merged(table, left, seconds=SECONDS):
    """Until `left` active partitions are left, none of them reserved, and no attempt is under way."""
    def merged():
        states = table.states()
        return (states.get("active", (0,))[0] == left and "merging" not in states
                and not attempts(table.stack, "planned") and not attempts(table.stack, "running"))

    wait_until(merged, seconds, f"{left} partitions to be left")


def check_nothing_lost(table):
    """Rows as they were made; every inactive partition has a reason; nothing is locked but what a commit has retired."""
    assert table.read() == table.made
    locks = table.stack.sql("select l.kind, count(p.partition_id) from granary.locks l"
                            " left join granary.partitions p on p.lock_id = l.lock_id and not p.active"
                            " and p.deactivation_reason = 'merge' group by l.lock_id, l.kind")
    assert all(lock["kind"] == "merge" and lock["count"] > 0 for lock in locks), locks
    assert set(table.states()) <= {"active", "retired", "abandoned"}


def test_small_partitions_become_few_and_no_row_is_lost(stack):
    table = Table(stack, days=20)
    stack.service(REWRITER)
    controller = stack.service(CONTROLLER, QUICK)
    wait_merged(table, 1)  # 20 days lie within one bucket of 30
    check_nothing_lost(table)
    output = table.partitions(active=True)[0]
    assert output["origin"] == "merge" and output["merge_level"] == 3
    assert len(table.partitions(origin="intake", active=False)) == 80
    assert stack.sql_value("select count(*) from granary.lineage where parent_id in"
                           " (select partition_id from granary.partitions where origin = 'intake')") == 80
    assert stack.sql_value("select count(*) from granary.partition_columns where partition_id = %s",
                           (output["partition_id"],)) == 3
    assert controller.metric("granary_merge_attempts_total", event="committed") == len(attempts(stack, "done"))
    assert not attempts(stack, "abandoned")


def test_without_rewriters_nothing_is_reserved(stack):
    table = Table(stack)
    controller = stack.service(CONTROLLER, QUICK)
    wait_until(lambda: controller.metric("granary_merge_last_successful_run_timestamp_seconds"), SECONDS, "a first round")
    assert not attempts(stack)
    stack.service(REWRITER)
    wait_merged(table, 1)
    check_nothing_lost(table)


def test_merging_can_be_switched_off_for_a_table(stack):
    off, on = Table(stack, name="off"), Table(stack, name="on")
    off.set(merge__enabled="false")
    stack.service(REWRITER)
    stack.service(CONTROLLER, QUICK)
    wait_merged(on, 1 + 6 * 4)
    assert off.read() == off.made and on.read() == on.made
    assert {row["table_id"] for row in attempts(stack)} == {on.partitions(merge_level=3)[0]["table_id"]}


def test_one_controller_leads_and_another_takes_over(stack):
    table = Table(stack, days=12)
    first, second = stack.service(CONTROLLER, QUICK), stack.service(CONTROLLER, QUICK)
    wait_until(lambda: first.metric("granary_merge_leading") + second.metric("granary_merge_leading") == 1, SECONDS,
               "a leader")
    leader, standby = (first, second) if first.metric("granary_merge_leading") else (second, first)
    stack.service(REWRITER)
    wait_until(lambda: attempts(stack, "done"), SECONDS, "a commit")
    leader.kill9()
    wait_until(lambda: standby.metric("granary_merge_leading"), SECONDS, "the standby to lead")
    wait_merged(table, 1)
    check_nothing_lost(table)
    assert stack.sql_value("select epoch from granary.leaders") == 2


def test_a_held_partition_keeps_its_file_and_a_hold_on_time_lets_merges_go_on(stack):
    table = Table(stack)
    held = table.partitions()[5]
    stack.sql("insert into granary.holds (table_id, partition_id, reason, placed_by) values (%s, %s, 'r', 'test')",
              (held["table_id"], held["partition_id"]))
    stack.sql("insert into granary.holds (table_id, min_timestamp, max_timestamp, reason, placed_by)"
              " values (%s, '1970-01-01', '2100-01-01', 'r', 'test')", (held["table_id"],))
    stack.service(REWRITER)
    stack.service(CONTROLLER, QUICK)
    wait_merged(table, 2)
    check_nothing_lost(table)
    assert held["partition_id"] in {row["partition_id"] for row in table.partitions(active=True)}


def test_a_broken_partition_is_set_aside_and_merging_goes_on_around_it(stack):
    table = Table(stack)
    table.set(merge__max_tries="2")
    broken = table.partitions()[5]
    path = stack.store / broken["path"]
    path.chmod(0o600)
    path.write_bytes(b"PAR1" + bytes(broken["data_bytes"] - 8) + b"PAR1")
    stack.service(REWRITER)
    controller = stack.service(CONTROLLER, QUICK)
    wait_merged(table, 2)
    assert broken["partition_id"] in {row["partition_id"] for row in table.partitions(active=True)}
    failure = stack.sql("select * from granary.merge_failures")
    assert len(failure) == 1 and failure[0]["partition_id"] == broken["partition_id"]
    assert failure[0]["tries"] == 2 and failure[0]["set_aside_at"] and failure[0]["last_error"]
    assert controller.metric("granary_merge_set_aside_total") == 1
    assert len(attempts(stack, "abandoned")) == 2
    assert table.states()["abandoned"][0] == 2
    assert sum(row["row_count"] for row in table.partitions(active=True)) == table.made["rows"]


def test_a_late_result_is_refused_and_what_it_wrote_is_given_up(stack, tmp_path):
    table = Table(stack, days=1)
    held = tmp_path / "held"
    late = stack.service(REWRITER, fault=f"rewriter.after_upload=hold:{held}", wait=True)
    controller = stack.service(CONTROLLER, QUICK)
    wait_until(held.exists, SECONDS, "the upload to be done")
    late.pause()  # nobody renews the lease
    abandoned = wait_until(lambda: attempts(stack, "abandoned"), SECONDS, "the lease to run out")[0]
    stack.service(REWRITER)
    wait_merged(table, 1)
    held.unlink()
    late.resume()
    wait_until(lambda: controller.metric("granary_merge_attempts_total", event="refused") == 1, SECONDS,
               "the late result to be refused")
    check_nothing_lost(table)
    given_up = table.partitions(partition_id=abandoned["output_id"])[0]
    assert (given_up["active"], given_up["deactivation_reason"]) == (False, "abandoned")
    assert given_up["path"] in stack.objects()  # the reaper's to delete


def test_results_that_come_while_nobody_leads_are_committed(stack, tmp_path):
    """Also when the lease has run out by then: the inputs are still the attempt's, because nobody has judged it."""
    table = Table(stack, days=1)
    held = tmp_path / "held"
    stack.service(REWRITER, fault=f"rewriter.before_publish_result=hold:{held}", wait=True)
    controller = stack.service(CONTROLLER, QUICK)
    wait_until(held.exists, SECONDS, "the result to be ready")
    controller.kill9()
    held.unlink()
    wait_until(lambda: stack.queue_length("merge.result"), SECONDS, "the result to be queued")
    stack.sql("update granary.locks set expires_at = clock_timestamp()")
    stack.service(CONTROLLER, QUICK)
    wait_merged(table, 1)
    check_nothing_lost(table)
    assert [row["state"] for row in attempts(stack)] == ["done"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{\"attempt_id\":1}", b"\xff\xfe"])
def test_malformed_tasks_and_results_go_to_the_dead_queues(stack, body):
    table = Table(stack, days=1)
    stack.service(REWRITER)
    stack.service(CONTROLLER, QUICK)
    wait_merged(table, 1)
    for queue in ("rewrite.small", "merge.result"):
        stack.publish(queue, body)
        wait_until(lambda queue=queue: stack.queue_length(f"{queue}.dead"), SECONDS, f"{queue}.dead to fill")


@pytest.mark.parametrize("fault", ["catalog.commit_lost=fail", "catalog.commit_never_sent=fail"])
def test_an_answer_of_commit_that_was_lost_is_looked_up(stack, fault):
    table = Table(stack)
    stack.service(REWRITER)
    controller = stack.service(CONTROLLER, QUICK, fault=fault, wait=True)
    wait_until(controller.fired, SECONDS, "the fault to fire")
    wait_merged(table, 1)
    check_nothing_lost(table)
