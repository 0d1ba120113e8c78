"""The admin API against real servers: what it shows, what it changes, what it refuses."""

import base64
import http.client
import json
import threading
import uuid
from urllib.parse import quote

import pytest
from harness.stack import wait_until

SCHEMA = {"timestamp": "ts", "columns": [{"name": "ts", "type": "timestamp"}, {"name": "host", "type": "string"},
                                         {"name": "size", "type": "int64"}]}


@pytest.fixture
def admin(stack):
    stack.service("admin")
    return Admin(stack)


class Admin:
    def __init__(self, stack):
        self.stack = stack

    def ask(self, method, path, body=None, expect=200, token="operator", **query):
        text = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
        answer = self.stack.request("admin", method, "/api/v1" + path + ("?" + text if text else ""), body, token=token)
        assert answer.status == expect, f"{method} {path}: expected {expect} but found {answer}"
        return answer

    def get(self, path, expect=200, **query):
        return self.ask("GET", path, expect=expect, **query).json

    def post(self, path, body=None, expect=200):
        return self.ask("POST", path, body, expect).json

    def error(self, method, path, body=None, expect=400, **query):
        return self.ask(method, path, body, expect, **query).json["error"]

    def table(self, name="demo.t", **settings):
        project, _, name = name.partition(".")
        return self.post("/tables", {"project": project, "name": name, "schema": SCHEMA, "settings": settings}, 201)

    def load(self, rows, table="demo.t"):
        """Through intake, which is started on first use. Rows are (timestamp, host, size)."""
        if not self.stack.find("intake"):
            self.stack.service("intake", env={"GRANARY_WRITER_MAX_OPEN": "100ms"})
        body = "".join(json.dumps({"ts": ts, "host": host, "size": size}) + "\n" for ts, host, size in rows)
        answer = self.stack.request("intake", "POST", f"/v1/tables/{table}/rows?wait=committed&timeout=200s", body,
                                    {"Content-Type": "application/x-ndjson"})
        assert answer.status == 200, answer

    def partitions(self, table="demo.t", **query):
        return self.get(f"/tables/{table}/partitions", **query)["items"]

    # Partitions that no writer made: rows of the catalog as the writer leaves them, for what needs no object.
    def plant(self, count=1, day=1, rows=10, table="demo.t", gap=1):
        project, _, name = table.partition(".")
        table_id = self.stack.sql_value("select table_id from granary.tables where project = %s and name = %s"
                                        " and dropped_at is null", (project, name))
        ids = []
        for number in range(count):
            partition, lock = str(uuid.uuid4()), str(uuid.uuid4())
            self.stack.sql("insert into granary.locks (lock_id, kind, owner, expires_at)"
                           " values (%s, 'write', 'test', now() + interval '1 hour')", (lock,))
            self.stack.sql(
                "insert into granary.partitions (partition_id, table_id, schema_version, min_timestamp, max_timestamp,"
                " path, row_count, data_bytes, memory_bytes, active, lock_id, lock_kind, origin)"
                " values (%s, %s, 1, timestamptz '2020-01-01Z' + %s * interval '1 day',"
                " timestamptz '2020-01-01Z' + %s * interval '1 day' + interval '1 hour', %s, %s, 100, 200, false, %s,"
                " 'write', 'intake')",
                (partition, table_id, day + number * gap, day + number * gap,
                 f"{table_id}/2020-01-01/{partition}.parquet", rows, lock))
            self.stack.sql("update granary.partitions set active = true, lock_id = null, lock_kind = null,"
                           " sha256 = decode(repeat('ab', 32), 'hex') where partition_id = %s", (partition,))
            self.stack.sql("delete from granary.locks where lock_id = %s", (lock,))
            ids.append(partition)
        return ids

    def decay(self, expect=0):
        return self.stack.job("decay", expect=expect)

    def claim(self, partition):
        """As a reaper does."""
        lock = str(uuid.uuid4())
        self.stack.sql("insert into granary.locks (lock_id, kind, owner, expires_at)"
                       " values (%s, 'reap', 'reaper-of-test', now() + interval '1 hour')", (lock,))
        self.stack.sql("update granary.partitions set lock_id = %s, lock_kind = 'reap' where partition_id = %s",
                       (lock, partition))

    def state(self, partition):
        return self.get(f"/partitions/{partition}")["state"]

    def actions(self, **query):
        return [entry["action"] for entry in self.get("/audit", **query)["items"]]


# --- tables ----------------------------------------------------------------------------------------------------------
def test_a_table_is_created_shown_listed_and_its_name_is_taken_then(admin):
    made = admin.table("demo.t", **{"age.max_age_days": "30"})
    assert made["kind"] == "user" and made["schema_version"] == 1 and made["dropped_at"] is None
    assert made["settings"] == {"age.max_age": "30d"} and made["effective"]["age.max_age"] == "30d"
    assert made["retention"] == {"effective": "30d", "cooling": False, "effective_at": None}
    assert made["partitions"] == {"active": 0, "rows": 0, "bytes": 0}
    assert [(column["id"], column["name"]) for column in made["schema"]["columns"]] == [
        (1, "ts"), (2, "host"), (3, "size")]
    assert admin.get("/tables/demo.t") == made == admin.get("/tables/" + made["table_id"])
    assert admin.get("/tables/demo.t$rejects")["kind"] == "rejects"
    error = admin.error("POST", "/tables", {"project": "demo", "name": "t", "schema": SCHEMA}, 409)
    assert error["code"] == "conflict" and 'demo.t" exists already' in error["message"]
    assert admin.actions() == ["table.create"]


def test_lists_of_tables_come_in_pages(admin):
    for name in "abc":
        admin.table(f"demo.{name}")
    admin.table("other.a")
    names, after = [], {}
    while True:
        page = admin.get("/tables", project="demo", limit=2, **after)
        names += [item["name"] for item in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert names == ["a", "a$rejects", "b", "b$rejects", "c", "c$rejects"]


@pytest.mark.parametrize("body, wrong", [
    ({"project": "demo", "name": "1t", "schema": SCHEMA}, "name"),
    ({"project": "demo", "name": "t"}, "schema"),
    ({"project": "demo", "name": "t", "schema": {"timestamp": "x", "columns": []}}, ""),
    ({"project": "demo", "name": "t", "schema": SCHEMA, "settings": {"age.max_agee": "1d"}}, "age.max_agee"),
    ({"project": "demo", "name": "t", "schema": SCHEMA, "settings": {"age.max_age": 1}}, "age.max_age"),
    ({"project": "demo", "name": "t", "schema": SCHEMA, "more": 1}, "more"),
    ("{", ""), ("[]", ""), ("", ""),
])
def test_a_wrong_table_is_refused_with_the_place(admin, body, wrong):
    error = admin.error("POST", "/tables", body, 400)
    assert error["code"] == "invalid" and wrong in error["message"]
    assert admin.get("/tables")["items"] == []


def test_unknown_things_are_404(admin):
    nothing = str(uuid.uuid4())
    for path in ("/tables/demo.x", "/tables/x", "/partitions/" + nothing, "/partitions/x",
                 f"/partitions/{nothing}/explain", "/plans/" + nothing, "/tables/" + nothing, "/dead/none"):
        error = admin.error("GET", path, expect=404)
        assert error["code"] == "not_found", path
    assert 'no table "demo.x"' in admin.error("GET", "/tables/demo.x", expect=404)["message"]


def test_roles_are_asked(admin):
    admin.ask("GET", "/tables", token=None, expect=401)
    admin.ask("GET", "/tables", token="writer", expect=403)
    admin.ask("POST", "/deleting/resume", token="reader", expect=403)
    admin.ask("GET", "/tables", token="reader")
    answer = admin.stack.request("admin", "GET", "/openapi.json", token=None)
    assert answer.status == 200 and answer.json["openapi"].startswith("3.")


def test_a_shorter_retention_cools_down_and_is_previewed(admin):
    admin.table("demo.t", **{"age.max_age": "never"})
    admin.plant(3, rows=7)
    preview = {"partitions": 3, "rows": 21, "bytes": 300, "oldest": "2020-01-02T00:00:00.000000Z",
               "newest": "2020-01-04T01:00:00.000000Z"}
    dry = admin.ask("PATCH", "/tables/demo.t/settings", {"age.max_age": "1d"}, dry_run="true").json
    assert dry["preview"] == preview and dry["settings"] == {"age.max_age": "1d"}
    assert admin.get("/tables/demo.t")["settings"] == {"age.max_age": "never"}
    done = admin.ask("PATCH", "/tables/demo.t/settings", {"age.max_age": "1d"}).json
    assert done["preview"] == preview
    assert done["retention"]["cooling"] and done["retention"]["effective"] == "never"
    assert admin.ask("PATCH", "/tables/demo.t/settings", {"age.max_age": None}).json["settings"] == {}


def test_a_schema_grows_and_keeps_its_ids(admin):
    admin.table()
    wider = {"timestamp": "ts", "columns": [{"name": "ts", "type": "timestamp"}, {"name": "extra", "type": "string"},
                                            {"name": "size", "type": "int64"}]}  # without host
    grown = admin.post("/tables/demo.t/schema", wider)
    assert grown["schema_version"] == 2
    assert [(c["id"], c["name"]) for c in grown["schema"]["columns"]] == [(1, "ts"), (4, "extra"), (3, "size")]
    again = admin.post("/tables/demo.t/schema", SCHEMA)  # host comes back as another column
    assert [(c["id"], c["name"]) for c in again["schema"]["columns"]] == [(1, "ts"), (5, "host"), (3, "size")]
    narrower = {"timestamp": "ts", "columns": [{"name": "ts", "type": "timestamp"}, {"name": "size", "type": "string"}]}
    assert "could not be read" in admin.error("POST", "/tables/demo.t/schema", narrower, 400)["message"]
    assert admin.get("/tables/demo.t")["schema_version"] == 3


def test_a_drop_is_a_dry_run_until_yes_and_refused_under_a_hold(admin):
    table = admin.table()
    admin.plant(2)
    dry = admin.ask("DELETE", "/tables/demo.t").json
    assert dry["dry_run"] is True and dry["preview"]["partitions"] == 2
    hold = admin.post("/holds", {"table": "demo.t", "reason": "audit"}, 201)
    assert "hold" in admin.error("DELETE", "/tables/demo.t", expect=409, yes="true")["message"]
    admin.ask("DELETE", "/holds/" + hold["hold_id"])
    assert admin.ask("DELETE", "/tables/demo.t", yes="true").json["dropped"] is True
    admin.get("/tables/demo.t", expect=404)
    assert admin.get("/tables/" + table["table_id"])["dropped_at"] is not None
    assert admin.get("/tables")["items"] == []
    assert len(admin.get("/tables", dropped="true")["items"]) == 2


# --- partitions ------------------------------------------------------------------------------------------------------
def test_partitions_are_listed_by_state_and_time_in_pages(admin):
    admin.table()
    ids = admin.plant(5)
    assert [p["partition_id"] for p in admin.partitions()] == ids
    first = admin.get("/tables/demo.t/partitions", limit=3)
    rest = admin.get("/tables/demo.t/partitions", limit=3, after=first["next"])
    assert [p["partition_id"] for p in first["items"] + rest["items"]] == ids and rest["next"] is None
    admin.post(f"/partitions/{ids[0]}/park", {"reason": "bad"})
    assert [p["partition_id"] for p in admin.partitions(state="parked")] == ids[:1]
    assert [p["partition_id"] for p in admin.partitions(state="active")] == ids[1:]
    assert [p["partition_id"] for p in admin.partitions(min="2020-01-03T00:30:00Z", max="2020-01-04T00:00:00Z")] == ids[1:3]
    admin.error("GET", "/tables/demo.t/partitions", state="odd")
    admin.error("GET", "/tables/demo.t/partitions", limit=1001)
    admin.error("GET", "/tables/demo.t/partitions", after="odd")
    admin.error("GET", "/tables/demo.t/partitions", min="2020-01-02", max="2020-01-01")


def test_rows_are_scanned_counted_and_located(admin):
    admin.table()
    now = "2026-01-01T00:00:{:02}Z"
    admin.load([(now.format(i), f"h{i % 3}", i) for i in range(30)])
    lines = admin.ask("GET", "/tables/demo.t/scan").text.splitlines()
    assert len(lines) == 30 and json.loads(lines[0]) == {"ts": "2026-01-01T00:00:00.000000Z", "host": "h0", "size": 0}
    csv = admin.ask("GET", "/tables/demo.t/scan", columns="size,host", where="size >= 28", format="csv")
    assert csv.text.splitlines() == ["size,host", "28,h1", "29,h2"]
    assert csv.headers["Content-Type"].startswith("text/csv")
    bounds = {"min": now.format(10), "max": now.format(19)}
    assert len(admin.ask("GET", "/tables/demo.t/scan", **bounds).text.splitlines()) == 10
    assert len(admin.ask("GET", "/tables/demo.t/scan", limit=4).text.splitlines()) == 4
    assert admin.get("/tables/demo.t/count")["rows"] == 30
    assert admin.get("/tables/demo.t/count", **bounds)["rows"] == 10
    assert admin.get("/tables/demo.t/count", where="host = 'h0'")["rows"] == 10
    files = admin.get("/tables/demo.t/files")["items"]
    assert sum(file["rows"] for file in files) == 30
    assert all(file["url"].startswith(f"file://{admin.stack.store}/") for file in files)
    for wrong in ({"columns": "none"}, {"where": "size >"}, {"format": "xml"}, {"limit": 0}):
        admin.error("GET", "/tables/demo.t/scan", **wrong)
    shown = admin.get("/partitions/" + admin.partitions()[0]["partition_id"])
    assert {c["column"]: (c["min"], c["max"], c["nulls"]) for c in shown["columns"]} == {
        "ts": ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:29.000000Z", 0), "host": ("h0", "h2", 0),
        "size": (0, 29, 0)}


def test_scans_beyond_the_bound_are_told_to_come_again(stack):
    stack.service("admin", env={"GRANARY_ADMIN_SCANS": "1"})
    admin = Admin(stack)
    admin.table()
    admin.load([("2026-01-01T00:00:00Z", "x" * 1000, i) for i in range(20000)])
    program = stack.find("admin")
    connection = http.client.HTTPConnection("127.0.0.1", program.port)
    connection.request("GET", "/api/v1/tables/demo.t/scan", headers={"Authorization": "Bearer " + stack.token()})
    answer = connection.getresponse()  # the body is not read: the scan stays under way
    try:
        refused = admin.ask("GET", "/tables/demo.t/scan", expect=429)
        assert refused.headers["Retry-After"] == "1" and refused.json["error"]["code"] == "unavailable"
        assert program.metric("granary_admin_scans_under_way") == 1
    finally:
        answer.close()
        connection.close()
    wait_until(lambda: program.metric("granary_admin_scans_under_way") == 0, 120, "the scan to end with its client")
    admin.ask("GET", "/tables/demo.t/scan", limit=1)


# --- park, lock, undo ------------------------------------------------------------------------------------------------
def test_park_unpark_lock_and_unlock(admin):
    admin.table()
    [id] = admin.plant()
    parked = admin.post(f"/partitions/{id}/park", {"reason": "bad rows"})
    assert parked["state"] == "parked" and parked["lock"]["kind"] == "manual" and parked["lock"]["reason"] == "bad rows"
    assert parked["lock"]["owner"] == "operator" and parked["lock"]["expires_at"] is None
    assert admin.error("POST", f"/partitions/{id}/park", {"reason": "x"}, 409)["message"] == "it is parked; unpark it"
    assert admin.post(f"/partitions/{id}/unpark", {"to": "active"})["state"] == "active"
    locked = admin.post(f"/partitions/{id}/lock", {"reason": "look"})
    assert locked["state"] == "pinned"
    admin.error("POST", f"/partitions/{id}/lock", {"reason": "look"}, 409)
    assert admin.post(f"/partitions/{id}/park", {"reason": "worse"})["state"] == "parked"
    assert admin.post(f"/partitions/{id}/unpark", {"to": "inactive"})["state"] == "park_inactive"
    assert admin.post(f"/partitions/{id}/undo", {"reason": "again"})["state"] == "active"
    admin.post(f"/partitions/{id}/lock", {"reason": "look"})
    assert admin.post(f"/partitions/{id}/unlock")["state"] == "active"
    admin.error("POST", f"/partitions/{id}/unlock", expect=409)
    admin.error("POST", f"/partitions/{id}/lock", {"reason": ""}, 400)
    admin.error("POST", f"/partitions/{id}/unpark", {"to": "gone"}, 400)
    assert admin.stack.sql_value("select count(*) from granary.locks where kind = 'manual'") == 0
    assert admin.actions(partition=id) == ["partition.unlock", "partition.lock", "partition.undo", "hold.place",
                                           "partition.unpark", "partition.park", "partition.lock", "partition.unpark",
                                           "partition.park"]


def test_undo_brings_back_what_decayed_and_holds_it(admin):
    admin.table("demo.t", **{"age.max_age": "30d", "breaker.max_share": "1"})
    [id] = admin.plant()
    admin.decay()
    assert admin.state(id) == "decay_inactive"
    undone = admin.post(f"/partitions/{id}/undo", {"reason": "still needed"})
    assert undone["state"] == "active" and undone["deactivated_at"] is None
    [hold] = admin.get("/holds", table="demo.t")["items"]
    assert hold["hold_id"] == undone["hold_id"] and hold["partition_id"] == id and hold["reason"] == "still needed"
    admin.decay()
    assert admin.state(id) == "active"
    assert admin.get("/status")["overdue"] == [{"table": "demo.t", "partitions": 1, "rows": 10}]
    admin.ask("DELETE", "/holds/" + hold["hold_id"])
    admin.error("DELETE", "/holds/" + hold["hold_id"], expect=409)
    admin.decay()
    assert admin.state(id) == "decay_inactive"


def test_undo_is_refused_with_the_reason(admin):
    admin.table("demo.t", **{"age.max_age": "30d", "breaker.max_share": "1"})
    active, claimed = admin.plant(2)
    admin.stack.sql("update granary.partitions set active = false, deactivation_reason = 'decay' where partition_id = %s",
                    (claimed,))
    admin.claim(claimed)
    [abandoned] = admin.plant(day=20)
    lock = str(uuid.uuid4())
    admin.stack.sql("insert into granary.locks (lock_id, kind, owner, expires_at)"
                    " values (%s, 'merge', 'test', now() + interval '1 hour')", (lock,))
    admin.stack.sql("update granary.partitions set lock_id = %s, lock_kind = 'merge' where partition_id = %s",
                    (lock, abandoned))
    admin.stack.sql("update granary.partitions set active = false, deactivation_reason = 'merge' where partition_id = %s",
                    (abandoned,))
    for id, reason in ((active, "active"), (claimed, "claimed"), (abandoned, "merged")):
        before = admin.stack.sql("select * from granary.partitions where partition_id = %s", (id,))
        error = admin.error("POST", f"/partitions/{id}/undo", {"reason": "x"}, 409)
        assert error["code"] == "conflict" and reason in error["message"], error
        assert admin.stack.sql("select * from granary.partitions where partition_id = %s", (id,)) == before
    refused = admin.post("/tables/demo.t/undo", {"min": "2020-01-01", "max": "2021-01-01", "reason": "x"})
    assert refused["undone"] == 0 and refused["hold_id"] is None
    assert {item["partition_id"] for item in refused["refused"]} == {claimed, abandoned}
    assert admin.get("/holds")["items"] == [] and admin.actions() == ["table.create"]


def test_undo_of_a_range_places_one_hold_over_it(admin):
    admin.table("demo.t", **{"age.max_age": "30d", "breaker.max_share": "1"})
    ids = admin.plant(4)
    admin.decay()
    admin.claim(ids[1])
    answer = admin.post("/tables/demo.t/undo", {"min": "2020-01-02", "max": "2020-01-04T12:00:00Z", "reason": "oops"})
    assert answer["undone"] == 2 and [item["partition_id"] for item in answer["refused"]] == [ids[1]]
    assert [admin.state(id) for id in ids] == ["active", "decay_reaping", "active", "decay_inactive"]
    [hold] = admin.get("/holds")["items"]
    assert hold["min"] == "2020-01-02T00:00:00.000000Z" and hold["max"] == "2020-01-04T12:00:00.000000Z"


def test_undo_in_a_dropped_table_is_refused(admin):
    table = admin.table()
    [id] = admin.plant()
    admin.ask("DELETE", "/tables/demo.t", yes="true")
    admin.decay()
    assert admin.state(id) == "drop_inactive"
    assert "dropped" in admin.error("POST", f"/partitions/{id}/undo", {"reason": "x"}, 409)["message"]
    body = {"min": "2020-01-01", "max": "2021-01-01", "reason": "x"}
    admin.error("POST", f"/tables/{table['table_id']}/undo", body, 409)


# --- holds -----------------------------------------------------------------------------------------------------------
def test_holds_of_each_kind_are_placed_listed_and_released(admin):
    admin.table()
    ids = admin.plant(2)
    whole = admin.post("/holds", {"table": "demo.t", "reason": "a"}, 201)
    range = admin.post("/holds", {"table": "demo.t", "min": "2020-01-01", "max": "2020-02-01", "reason": "b"}, 201)
    one = admin.post("/holds", {"table": "demo.t", "partition_id": ids[0], "reason": "c"}, 201)
    assert whole["claimed"] == 0 and range["min"] == "2020-01-01T00:00:00.000000Z" and one["partition_id"] == ids[0]
    assert [hold["reason"] for hold in admin.get("/holds")["items"]] == ["c", "b", "a"]
    page = admin.get("/holds", limit=2)
    assert [hold["reason"] for hold in admin.get("/holds", limit=2, after=page["next"])["items"]] == ["a"]
    assert admin.ask("DELETE", "/holds/" + whole["hold_id"]).json["released_by"] == "operator"
    assert len(admin.get("/holds")["items"]) == 2 and len(admin.get("/holds", released="true")["items"]) == 3
    for wrong in ({"reason": "x", "min": "2020-01-01"}, {"reason": ""}, {}, {"reason": "x", "partition_id": "y"},
                  {"reason": "x", "partition_id": ids[0], "min": "2020-01-01", "max": "2020-01-02"}):
        admin.error("POST", "/holds", {"table": "demo.t", **wrong}, 400)
    admin.error("POST", "/holds", {"table": "demo.t", "partition_id": str(uuid.uuid4()), "reason": "x"}, 404)


def test_a_claimed_partition_can_no_longer_be_held(admin):
    admin.table("demo.t", **{"age.max_age": "30d", "breaker.max_share": "1"})
    [id] = admin.plant()
    admin.decay()
    admin.claim(id)
    error = admin.error("POST", "/holds", {"table": "demo.t", "partition_id": id, "reason": "x"}, 409)
    assert "reaper-of-test" in error["message"]
    assert admin.post("/holds", {"table": "demo.t", "reason": "x"}, 201)["claimed"] == 1


def test_a_hold_waits_for_whoever_is_inside_the_fence(admin):
    table = admin.table()
    inside = admin.stack.connection(fresh=True)
    inside.autocommit = False
    with inside.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock_shared(granary.table_fence(%s))", (table["table_id"],))
    answers = []
    thread = threading.Thread(target=lambda: answers.append(admin.post("/holds", {"table": "demo.t", "reason": "x"}, 201)))
    thread.start()
    wait_until(lambda: admin.stack.sql_value("select count(*) from pg_locks where locktype = 'advisory' and not granted"),
               10, "the hold to wait")
    assert not answers
    inside.rollback()
    thread.join(30)
    inside.close()
    assert len(answers) == 1


# --- plans -----------------------------------------------------------------------------------------------------------
@pytest.mark.allow_errors("refused by the breaker")
def test_a_plan_shows_what_retention_would_take_and_takes_it(admin):
    admin.table("demo.t", **{"age.max_age": "30d"})
    ids = admin.plant(3)
    admin.decay(expect=3)  # the breaker refuses
    plan = admin.post("/plans", {"kind": "retention", "table": "demo.t"}, 201)
    assert (plan["partitions"], plan["rows"], plan["bytes"]) == (3, 30, 300)
    assert plan["breaker"] == {"allowed": False, "max_share": 0.5} and plan["share"] == 1
    assert [item["partition_id"] for item in plan["items"]] == ids
    assert admin.get("/plans/" + plan["plan_id"]) == plan
    done = admin.post(f"/plans/{plan['plan_id']}/apply")
    assert done == {"plan_id": plan["plan_id"], "deactivated": 3, "rows": 30, "skipped": [], "skipped_more": 0}
    assert {p["deactivated_by"] for p in admin.partitions(state="decay_inactive")} == {"plan:" + plan["plan_id"]}
    admin.error("POST", f"/plans/{plan['plan_id']}/apply", expect=409)
    shown = admin.get("/plans/" + plan["plan_id"])
    assert shown["applied_by"] == "operator" and shown["outcome"] == {"deactivated": 3, "rows": 30, "skipped": 0}


def test_applying_a_plan_passes_over_what_has_changed(stack):
    stack.service("admin", env={"GRANARY_ADMIN_APPLY_BATCH": "1"})
    admin = Admin(stack)
    admin.table("demo.t", **{"age.max_age": "30d"})
    free, held, locked, changed, gone = admin.plant(5)
    plan = admin.post("/plans", {"kind": "retention", "table": "demo.t"}, 201)
    admin.post("/holds", {"table": "demo.t", "partition_id": held, "reason": "x"}, 201)
    admin.post(f"/partitions/{locked}/lock", {"reason": "x"})
    admin.post(f"/partitions/{changed}/lock", {"reason": "x"})
    admin.post(f"/partitions/{changed}/unlock")
    admin.post(f"/partitions/{gone}/park", {"reason": "x"})
    done = admin.post(f"/plans/{plan['plan_id']}/apply")
    assert done["deactivated"] == 1
    assert {item["partition_id"]: item["reason"] for item in done["skipped"]} == {
        held: "a hold keeps it", locked: "it is locked", changed: "it has changed since the plan was made",
        gone: "it is no longer active"}
    assert admin.state(free) == "decay_inactive"
    again = admin.post("/plans", {"kind": "retention", "table": "demo.t"}, 201)
    assert again["partitions"] == 1 and again["held"] == 1 and again["locked"] == 1


def test_a_longer_retention_counts_for_a_plan_made_before(admin):
    admin.table("demo.t", **{"age.max_age": "30d"})
    [id] = admin.plant()
    plan = admin.post("/plans", {"kind": "retention", "table": "demo.t"}, 201)
    admin.ask("PATCH", "/tables/demo.t/settings", {"age.max_age": "never"})
    done = admin.post(f"/plans/{plan['plan_id']}/apply")
    assert done["deactivated"] == 0 and "past retention" in done["skipped"][0]["reason"]
    assert admin.state(id) == "active"
    assert "never" in admin.error("POST", "/plans", {"kind": "retention", "table": "demo.t"}, 409)["message"]


def test_a_plan_expires(admin):
    admin.table("demo.t", **{"age.max_age": "30d"})
    admin.plant()
    plan = admin.post("/plans", {"kind": "retention", "table": "demo.t"}, 201)
    admin.stack.sql("update granary.plans set expires_at = now()")
    assert "expired" in admin.error("POST", f"/plans/{plan['plan_id']}/apply", expect=409)["message"]


# --- the brake, status, explain --------------------------------------------------------------------------------------
def test_deleting_is_paused_and_resumed(admin):
    admin.table("demo.t", **{"age.max_age": "30d", "breaker.max_share": "1"})
    [id] = admin.plant()
    pause = admin.post("/deleting/pause", {"reason": "look first"})["deleting_paused"]
    assert pause["by"] == "operator" and pause["reason"] == "look first"
    assert admin.get("/status")["deployment"]["deleting_paused"] == pause
    admin.decay(expect=3)
    assert admin.state(id) == "active"
    admin.error("POST", "/plans", {"kind": "retention", "table": "demo.t"}, 409)
    assert admin.get(f"/partitions/{id}/explain")["next"]["what"] == "Nothing, until deleting is resumed."
    assert admin.post("/deleting/resume") == {"deleting_paused": None}
    admin.decay()
    assert admin.state(id) == "decay_inactive"


def test_defaults_of_the_deployment(admin):
    admin.table()
    changed = admin.ask("PATCH", "/deployment/settings", {"reaper.max_age": "2d"}).json
    assert changed["settings"] == {"reaper.max_age": "2d"} and admin.get("/deployment") == changed
    assert admin.get("/tables/demo.t")["effective"]["reaper.max_age"] == "2d"
    admin.error("PATCH", "/deployment/settings", {"reaper.max_agee": "2d"})
    assert admin.ask("PATCH", "/deployment/settings", {"reaper.max_age": None}).json["settings"] == {}


def test_the_status_page(admin):
    admin.table("demo.t", **{"age.max_age": "30d"})
    ids = admin.plant(2)
    admin.post(f"/partitions/{ids[0]}/lock", {"reason": "x"})
    admin.decay(expect=None)
    admin.stack.mark()
    status = admin.get("/status")
    assert {(s["state"], s["partitions"], s["rows"], s["oldest"]) for s in status["states"]} == {
        ("pinned", 1, 10, "2020-01-02T00:00:00.000000Z"), ("decay_inactive", 1, 10, "2020-01-03T00:00:00.000000Z")}
    assert status["overdue"] == [{"table": "demo.t", "partitions": 1, "rows": 10}]
    assert [job["job"] for job in status["jobs"]] == ["decay"] and "partitions" in status["jobs"][0]["counts"]
    assert [(lock["kind"], lock["owner"], lock["count"]) for lock in status["locks"]] == [("manual", "operator", 1)]
    queues = {queue["name"]: queue for queue in status["queues"]}
    assert {"intake", "intake.dead", "reap", "rewrite.small", "merge.result"} <= set(queues)
    assert queues["reap"] == {"name": "reap", "messages": 0, "consumers": 0, "exists": False}
    assert status["store"] == {"url": f"file://{admin.stack.store}", "ok": True, "error": None}
    (admin.stack.store / "granary-deployment.json").write_text(json.dumps({"deployment_id": str(uuid.uuid4())}))
    assert admin.get("/status")["store"]["ok"] is False


def test_the_status_page_comes_without_the_broker(stack):
    wire = stack.proxy("bus")
    stack.service("admin")
    admin = Admin(stack)
    wire.refuse()
    queues = admin.get("/status")["queues"]
    assert all(queue["messages"] is None and queue["error"] for queue in queues)
    admin.error("GET", "/dead", expect=503)


def test_the_catalog_may_go_away_and_come_back(stack):
    wire = stack.proxy("catalog")
    stack.service("admin")
    admin = Admin(stack)
    admin.table()
    wire.refuse()
    assert admin.error("GET", "/tables", expect=503)["code"] == "unavailable"
    wire.restore()
    wait_until(lambda: stack.request("admin", "GET", "/api/v1/tables").status == 200, 120, "the API to come back")


def test_explain_tells_why_and_what_comes_next(admin):
    admin.table("demo.t", **{"age.max_age": "30d", "reaper.max_age": "2d", "breaker.max_share": "1"})
    active, pinned = admin.plant(2)
    told = admin.get(f"/partitions/{active}/explain")
    assert told["found"] and told["state"] == "active" and told["next"]["who"] == "granary-decay"
    assert told["next"]["when"] == "2020-02-01T01:00:00.000000Z" and "next run of decay" in told["next"]["what"]
    admin.post(f"/partitions/{pinned}/lock", {"reason": "look"})
    told = admin.get(f"/partitions/{pinned}/explain")
    assert told["next"]["who"] == "operator" and any('"operator" has locked it' in text for text in told["details"])
    assert [entry["action"] for entry in told["audit"]] == ["partition.lock"]
    admin.decay()
    told = admin.get(f"/partitions/{active}/explain")
    assert told["grace"]["setting"] == "reaper.max_age" and told["grace"]["value"] == "2d"
    assert told["next"]["who"] == "granary-reaper" and told["next"]["when"] == told["grace"]["over_at"]
    admin.post("/holds", {"table": "demo.t", "reason": "court"}, 201)
    told = admin.get(f"/partitions/{active}/explain")
    assert told["next"]["who"] == "operator" and told["holds"][0]["reason"] == "court"


def test_a_deleted_partition_is_explained_by_its_receipt(admin):
    admin.table("demo.t", **{"age.max_age": "30d", "reaper.max_age": "1s", "breaker.max_share": "1"})
    admin.load([("2020-01-01T00:00:00Z", "h", 1)])
    [partition] = admin.partitions()
    id = partition["partition_id"]
    admin.decay()
    admin.stack.service("reaper")

    def gone():
        admin.stack.job("reap-collection")
        return admin.stack.sql_value("select count(*) from granary.partitions where partition_id = %s", (id,)) == 0
    wait_until(gone, 60, "the partition to be reaped")
    told = admin.get(f"/partitions/{id}/explain")
    assert not told["found"] and told["state"] == "deleted" and told["partition"] is None
    assert told["receipt"]["reason"] == "decay" and told["receipt"]["rows"] == 1
    assert admin.get("/receipts", table="demo.t")["items"][0] == told["receipt"]
    admin.get(f"/partitions/{id}", expect=404)


# --- dead letters ----------------------------------------------------------------------------------------------------
@pytest.fixture
def letters(admin):
    """A queue with dead letters."""
    admin.stack.mark()
    admin.stack.service("reaper")
    for number in range(3):
        admin.stack.publish("reap.dead", {"n": number}, message_id=f"m{number}", type="reap.v1",
                            headers={"x-granary-reason": "malformed", "x-granary-queue": "reap"})
    wait_until(lambda: admin.stack.queue_length("reap.dead") == 3, 10, "the letters to arrive")
    return admin


def test_dead_letters_are_listed_and_stay(letters):
    assert {"queue": "reap", "messages": 3} in letters.get("/dead")["items"]
    items = letters.get("/dead/reap")["items"]
    assert [(item["message_id"], item["type"], item["reason"], item["body"]) for item in items] == [
        (f"m{n}", "reap.v1", "malformed", {"n": n}) for n in range(3)]
    assert len(letters.get("/dead/reap", limit=2)["items"]) == 2
    wait_until(lambda: letters.stack.queue_length("reap.dead") == 3, 10, "the letters to be back")


def test_dead_letters_are_exported_and_dropped(letters):
    lines = [json.loads(line) for line in letters.ask("GET", "/dead/reap/export").text.splitlines()]
    assert [json.loads(base64.b64decode(line["body_base64"])) for line in lines] == [{"n": n} for n in range(3)]
    letters.error("POST", "/dead/reap/drop", {"yes": False}, 400)
    assert letters.post("/dead/reap/drop", {"yes": True}) == {"dropped": 3}
    assert letters.stack.queue_length("reap.dead") == 0
    assert letters.actions()[:2] == ["dead.drop", "dead.export"]


def test_dead_letters_are_replayed(letters):
    letters.stack.find("reaper").stop()
    assert letters.post("/dead/reap/replay", {"max": 2}) == {"replayed": 2}
    assert letters.stack.queue_length("reap") == 2
    assert letters.post("/dead/reap/replay") == {"replayed": 1}


def test_dead_letters_of_intake_are_dropped_only_after_their_export(admin):
    admin.table()
    admin.load([("2026-01-01T00:00:00Z", "h", 1)])  # starts intake, which declares its queues
    admin.stack.find("intake").stop()
    for name in ("a", "b"):
        admin.stack.publish("intake.dead", name, message_id=name)
    wait_until(lambda: admin.stack.queue_length("intake.dead") == 2, 10, "the letters to arrive")
    error = admin.error("POST", "/dead/intake/drop", {"yes": True}, 409)
    assert "2 of 2" in error["message"]
    assert len(admin.ask("GET", "/dead/intake/export").text.splitlines()) == 2
    admin.stack.publish("intake.dead", "c", message_id="c")
    wait_until(lambda: admin.stack.queue_length("intake.dead") == 3, 10, "the letters to be back")
    assert "1 of 3" in admin.error("POST", "/dead/intake/drop", {"yes": True}, 409)["message"]
    wait_until(lambda: admin.stack.queue_length("intake.dead") == 3, 10, "the letters to be back")
    admin.ask("GET", "/dead/intake/export")
    assert admin.post("/dead/intake/drop", {"yes": True}) == {"dropped": 3}
