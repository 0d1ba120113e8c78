"""The guard over partitions: every transition between the states, tried by SQL with the rights of the services.

Exactly those of the table in docs/architecture.md, "The life of a partition", succeed. That the pure module says the same
is held by catalog/guard_live.c."""

import contextlib
import itertools
import uuid

import psycopg2
import pytest

REFUSED = "GR001"

LOCKS = (None, "write", "merge", "alter", "manual", "reap")
REASONS = (None, "abandoned", "decay", "drop", "park", "alter", "merge")
KEYS = tuple(itertools.product((True, False), LOCKS, REASONS))

STATES = {
    "staged_write": (False, "write", None),
    "staged_alter": (False, "alter", None),
    "active": (True, None, None),
    "merging": (True, "merge", None),
    "altering": (True, "alter", None),
    "pinned": (True, "manual", None),
    "abandoned": (False, None, "abandoned"),
    "decayed": (False, None, "decay"),
    "dropped": (False, None, "drop"),
    "released": (False, None, "park"),
    "altered": (False, None, "alter"),
    "merged": (False, None, "merge"),
    "retired": (False, "merge", "merge"),
    "parked": (False, "manual", "park"),
    **{f"reaping_{reason}": (False, "reap", reason) for reason in REASONS if reason},
}

# Who does it. Alter jobs come later: until then admin, who may touch every column of a key, stands in for their service.
INTAKE, MERGE, DECAY, CLEANUP, REAPER, ADMIN = (
    f"granary_{name}" for name in ("intake", "merge_controller", "decay", "merge_cleanup", "reaper", "admin"))
ALLOWED = {
    ("staged_write", "active"): (INTAKE, MERGE),
    ("staged_write", "abandoned"): (INTAKE, MERGE, CLEANUP),
    ("staged_alter", "active"): (ADMIN,),
    ("staged_alter", "abandoned"): (ADMIN,),
    ("active", "merging"): (MERGE,),
    ("merging", "active"): (MERGE, CLEANUP),
    ("merging", "retired"): (MERGE,),
    ("retired", "merged"): (CLEANUP,),
    ("active", "altering"): (ADMIN,),
    ("altering", "active"): (ADMIN,),
    ("altering", "altered"): (ADMIN,),
    ("active", "pinned"): (ADMIN,),
    ("pinned", "active"): (ADMIN,),
    ("active", "parked"): (ADMIN,),
    ("pinned", "parked"): (ADMIN,),
    ("parked", "active"): (ADMIN,),
    ("parked", "released"): (ADMIN,),
    ("active", "decayed"): (DECAY,),
    ("active", "dropped"): (DECAY,),
    ("decayed", "active"): (ADMIN,),
    ("dropped", "active"): (ADMIN,),
    ("released", "active"): (ADMIN,),
    ("abandoned", "reaping_abandoned"): (REAPER,),
    ("decayed", "reaping_decay"): (REAPER,),
    ("dropped", "reaping_drop"): (REAPER,),
    ("released", "reaping_park"): (REAPER,),
    ("altered", "reaping_alter"): (REAPER,),
    ("merged", "reaping_merge"): (REAPER,),
    # a claim that has run out is taken over
    **{(f"reaping_{reason}", f"reaping_{reason}"): (REAPER,) for reason in REASONS if reason},
}


class World:
    """One partition that can be put into any state, and two locks of each kind: one that stands, one that has run out."""

    def __init__(self, stack):
        self.stack = stack
        self.table, self.partition = uuid.uuid4(), uuid.uuid4()
        stack.sql("insert into granary.tables (table_id, project, name, kind, schema_version, created_by)"
                  " values (%s, 'p', 't', 'user', 1, 'test')", (self.table,))
        self.locks = {}
        for kind in LOCKS[1:]:
            for standing in (True, False):
                lock = self.locks[kind, standing] = uuid.uuid4()
                stack.sql("insert into granary.locks (lock_id, kind, owner, expires_at)"
                          " values (%s, %s, 'test', clock_timestamp() + %s::interval)",
                          (lock, kind, "1 hour" if standing else "-1 second"))
        self.insert(stack.connection(), STATES["staged_write"])

    def insert(self, connection, key, partition=None):
        active, lock, reason = key
        with connection.cursor() as cursor:
            cursor.execute("insert into granary.partitions (partition_id, table_id, schema_version, min_timestamp,"
                           " max_timestamp, path, row_count, data_bytes, memory_bytes, active, lock_id, lock_kind,"
                           " deactivation_reason, origin)"
                           " values (%s, %s, 1, now(), now(), %s, 1, 0, 1, %s, %s, %s, %s, 'intake')",
                           (partition or self.partition, self.table, str(partition or self.partition), active,
                            self.locks.get((lock, True)), lock, reason))

    def put(self, key, standing=True):
        """Into the state, behind the guard's back."""
        active, lock, reason = key
        with self.stack.connection("postgres").cursor() as cursor:
            cursor.execute("set session_replication_role = replica")
            cursor.execute("update granary.partitions set active = %s, lock_id = %s, lock_kind = %s,"
                           " deactivation_reason = %s, sha256 = decode(repeat('00', 32), 'hex'), etag = '',"
                           " deactivated_at = case when %s then null else now() end where partition_id = %s",
                           (active, self.locks.get((lock, standing)), lock, reason, active, self.partition))
            cursor.execute("set session_replication_role = origin")

    @contextlib.contextmanager
    def undone(self, role):
        """A transaction of the role that is rolled back."""
        connection = self.stack.connection(role)
        connection.autocommit = False
        try:
            yield connection
        finally:
            connection.rollback()
            connection.autocommit = True

    def move(self, role, key, lock):
        """What the move is refused with: an SQLSTATE, or None when it succeeds. Only what changes is named."""
        active, kind, reason = key
        was = self.stack.sql("select active, lock_id, lock_kind, deactivation_reason from granary.partitions")[0]
        wanted = {"active": active, "lock_id": lock, "lock_kind": kind, "deactivation_reason": reason}
        changed = {name: value for name, value in wanted.items() if str(was[name]) != str(value)}
        assignments = ", ".join(f"{name} = %s" for name in changed)
        with self.undone(role) as connection, connection.cursor() as cursor:
            try:
                cursor.execute(f"update granary.partitions set {assignments} where partition_id = %s",
                               [*changed.values(), self.partition])
            except psycopg2.Error as error:
                return error.pgcode
            assert cursor.rowcount == 1
        return None


@pytest.fixture
def world(stack):
    return World(stack)


def lock_for(world, source, target):
    """A lock of the target's kind: the same where the kind stays, another where only the lock can change."""
    kind = target[1]
    if kind is None:
        return None
    return world.locks[kind, not (source == target)]


def test_each_allowed_transition_is_made_by_its_services(world):
    for (source, target), roles in ALLOWED.items():
        takes_over = source == target
        for role in roles:
            world.put(STATES[source], standing=not takes_over)
            lock = world.locks["reap", True] if takes_over else lock_for(world, STATES[source], STATES[target])
            code = world.move(role, STATES[target], lock)
            assert code is None, f"{source} -> {target} by {role}: {code}"


def test_no_other_key_is_ever_reached(world):
    """From each state to each of the 84 keys, by the one role that may write all columns of a key."""
    allowed = {(STATES[source], STATES[target]) for source, target in ALLOWED}
    tried = 0
    for source in STATES.values():
        for target in KEYS:
            if (source, target) in allowed or (source == target and source[1] is None):
                continue
            world.put(source)
            code = world.move(ADMIN, target, lock_for(world, source, target))
            assert code == REFUSED, f"{source} -> {target}: {code}"
            tried += 1
    assert tried > 1600


def test_a_claim_that_stands_is_not_taken_over_and_a_merge_lock_is_not_exchanged(world):
    for reason in filter(None, REASONS):
        world.put((False, "reap", reason), standing=True)
        assert world.move(REAPER, (False, "reap", reason), world.locks["reap", False]) == REFUSED
    world.put(STATES["merging"])
    assert world.move(MERGE, STATES["retired"], world.locks["merge", False]) == REFUSED


def test_only_staged_rows_are_inserted(world):
    staged = {STATES["staged_write"], STATES["staged_alter"]}
    for key in KEYS:
        with world.undone(INTAKE) as connection:
            if key in staged:
                world.insert(connection, key, uuid.uuid4())
                continue
            with pytest.raises(psycopg2.Error) as refused:
                world.insert(connection, key, uuid.uuid4())
            assert refused.value.pgcode in (REFUSED, "42501"), key  # intake may not even name a reason


def test_only_claimed_rows_are_deleted(world):
    for name, key in STATES.items():
        world.put(key)
        with world.undone(REAPER) as connection, connection.cursor() as cursor:
            if key[1] == "reap":
                cursor.execute("delete from granary.partitions")
                assert cursor.rowcount == 1
                continue
            with pytest.raises(psycopg2.Error) as refused:
                cursor.execute("delete from granary.partitions")
            assert refused.value.pgcode == REFUSED, name


def test_partitions_are_never_truncated(world):
    with pytest.raises(psycopg2.Error) as refused:
        world.stack.sql("truncate granary.partitions cascade")
    assert refused.value.pgcode == REFUSED


def test_a_role_does_nothing_that_is_not_its_own(world):
    """A sample of moves that the guard allows, tried by services that have no business with them."""
    for source, target, strangers in (
        ("active", "decayed", (REAPER, CLEANUP)),
        ("active", "merging", (DECAY,)),
        ("decayed", "active", (REAPER, CLEANUP)),
        ("decayed", "reaping_decay", (DECAY,)),
        ("retired", "merged", (DECAY,)),
    ):
        for role in strangers:
            world.put(STATES[source])
            code = world.move(role, STATES[target], lock_for(world, STATES[source], STATES[target]))
            assert code == "42501", f"{source} -> {target} by {role}: {code}"


def test_what_a_partition_is_never_changes(world):
    world.put(STATES["active"])
    for assignment in ("partition_id = gen_random_uuid()", "path = 'x'", "origin = 'merge'", "merge_level = 9",
                       "schema_version = 2", "created_at = now()", "row_count = 99", "data_bytes = 99", "etag = 'x'",
                       "sha256 = decode(repeat('01', 32), 'hex')", "max_timestamp = max_timestamp + interval '1 s'"):
        with pytest.raises(psycopg2.Error) as refused:
            world.stack.sql(f"update granary.partitions set {assignment}")
        assert refused.value.pgcode == REFUSED, assignment


def test_the_guard_keeps_the_reap_clock_and_the_version(world):
    clock = "select deactivated_at, deactivated_at > clock_timestamp() - interval '1 minute' as fresh, version" \
            " from granary.partitions"
    world.put(STATES["active"])
    version = world.stack.sql(clock)[0]["version"]
    world.stack.sql("update granary.partitions set active = false, deactivation_reason = 'decay',"
                    " deactivated_at = '2001-01-01'")
    decayed = world.stack.sql(clock)[0]
    assert decayed["fresh"] and decayed["version"] == version + 1
    world.stack.sql("update granary.partitions set deactivated_at = '2001-01-01', deactivated_by = 'x'")
    assert world.stack.sql(clock)[0]["deactivated_at"] == decayed["deactivated_at"]
    world.stack.sql("update granary.partitions set active = true, deactivation_reason = null")
    back = world.stack.sql(clock)[0]
    assert back["deactivated_at"] is None and back["version"] == version + 3
