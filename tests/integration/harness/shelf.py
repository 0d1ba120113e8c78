"""Partitions that no writer made: rows as a writer leaves them, and objects as long as they say; and what does not fit."""

import os
import time
import uuid
from pathlib import Path

from .table import Table

CLEANER = "partition-cleaner"
DELETE = {"GRANARY_CLEANER_DELETE": "true", "GRANARY_CLEANER_MAX_ORPHAN_PERCENT": "100"}
STEP = {**DELETE, "GRANARY_CLEANER_PAGE": "1", "GRANARY_CLEANER_BATCH": "1"}
OLD, YOUNG = 2 * 86400, 3600
DAY = "2026-11-01"
FINDINGS, REFUSED, KILLED = 2, 3, -9  # exit codes


def uuid7(age_seconds=0):
    """An id that was made so long ago."""
    milliseconds = int((time.time() - age_seconds) * 1000)
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | uuid.uuid4().int & ~(3 << 62) & (1 << 76) - 1 | 2 << 62)


def abandoned(stack, table, count, put=None):
    """Partitions that their writer gave up; `put(key)` makes the object of each. Returns their keys."""
    lock = uuid.uuid4()
    stack.sql("insert into granary.locks (lock_id, kind, owner, expires_at) values (%s, 'write', 'test', 'infinity')",
              (lock,))
    rows = stack.sql(
        "insert into granary.partitions (partition_id, table_id, schema_version, min_timestamp, max_timestamp, path,"
        " row_count, data_bytes, memory_bytes, active, lock_id, lock_kind, origin)"
        " select id, %s, 1, '2026-11-01', '2026-11-01', %s || '/2026-11-01/' || id || '.parquet', 1, 0, 1, false, %s,"
        " 'write', 'intake' from (select gen_random_uuid() id from generate_series(1, %s)) i returning path",
        (table.id, str(table.id), lock, count))
    stack.sql("update granary.partitions set lock_id = null, lock_kind = null, deactivation_reason = 'abandoned',"
              " deactivated_by = 'test' where lock_id = %s", (lock,))
    keys = [row["path"] for row in rows]
    for key in keys if put else ():
        put(key)
    return keys


class Shelf:
    """A table whose partitions are planted: rows as a writer leaves them, and objects as long as they say."""

    def __init__(self, stack, name="usr"):
        self.stack = stack
        self.table = Table(stack, name)
        stack.mark()

    def key(self, partition, table=None, day=DAY):
        return f"{table or self.table.id}/{day}/{partition}.parquet"

    def put(self, key, size=64, age=OLD, root=None):
        path = Path(root or self.stack.store) / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        os.utime(path, (time.time() - age,) * 2)
        return path

    def row(self, partition=None, size=64, path=None, active=True, storage=1):
        partition, lock = partition or uuid7(), uuid.uuid4()
        path = path or self.key(partition)
        self.stack.sql("insert into granary.locks (lock_id, kind, owner, expires_at)"
                       " values (%s, 'write', 'test', now() + interval '1 hour')", (lock,))
        self.stack.sql(
            "insert into granary.partitions (partition_id, table_id, schema_version, min_timestamp, max_timestamp, path,"
            " row_count, data_bytes, memory_bytes, active, lock_id, lock_kind, origin, storage_id)"
            " values (%s, %s, 1, %s, %s, %s, 10, 0, 200, false, %s, 'write', 'intake', %s)",
            (partition, self.table.id, f"{DAY}T00:00Z", f"{DAY}T01:00Z", path, lock, storage))
        if active:
            self.stack.sql("update granary.partitions set active = true, lock_id = null, lock_kind = null,"
                           " data_bytes = %s, sha256 = decode(repeat('ab', 32), 'hex') where partition_id = %s",
                           (size, partition))
        return path

    def plant(self, count=1):
        """Partitions with all that belongs to them. Returns their keys."""
        keys = [self.row() for _ in range(count)]
        for key in keys:
            self.put(key)
        return keys

    def orphan(self, age=OLD, size=64, **options):
        key = self.key(uuid7(age), **options)
        self.put(key, size, age)
        return key

    def clean(self, expect=0, env=None, **options):
        """Runs the cleaner; returns what it counted."""
        self.stack.job(CLEANER, env=DELETE if env is None else env, expect=expect, **options)
        return self.last_run()["counts"] if expect != KILLED else None

    def last_run(self):
        return self.stack.sql("select exit_code, counts, error from granary.job_runs where job = %s"
                              " order by run_id desc limit 1", (CLEANER,))[0]

    def there(self, key):
        return (self.stack.store / key).exists()

    def orphans(self):
        return {row["path"]: row for row in self.stack.sql("select * from granary.orphans")}

    def receipts(self):
        return {row["path"]: row for row in self.stack.sql("select * from granary.orphan_receipts order by receipt_id")}

    def lose_rows(self, paths=None):
        """As a catalog that was restored, or is another's: rows go without the guard and without receipts."""
        connection = self.stack.connection("postgres", fresh=True)
        with connection.cursor() as cursor:
            cursor.execute("set session_replication_role = replica")
            cursor.execute("delete from granary.partitions where %s::text[] is null or path = any(%s)", (paths, paths))
        connection.close()
