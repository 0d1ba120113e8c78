"""A catalog that is not the one its store knows: restored from a backup, or a clone that lives beside the first. Nothing is
deleted until somebody has looked and has said which one counts."""

import contextlib

from harness.invariants import leftovers
from harness.life import Life
from harness.stack import wait_until

GATE = {"GRANARY_REAPER_GATE_INTERVAL": "1s"}


def marks(stack):
    return sorted(int(path.name) for path in (stack.store / "granary-marks").glob("[0-9]*"))


class Catalogs:
    """Copies of a test's database, which can be changed under the same store."""

    def __init__(self, stack):
        self.stack = stack
        self.made = []

    def copy(self):
        """As a backup does, with nobody connected."""
        stack = self.stack
        for program in [program for program in stack.programs if program.running]:
            program.stop()
        self._close()
        name = f"{stack.database}_copy{len(self.made)}"
        stack.servers.local.postgres.sql(f'create database "{name}" template "{stack.database}" owner granary_owner')
        self.made.append(name)
        return name

    def use(self, name):
        self._close()
        before, self.stack.database = self.stack.database, name
        return before

    def drop(self):
        for name in self.made:
            self.stack.servers.drop_database(name)

    def _close(self):
        for connection in self.stack._connections.values():
            connection.close()
        self.stack._connections.clear()


@contextlib.contextmanager
def catalogs_of(stack):
    catalogs, first = Catalogs(stack), stack.database
    try:
        yield catalogs
    finally:
        for program in [program for program in stack.programs if program.running]:
            program.stop()
        catalogs.use(first)
        catalogs.drop()


def reaper(life, wait=True):
    return life.stack.service("reaper", {**life.settings("reaper"), **GATE}, wait=wait)


def finding(stack):
    return stack.cli_json("status")["storages"][0]["finding"]


def stopped(program, words):
    lines = wait_until(lambda: program.log(message="deleting is stopped"), 60, "the reaper to stop")
    assert words in lines[-1]["error"], lines
    assert program.request("GET", "/readyz").status == 503


def copy_of(catalogs, life):
    name = catalogs.copy()
    life._running.clear()  # pylint: disable=protected-access
    return name


def test_a_restored_catalog_deletes_nothing_until_recover(stack):
    life = Life(stack)
    life.load()
    life.decay()
    reaper(life)
    wait_until(lambda: marks(stack), 60, "the first mark")
    with catalogs_of(stack) as catalogs:
        yesterday = copy_of(catalogs, life)
        objects = stack.objects()
        reaper(life)
        life.wait(life.is_clean, "everything to be reaped", 120)
        gone = set(objects) - set(stack.objects())
        stack.service("intake", life.settings("intake"))
        life.table.land([{"ts": "2024-05-06T00:00:00Z", "path": "later", "size": 9000}])
        left = stack.objects()
        for name in ("intake", "reaper"):
            stack.find(name).stop()

        catalogs.use(yesterday)
        restored = reaper(life, wait=False)
        stopped(restored, "the catalog is older than what was deleted")
        stack.publish("reap", life.reap_event(life.old_partitions()), type="reap.v1")
        stack.service("admin")
        assert finding(stack) == "store_ahead"
        assert "until granary recover" in stack.cli("status")
        told = stack.cli("recover", expect=2)
        assert "store_ahead" in told and "dry run" in told
        compared = stack.cli_json("recover")["storages"][0]
        assert gone and compared["rows_without_object"] == len(gone) and compared["live_rows_without_object"] == 0
        assert compared["objects_without_row"] == 1
        assert stack.objects() == left

        stack.cli("recover", "--yes", "--reason", "restored the backup of yesterday")
        assert finding(stack) == "agrees"
        restored.wait_ready()
        stack.job("reap-collection", env=life.settings("reap-collection"))
        wait_until(lambda: not leftovers(stack), 120, "the rows of what was reaped to go too")
        assert stack.objects() == left
        assert stack.sql_value("select count(*) from granary.audit_log where action = 'storage.recover'") == 1
        assert "nothing to recover" in stack.cli("recover", "--quick")
        assert "granary recover shows" in stack.cli("recover", "--yes", expect=3)


def test_of_two_catalogs_on_one_store_the_one_that_was_recovered_deletes_and_the_other_stops(stack):
    life = Life(stack)
    life.load()
    reaper(life)
    wait_until(lambda: marks(stack), 60, "the first mark")
    with catalogs_of(stack) as catalogs:
        clone = copy_of(catalogs, life)
        before = max(marks(stack))
        first = reaper(life)
        wait_until(lambda: max(marks(stack)) > before, 60, "the first catalog's next mark")
        catalogs.use(clone)
        second = reaper(life, wait=False)
        stopped(second, "granary recover")
        stack.service("admin")
        stack.cli("recover", "--yes", "--reason", "the clone counts from now on")
        second.wait_ready()
        stopped(first, "granary recover")


def test_marks_are_raised_in_order_and_old_ones_go(stack):
    life = Life(stack)
    stack.service("admin")
    assert finding(stack) in ("agrees", "unused")
    life.load()
    stack.sql("update granary.storage_marks set number = 1000")
    reaper(life)
    wait_until(lambda: 1001 in marks(stack), 60, "the next mark")
    assert finding(stack) == "agrees"
    (stack.store / "granary-marks" / f"{5:019}").write_text("an old one")
    stack.sql("update granary.storage_marks set number = 1007")
    wait_until(lambda: max(marks(stack)) >= 1008 and 5 not in marks(stack), 60, "old marks to be pruned")


def test_a_storage_that_was_swapped_stops_deleting_everywhere(stack):
    life = Life(stack)
    life.load()
    life.decay()
    stack.service("admin")
    second = stack.directory / "second"
    stack.cli("storage", "add", "second", f"file://{second}")
    marker = second / "granary-deployment.json"
    ours = marker.read_text()
    marker.write_text('{"deployment_id":"00000000-0000-4000-8000-000000000000"}')
    objects = stack.objects()
    program = reaper(life, wait=False)
    stopped(program, "expected the marker of deployment")
    stack.publish("reap", life.reap_event(life.old_partitions()), type="reap.v1")
    assert [row["finding"] for row in stack.cli_json("status")["storages"]] == ["agrees", "other_store"]
    assert "granary recover shows" in stack.cli("recover", "--yes", expect=3)
    assert stack.objects() == objects
    marker.write_text(ours)
    program.wait_ready()
    life.wait(life.is_clean, "everything to be reaped")


def test_the_backup_window_keeps_what_a_backup_may_name(stack):
    life = Life(stack, settings={"reaper.backup_window": "1h"})
    life.load()
    life.decay()
    stack.service("admin")
    reaper(life)
    stack.job("merge-cleanup", env=life.settings("merge-cleanup"))
    stack.job("reap-collection", env=life.settings("reap-collection"))
    old = life.old_partitions()
    stack.publish("reap", life.reap_event(old), type="reap.v1")  # a hint that asks for too much
    program = stack.find("reaper")
    wait_until(lambda: program.metric("granary_reaper_partitions_total", result="stale") == len(old), 60,
               "the hint to be judged")
    explained = stack.cli("explain", str(old[0]["partition_id"]))
    assert "reaper.backup_window" in explained and "A catalog backup of the last 1h" in explained
    stack.cli("table", "set", life.table.name, "reaper.backup_window_days=0")
    life.wait(life.is_clean, "everything to be reaped")
