"""Loads: many bodies, one commit. What they bring, what they refuse, and that a broken one leaves nothing."""

import gzip
import http.client
import json
import socket
import threading
from urllib.parse import quote

import pytest
from harness.stack import INTAKE, wait_until
from harness.table import NDJSON, Table, ndjson, some_rows

BAD = b'{"ts":"yesterday"}\n'


class Load:
    """A session: begin, rows, commit."""

    def __init__(self, table, query="", key=None, expect=201):
        self.table, self.stack = table, table.stack
        answer = self._ask("POST", f"loads{query}", headers={"Idempotency-Key": key} if key else None)
        assert answer.status == expect, answer
        self.begun = answer.json
        self.id = self.begun.get("load_id")

    def _ask(self, method, path, body=None, headers=None):
        return self.stack.request(INTAKE, method, f"/v1/tables/{quote(self.table.name)}/{path}", body, headers, "writer")

    def rows(self, body, headers=None):
        body = ndjson(body) if isinstance(body, list) else body
        return self._ask("POST", f"loads/{self.id}/rows", body, {"Content-Type": NDJSON, **(headers or {})})

    def commit(self):
        return self._ask("POST", f"loads/{self.id}/commit")

    def show(self):
        return self._ask("GET", f"loads/{self.id}")

    def abort(self):
        return self._ask("DELETE", f"loads/{self.id}")


def staged(stack):
    return stack.sql_value("select count(*) from granary.partitions where not active and lock_id is not null")


def given_up(stack):
    return stack.sql_value("select count(*) from granary.partitions where deactivation_reason = 'abandoned'")


def wait_nothing_staged(stack, seconds=30):
    wait_until(lambda: staged(stack) == 0 and stack.sql_value("select count(*) from granary.locks") == 0, seconds,
               "what was staged to be given up")


@pytest.fixture
def table(stack):
    made = Table(stack)
    stack.service("intake")
    return made


def test_bodies_of_a_session_appear_together_in_one_commit(table):
    session = Load(table)
    assert session.rows(some_rows(1000)).json["rows"] == 1000
    assert session.rows(gzip.compress(ndjson(some_rows(500, 1000, day="2026-11-02"))),
                        {"Content-Encoding": "gzip"}).json["rows"] == 500
    assert session.rows(json.dumps(some_rows(10, 1500)).encode(), {"Content-Type": "application/json"}).status == 200
    assert table.row_count() == 0
    shown = session.show().json
    assert (shown["state"], shown["bodies"], shown["rows"]) == ("open", 3, 1510)

    done = session.commit()
    assert done.status == 200, done
    assert (done.json["rows"], done.json["rejected"], done.json["partitions"]) == (1510, 0, 2)
    assert table.sizes() == list(range(1510))
    origins = table.stack.sql("select distinct origin::text from granary.partitions where active")
    assert [row["origin"] for row in origins] == ["load"]

    assert session.commit().json == done.json  # whoever missed the answer asks again
    assert session.rows(some_rows(1)).status == 409
    assert session.abort().status == 409
    assert table.row_count() == 1510


def test_a_load_of_one_request_is_known_by_its_key(table):
    first = table.load(some_rows(100), key="monday")
    assert (first.status, first.json["rows"], first.json["duplicate"]) == (200, 100, False)
    again = table.load(some_rows(100), key="monday")
    assert (again.status, again.json["rows"], again.json["duplicate"]) == (200, 100, True)
    other = table.load(some_rows(101), key="monday")
    assert other.status == 422 and "another body" in other.text
    assert table.post(some_rows(101), key="monday").status == 422  # one key, however it comes
    assert table.load(some_rows(1, 100)).json["duplicate"] is False
    assert table.sizes() == list(range(101))

    session = Load(table, key="monday", expect=200)
    assert session.begun["duplicate"] is True and session.begun["rows"] == 100


def test_two_sessions_of_one_key_land_once(table):
    sessions = [Load(table, key="tuesday") for _ in range(2)]
    for session in sessions:
        assert session.rows(some_rows(50)).status == 200
    answers = [session.commit() for session in sessions]
    assert [answer.status for answer in answers] == [200, 200]
    assert [answer.json["duplicate"] for answer in answers] == [False, True]
    assert table.sizes() == list(range(50))
    wait_nothing_staged(table.stack)
    intake = table.stack.find(INTAKE)
    wait_until(lambda: intake.metric("granary_loads_open") == 0, 60, "both to be over")
    wait_until(lambda: intake.metric("granary_loads_total", result="committed") == 1, 60, "the one to be counted")
    assert intake.metric("granary_loads_total", result="failed") == 0  # to be second is no failure


def test_a_load_without_rows_is_a_load(table):
    answer = table.load(b"", key="nothing")
    assert (answer.status, answer.json["rows"], answer.json["partitions"]) == (200, 0, 0), answer
    assert table.load(b"", key="nothing").json["duplicate"] is True
    session = Load(table)
    assert session.commit().json["rows"] == 0
    rejected = table.load(BAD)
    assert (rejected.status, rejected.json["rows"], rejected.json["rejected"]) == (200, 0, 1), rejected
    assert [reject["text"] + b"\n" for reject in table.rejects()] == [BAD]
    assert table.row_count() == 0
    wait_nothing_staged(table.stack)


def test_rejects_land_with_the_rows_and_too_many_of_them_fail_the_load(table):
    body = ndjson(some_rows(3)) + BAD + ndjson(some_rows(2, 3)) + BAD
    session = Load(table)
    answer = session.rows(body).json
    assert (answer["rows"], answer["rejected"]) == (5, 2)
    assert [reject["row"] for reject in answer["rejects"]] == [4, 7]
    assert session.commit().json["rejected"] == 2
    assert [(reject["row"], reject["text"] + b"\n") for reject in table.rejects()] == [(4, BAD), (7, BAD)]
    assert {reject["batch_id"] for reject in table.rejects()} == {answer["body_id"]}

    strict = Load(table, "?max_rejects=1")
    refused = strict.rows(body)
    assert refused.status == 400 and "at most 1 rejected rows but found 2" in refused.text
    assert strict.commit().status == 409
    failed = strict.show().json
    assert failed["state"] == "failed" and "rejected rows" in failed["failure"]
    assert [reject["row"] for reject in failed["rejects"]] == [4, 7]
    assert table.load(body, {"max_rejects": 1}).status == 400
    assert table.load(body, {"max_rejects": 2}).status == 200
    assert table.row_count() == 10


def test_a_dry_run_tells_what_would_be_and_writes_nothing(table):
    rows = some_rows(10) + some_rows(5, day="2026-11-03")
    answer = table.load(ndjson(rows) + BAD, {"dry_run": 1}, key="ignored")
    assert answer.status == 200
    report = answer.json
    assert (report["dry_run"], report["committed"], report["rows"], report["rejected"]) == (True, False, 15, 1)
    assert report["partitions"] == 2 and [reject["row"] for reject in report["rejects"]] == [16]
    assert [(bucket["start"][:10], bucket["rows"]) for bucket in report["buckets"]] == [("2026-11-01", 10),
                                                                                        ("2026-11-03", 5)]
    assert table.row_count() == 0 and table.stack.objects() == []
    assert table.stack.sql_value("select count(*) from granary.intake_batches") == 0


def test_more_rows_than_memory_are_written_on_the_way_and_nobody_sees_them_before_the_commit(stack):
    table = Table(stack)
    stack.service("intake", env={"GRANARY_WRITER_LOAD_MEMORY": "1MiB", "GRANARY_WRITER_LEASE": "2s"})
    session = Load(table)
    days = [f"2026-11-{day:02}" for day in range(1, 6)]
    sent = 0
    for day in days * 2:
        assert session.rows(some_rows(20000, sent, day)).status == 200
        sent += 20000
    shown = session.show().json
    assert shown["partitions"] > 2 and staged(stack) == shown["partitions"]
    assert stack.sql_value("select count(distinct lock_id) from granary.partitions") == 1
    assert table.row_count() == 0
    lease = stack.sql_value("select expires_at from granary.locks")
    wait_until(lambda: stack.sql_value("select expires_at from granary.locks") > lease, 120, "the lease to be renewed")
    assert session.commit().json["rows"] == sent
    assert table.sizes() == list(range(sent))
    assert stack.sql_value("select count(*) from granary.locks") == 0


@pytest.mark.parametrize("how", ["abort", "bad body", "client leaves", "idle", "stop"])
def test_a_load_that_is_not_committed_leaves_nothing(stack, how):
    table = Table(stack)
    intake = stack.service("intake", env={"GRANARY_WRITER_LOAD_MEMORY": "1MiB",
                                          "GRANARY_WRITER_LOAD_IDLE": "20s" if how == "idle" else "10m"})
    session = Load(table)
    assert session.rows(some_rows(30000)).status == 200
    wait_until(lambda: staged(stack) > 0, 120, "partitions to be staged")
    if how == "abort":
        assert session.abort().status == 200
        assert session.show().status == 404
    elif how == "bad body":
        refused = session.rows(b"no gzip", {"Content-Encoding": "gzip"})
        assert refused.status == 400
        assert session.commit().status == 409
    elif how == "client leaves":
        connection = socket.create_connection(("127.0.0.1", intake.port))
        connection.sendall(f"POST /v1/tables/{table.name}/loads/{session.id}/rows HTTP/1.1\r\nHost: x\r\n"
                           f"Authorization: Bearer {stack.token('writer')}\r\nContent-Length: 100000\r\n\r\n".encode()
                           + ndjson(some_rows(10)))
        wait_until(lambda: session.show().json["bodies_under_way"] == 1, 120, "the body to begin")
        connection.close()
        wait_until(lambda: session.show().json["state"] == "failed", 120, "the load to fail")  # idle after 60 s at least
        assert session.commit().status == 409
    elif how == "stop":
        assert intake.stop() == 0
    wait_nothing_staged(stack, 120)
    assert given_up(stack) > 0 and table.row_count() == 0
    assert stack.sql_value("select count(*) from granary.intake_batches") == 0


@pytest.mark.parametrize("at", ["load.after_write", "publish.mid_write"])
def test_a_writer_killed_in_the_middle_leaves_what_the_jobs_clear_away(stack, at):
    table = Table(stack, settings={"abandoned.grace": "0s"})
    stack.mark()
    intake = stack.service("intake", env={"GRANARY_WRITER_LOAD_MEMORY": "1MiB", "GRANARY_WRITER_LEASE": "1s"},
                           fault=f"{at}=kill", wait=True)
    with pytest.raises((OSError, http.client.HTTPException)):
        table.load(some_rows(60000))
    assert intake.wait_exit(30) == -9
    intake.killed = True
    assert staged(stack) > 0 and table.row_count() == 0
    stack.service("reaper")

    def is_clear():
        stack.job("merge-cleanup")
        stack.job("reap-collection")
        return stack.sql_value("select count(*) from granary.partitions") == 0 and stack.objects() == []
    wait_until(is_clear, 60, "the leftovers to be reaped")


def test_what_a_load_refuses_is_named(table, stack):
    for path, status, text in (
            ("loads/00000000-0000-7000-8000-000000000000/commit", 404, "the process that began it"),
            ("loads/nonsense/commit", 400, "UUID"),
            ("load?dry_run=yes", 400, "expected dry_run=0 or dry_run=1"),
            ("load?max_rejects=-1", 400, "max_rejects"),
    ):
        answer = stack.request(INTAKE, "POST", f"/v1/tables/{table.name}/{path}", b"", token="writer")
        assert (answer.status, text in answer.text) == (status, True), (path, answer)
    assert table.load(b"x", headers={"Content-Type": "text/plain"}).status == 415
    assert table.load(b"[1", headers={"Content-Type": "application/json"}).status == 400
    assert stack.request(INTAKE, "POST", "/v1/tables/demo.nothing/load", b"", token="writer").status == 404
    assert stack.request(INTAKE, "POST", f"/v1/tables/{table.name}/load", b"", token="reader").status == 403


def test_a_process_takes_only_so_many_loads(stack):
    table = Table(stack)
    stack.service("intake", env={"GRANARY_WRITER_LOAD_SESSIONS": "1"})
    session = Load(table)
    refused = table.load(some_rows(1))
    assert refused.status == 503 and "GRANARY_WRITER_LOAD_SESSIONS" in refused.text
    assert session.abort().status == 200
    wait_until(lambda: table.load(some_rows(1)).status == 200, 120, "the next load to be taken")


def test_loads_that_are_over_are_remembered_and_take_no_place(stack):
    table = Table(stack)
    intake = stack.service("intake", env={"GRANARY_WRITER_LOAD_SESSIONS": "1"})
    for number in range(3):
        session = Load(table)
        assert session.rows(some_rows(10, 10 * number)).status == 200
        done = session.commit()
        assert done.status == 200, done
        assert session.commit().json == done.json
    broken = Load(table)
    assert broken.rows(b"no gzip", {"Content-Encoding": "gzip"}).status == 400
    wait_until(lambda: intake.metric("granary_loads_open") == 0, 60, "the broken one to be over")
    wait_until(lambda: intake.metric("granary_loads_total", result="failed") == 1, 60, "it to be counted")
    last = Load(table)
    assert broken.show().json["state"] == "failed" and session.show().json["state"] == "committed"
    assert intake.metric("granary_loads_open") == 1
    assert last.abort().status == 200
    wait_until(lambda: intake.metric("granary_loads_open") == 0, 60, "the last one to be over")
    assert intake.metric("granary_loads_total", result="failed") == 1
    assert intake.metric("granary_loads_total", result="committed") == 3
    assert intake.metric("granary_loads_rows_total") == 30
    assert table.sizes() == list(range(30))


def test_a_head_says_where_loads_are_taken_and_a_writer_takes_them(stack):
    table = Table(stack)
    head = stack.service("intake", env={"GRANARY_INTAKE_ROLE": "head"})
    refused = table.load(some_rows(1))
    assert refused.status == 404 and "GRANARY_INTAKE_ROLE=writer" in refused.text
    assert head.stop() == 0
    stack.service("intake", env={"GRANARY_INTAKE_ROLE": "writer"})
    assert table.load(some_rows(20)).json["rows"] == 20
    assert table.post(some_rows(1)).status == 404
    assert table.sizes() == list(range(20))


def test_bodies_of_one_session_may_come_at_the_same_time(stack):
    table = Table(stack)
    stack.service("intake", env={"GRANARY_WRITER_LOAD_MEMORY": "1MiB"})
    session = Load(table)
    statuses = []

    def send(number):
        statuses.append(session.rows(some_rows(20000, 20000 * number, f"2026-11-0{number + 1}")).status)
    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 4
    assert session.commit().json["rows"] == 80000
    assert table.sizes() == list(range(80000))
