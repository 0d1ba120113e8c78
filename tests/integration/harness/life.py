"""A small life: keyed batches over several days come in, their partitions are merged, the old days decay, and what
nothing needs is reaped. Whoever is killed on the way is started again without its fault, until everything is quiet."""

import contextlib
import http.client
import os
import uuid
from datetime import datetime, timedelta, timezone

from .invariants import check_always, check_quiet, leftovers
from .scan import scan
from .stack import wait_until
from .table import Table

OLD_DAYS = ("2001-03-04", "2001-03-05")
LIVE_DAYS = ("2024-05-06", "2024-05-07", "2024-05-08")
BATCHES, ROWS_PER_BATCH = 4, 750  # 3,000 rows in all
KILL, KILLED = "=kill", -9  # as GRANARY_FAULT says it, and what the process ends with

# Data are old or live whatever today's date; graces are over at once, so that only leases are waited for.
TABLE_SETTINGS = {
    "age.max_age": "5478d", "breaker.max_share": "1", "reaper.max_age": "0s", "merge.cleanup_grace": "0s",
    "abandoned.grace": "0s", "merge.min_inputs": "2", "merge.max_tries": "1000",
    "merge.medium.max_age": "1d", "merge.large.max_age": "1d",
}
PROCESS_SETTINGS = {
    "intake": {"GRANARY_WRITER_MAX_OPEN": "5ms", "GRANARY_WRITER_LEASE": "2s"},
    "merge-controller": {"GRANARY_MERGE_INTERVAL": "200ms", "GRANARY_MERGE_LEASE": "2s",
                         "GRANARY_MERGE_START_LEASE": "2s"},
    "rewriter": {"GRANARY_REWRITER_POOLS": "small"},
    "reaper": {"GRANARY_REAPER_LEASE": "1s"},
    # One by one, so that there is a middle; and in a store this small two orphans are many.
    "partition-cleaner": {"GRANARY_CLEANER_DELETE": "true", "GRANARY_CLEANER_MAX_ORPHAN_PERCENT": "100",
                          "GRANARY_CLEANER_PAGE": "1", "GRANARY_CLEANER_BATCH": "1"},
}
# The same in all services: the ladder's queues are named after it.
LADDER = {"GRANARY_BUS_DELAYS": "100ms,200ms,300ms,400ms"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def rows_of_batch(number):
    days = OLD_DAYS + LIVE_DAYS
    first = number * ROWS_PER_BATCH
    return [{"ts": f"{days[row % len(days)]}T{row // 240 % 24:02}:{row // 4 % 60:02}:{row % 60:02}Z",
             "path": f"/usr/share/{row % 97}/{row}", "size": row} for row in range(first, first + ROWS_PER_BATCH)]


def sizes_of(lines):
    """The column that names a row."""
    return sorted(int(line.rpartition('"size":')[2].rstrip("}")) for line in lines)


def microseconds(time):
    """Since the epoch; exact, where float seconds are not."""
    return (time - EPOCH) // timedelta(microseconds=1)


class Life:
    """`faults`: for each process that is to run into one, what GRANARY_FAULT says. `loads`: the rows come in as loads."""

    def __init__(self, stack, faults=None, settings=None, loads=False):
        self.stack = stack
        self.faults = dict(faults or {})
        self.table = Table(stack, settings={**TABLE_SETTINGS, **(settings or {})})
        self.loads = loads
        self.loaded = None  # all rows, once they are in
        self._decaying = False
        self.faulty = []
        self._running = {}
        stack.mark()  # so that the first upload is a partition's

    # --- processes -------------------------------------------------------------------------------------------------
    def start(self, *names, wait=None):
        """Each runs into its fault at most once: the next of its name has none."""
        for name in names:
            if name in self._running:
                continue
            fault = self.faults.pop(name, None)
            program = self.stack.service(name, self.settings(name), fault, wait)
            self._running[name] = program
            if fault:
                self.faulty.append(program)

    def start_held(self, name, point, path):
        """One that stops at a fault point, with its threads, while `path` is there. It stands outside of this life."""
        return self.stack.service(name, self.settings(name), f"{point}=hold:{path}", wait=True)

    def mend(self):
        """Starts again whoever was killed. What must always hold is looked at while it lies there."""
        for name, program in list(self._running.items()):
            if not program.running:
                self._examine(program)
                del self._running[name]
                self.start(name)

    def job(self, name):
        fault = self.faults.pop(name, None)
        program = self.stack.job(name, env=self.settings(name), fault=fault, expect=None if fault else 0)
        if fault:
            self.faulty.append(program)
            if program.process.returncode:
                if KILL in fault:
                    self._examine(program)
                self.job(name)

    def wait(self, predicate, what, seconds=240):
        def mended():
            self.mend()
            return predicate()
        wait_until(mended, seconds, what)

    def _examine(self, program):
        assert program.process.returncode == KILLED, (
            f"{program.name} ended with {program.process.returncode}:\n{program.tail()}")
        assert program.fired(), f"{program.name} was killed by somebody else"
        program.killed = True
        check_always(self.stack)
        if self.loaded is not None:
            self._check_no_row_lost_or_doubled(self.rows())

    def settings(self, name):
        return {**LADDER, **PROCESS_SETTINGS.get(name, {})}

    # --- the way of the rows ---------------------------------------------------------------------------------------
    def load(self):
        self.start("intake")
        for number in range(BATCHES):
            self.wait(lambda number=number: self.post_batch(number), f"batch {number} to be committed")
        self.loaded = self.rows()
        self._check_no_row_lost_or_doubled(self.loaded)

    def post_batch(self, number):
        """As a client does: again, under the same key, until it is told that the rows are in."""
        try:
            rows, key = rows_of_batch(number), f"batch-{number}"
            answer = (self.table.load(rows, key=key) if self.loads else
                      self.table.post(rows, key=key, committed=True, timeout="10s"))
        except (OSError, AttributeError, http.client.HTTPException):  # nobody there, or gone while answering
            return False
        assert answer.status in (200, 503, 504), answer
        return answer.status == 200

    def merge(self):
        self.start("merge-controller", "rewriter")
        self.wait(self.is_merged, "the live days to be merged")
        assert self.rows() == self.loaded

    def is_merged(self):
        """No merge is under way, and none is left to do: what has been merged once is not merged with a newcomer."""
        return self.stack.sql_value(
            "select not exists (select from granary.attempts where state in ('planned', 'running'))"
            " and not exists (select from granary.partitions"
            "   where active and merge_level = 0 and min_timestamp > '2010-01-01'"
            "   group by (min_timestamp at time zone 'UTC')::date having count(*) > 1)")

    def decay(self):
        self._decaying = True
        self.job("decay")
        assert self.stack.sql_value("select count(*) from granary.partitions where active"
                                    " and max_timestamp < '2010-01-01'") == 0

    def reap(self, seconds=240):
        self.start("reaper")
        self.wait(self.is_clean, "everything to be reaped", seconds)
        self.wait(lambda: not self.stack.queue_length("reap"), "the last reap event to be acknowledged")

    def is_clean(self):
        """A round of the jobs, and a moment for the reaper to do what they found."""
        self.job("merge-cleanup")
        self.job("reap-collection")
        try:
            self.wait(lambda: not leftovers(self.stack), "quiet", 0.5)
        except Exception:  # pylint: disable=broad-except
            return False
        return True

    def reap_dropped(self):
        """All of a table that was dropped."""
        self.job("decay")
        self.reap()

    def clean(self):
        """Two uploads have ended long after everybody had forgotten them."""
        for _ in range(2):
            path = self.stack.store / str(self.table.id) / OLD_DAYS[0] / f"{uuid.uuid4()}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"late")
            os.utime(path, (0, 0))
        self.job("partition-cleaner")

    def live_through(self, merge=True, clean=False):
        self.start("intake", "reaper", wait=False)  # new queues take them a second, which they can spend together
        self.load()
        if merge:
            self.merge()
        self.decay()
        self.reap()
        if clean:
            self.clean()

    # --- what came of it -------------------------------------------------------------------------------------------
    def rows(self):
        return scan(self.stack, self.table.name)

    def attempts(self, *states):
        return self.stack.sql_value("select count(*) from granary.attempts where state = any(%s)", (list(states),))

    def old_partitions(self):
        """Those of the old days, as far as they have a row."""
        return self.stack.sql("select * from granary.partitions where table_id = %s and max_timestamp < '2010-01-01'"
                              " order by min_timestamp, partition_id", (self.table.id,))

    def old_partitions_left(self):
        return {row["partition_id"] for row in self.old_partitions()}

    def live_partitions(self):
        return self.stack.sql("select * from granary.partitions where table_id = %s and min_timestamp > '2010-01-01'"
                              " order by min_timestamp, partition_id", (self.table.id,))

    def partition(self, row):
        """The same row as it is now."""
        return self.stack.sql("select * from granary.partitions where partition_id = %s", (row["partition_id"],))[0]

    @contextlib.contextmanager
    def unreachable(self, row):
        """The store answers every request for the objects of that row's day with an error, as a broken disk does."""
        folder = (self.stack.store / row["path"]).parent
        aside = self.stack.directory / "aside"
        folder.rename(aside)
        folder.symlink_to(folder)
        try:
            yield
        finally:
            folder.unlink()
            aside.rename(folder)

    def reap_event(self, partitions):
        """A reap event of these rows of the catalog."""
        items = [{"id": str(row["partition_id"]), "deactivated_at_us": microseconds(row["deactivated_at"])}
                 for row in partitions]
        return {"table": str(self.table.id), "partitions": items}

    def check(self, twin_rows):
        """As if nothing had happened."""
        assert self.rows() == twin_rows
        check_quiet(self.stack)

    def _check_no_row_lost_or_doubled(self, lines):
        sizes = sizes_of(lines)
        days = len(OLD_DAYS) + len(LIVE_DAYS)
        all_rows = set(range(BATCHES * ROWS_PER_BATCH))
        wanted = {row for row in all_rows if row % days >= len(OLD_DAYS)} if self._decaying else all_rows
        assert len(sizes) == len(set(sizes)), "rows are doubled"
        assert wanted <= set(sizes) <= all_rows, "rows are lost"
