"""Rows over HTTP: what comes in, what is refused, and what becomes of bad rows."""

import gzip
import http.client
import json
import random
import re
import socket
import string
import subprocess
import threading

import pytest
from harness.stack import wait_until
from harness.table import Table, ndjson, some_rows

ALL_TYPES = {"ts": "timestamp", "path": "string", "size": "int64", "small": "int32", "flag": "bool", "ratio": "double",
             "half": "float", "day": "date", "price": "decimal(9,2)", "uid": "uuid", "raw": "bytes", "extra": "json"}
GOOD = b'{"ts":"2026-11-01T00:00:00Z","path":"/good"}'
HUGE = b'{"ts":"2026-11-01T00:00:00Z","path":"' + b"x" * (10 << 20) + b'"}'


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def row(members):
    return b'{"ts":"2026-11-01T00:00:00Z",' + members + b"}"


# The text of a bad row, the column that is to blame, and the reason as a regular expression.
BAD_ROWS = (
    (b'{"ts":"2026-11-01T00:00:00Z","path":"/us', "path", "expected a closing quote but found the end of the row"),
    (b'{"ts":"2026-11-01T00:00:00Z" "path":"/"}', None, 'expected "," or "}" but found "path"'),
    (b"not json", None, "expected an object but found not"),
    (b"[1]", None, "expected an object but found an array"),
    (GOOD + b"}", None, "expected the end of the row but found }"),
    (row(b'"size":"1"'), "size", 'expected an integer but found "1"'),
    (row(b'"size":1.5'), "size", r"expected an integer\b.* but found 1\.5"),
    (row(b'"size":9223372036854775808'), "size",
     "expected an integer from -9223372036854775808 to 9223372036854775807 but found 9223372036854775808"),
    (row(b'"small":2147483648'), "small", "expected an integer from -2147483648 to 2147483647 but found 2147483648"),
    (row(b'"flag":1'), "flag", "expected true or false but found 1"),
    (row(b'"ratio":1e999'), "ratio", "expected a number within the range of a double but found 1e999"),
    (row(b'"half":1e39'), "half", "expected a number within the range of a float but found 1e39"),
    (row(b'"day":"2026-02-30"'), "day", 'expected a date such as "2026-11-30" but found "2026-02-30"'),
    (row(b'"price":1.234'), "price", r"expected a decimal\(9,2\) without rounding but found 1\.234"),
    (row(b'"price":12345678'), "price", r"expected a number within the range of decimal\(9,2\) but found 12345678"),
    (row(b'"uid":"x"'), "uid", 'expected a UUID but found "x"'),
    (row(b'"raw":"?"'), "raw", r'expected bytes in padded base64 but found "\?"'),
    (row(b'"path":{"a":1}'), "path", "expected a string but found an object"),
    (row(b'"path":"\xff"'), "path", "expected UTF-8 but found byte 0xff at byte 1 of a text"),
    (row(b'"path":"\\ud800"'), "path", r"expected a JSON escape .*"),
    (row(b'"path":"a\tb"'), "path", "expected no control character in a string but found 0x09"),
    (row(b'"colour":"red"'), None, 'expected a column of the table but found "colour"'),
    (b'{"path":"/"}', "ts", "expected a value but found none"),
    (b'{"ts":null}', "ts", "expected a value but found n.*"),
    (b'{"ts":"yesterday"}', "ts", 'expected a time in RFC 3339 or whole microseconds but found "yesterday"'),
    (b'{"ts":"1999-12-31T23:59:59Z"}', "ts", 'expected a time from 20.* but found "1999-12-31T23:59:59Z"'),
    (b'{"ts":"2999-01-01T00:00:00Z"}', "ts", 'expected a time from 20.* but found "2999-01-01T00:00:00Z"'),
    (row(b'"size":1,"size":2'), "size", "expected each column once but found it twice"),
    (row(b'"extra":' + b"[" * 65 + b"]" * 65), "extra", "expected at most 64 levels of nesting"),
    (HUGE, None, f"expected a row of at most {8 << 20} bytes but found {len(HUGE)}"),
)


def test_every_kind_of_bad_row_becomes_a_reject_word_for_word_and_the_good_rows_land(stack):
    table = Table(stack, columns=ALL_TYPES, settings={"intake.max_past": "7300d"})
    stack.service("intake")
    body = b"".join(GOOD + b"\n" + text + b"\n" for text, _, _ in BAD_ROWS)
    answer = table.land(body).json
    assert (answer["rows"], answer["rejected"]) == (len(BAD_ROWS), len(BAD_ROWS))

    rejects = table.rejects()
    assert [reject["row"] for reject in rejects] == [2 * number for number in range(1, len(BAD_ROWS) + 1)]
    for reject, (text, column, reason) in zip(rejects, BAD_ROWS):
        assert reject["text"] == text, text[:100]
        assert reject["column"] == column, text[:100]
        assert re.fullmatch(reason, reject["reason"]), (text[:100], reject["reason"])
    assert {reject["batch_id"] for reject in rejects} == {answer["batch_id"]}
    assert [shown["reason"] for shown in answer["rejects"]] == [reject["reason"] for reject in rejects[:10]]
    assert [found["path"] for found in table.rows()] == ["/good"] * len(BAD_ROWS)


def test_unknown_columns_are_ignored_where_the_table_says_so(stack):
    table = Table(stack, settings={"intake.unknown_columns": "ignore"})
    stack.service("intake")
    answer = table.land(row(b'"path":"/x","colour":{"deep":["red"]}') + b"\n" + row(b'"colour":[}')).json
    assert (answer["rows"], answer["rejected"]) == (1, 1), "what is ignored must still be well-formed"
    assert [found["path"] for found in table.rows()] == ["/x"]


@pytest.mark.parametrize("headers, body", [
    ({}, ndjson(some_rows(500))),
    ({"Content-Type": "application/json"}, json.dumps(some_rows(500)).encode()),
    ({"Content-Encoding": "gzip"}, gzip.compress(ndjson(some_rows(300))) + gzip.compress(ndjson(some_rows(200, 300)))),
    ({"Content-Encoding": "zstd"}, zstd(ndjson(some_rows(200))) + zstd(ndjson(some_rows(300, 200)))),
], ids=["ndjson", "array", "gzip", "zstd"])
def test_rows_come_in_every_form_and_read_back_as_sent(stack, headers, body):
    table = Table(stack)
    stack.service("intake")
    rows = some_rows(500)
    answer = table.land(body, headers=headers)
    assert answer.json["rows"] == 500 and answer.json["rejected"] == 0 and answer.json["rejects"] == []
    found = [{**back, "ts": back["ts"].replace(".000000", "")} for back in table.rows()]
    assert sorted(found, key=lambda back: back["size"]) == rows


NDJSON_500 = ndjson(some_rows(500))
# Path (None: the table's), method, headers, body; status, and a part of the message.
REFUSED = {
    "cut-off gzip": (None, "POST", {"Content-Encoding": "gzip"}, gzip.compress(NDJSON_500)[:-20], 400, "cut off"),
    "bad gzip": (None, "POST", {"Content-Encoding": "gzip"}, NDJSON_500, 400, "gzip"),
    "cut-off zstd": (None, "POST", {"Content-Encoding": "zstd"}, zstd(NDJSON_500)[:-20], 400, "cut off"),
    "bad zstd": (None, "POST", {"Content-Encoding": "zstd"}, NDJSON_500, 400, "zstd"),
    "bomb": (None, "POST", {"Content-Encoding": "gzip"}, gzip.compress(b"x" * (3 << 20)), 400,
             "expected a body of at most 2097152 bytes, decompressed"),
    "cut-off array": (None, "POST", {"Content-Type": "application/json"}, b'[{"ts":1},', 400,
                      "expected the array of rows to close"),
    "no array": (None, "POST", {"Content-Type": "application/json"}, b'{"ts":1}', 400, "expected an array of rows"),
    "empty": (None, "POST", {}, b"", 400, "expected at least one row"),
    "over the limit": (None, "POST", {}, b"\n" * ((1 << 20) + 1), 413, "1048576 bytes"),
    "unknown table": ("/v1/tables/demo.none/rows", "POST", {}, NDJSON_500, 404, 'no table "demo.none"'),
    "no table's name": ("/v1/tables/none/rows", "POST", {}, NDJSON_500, 400, "project.name"),
    "rejects": ("/v1/tables/demo.usr%24rejects/rows", "POST", {}, NDJSON_500, 400, "holds rejects"),
    "method": (None, "PUT", {}, NDJSON_500, 405, "POST"),
    "content type": (None, "POST", {"Content-Type": "text/html"}, NDJSON_500, 415, "text/html"),
    "encoding": (None, "POST", {"Content-Encoding": "br"}, NDJSON_500, 415, "br"),
    "long key": (None, "POST", {"Idempotency-Key": "k" * 201}, NDJSON_500, 400, "1 to 200 characters but found 201"),
    "wait": ("/v1/tables/demo.usr/rows?wait=forever", "POST", {}, NDJSON_500, 400, 'wait="forever"'),
    "timeout": ("/v1/tables/demo.usr/rows?wait=committed&timeout=soon", "POST", {}, NDJSON_500, 400, "soon"),
    "path": ("/v1/table", "POST", {}, NDJSON_500, 404, ""),
}


def test_a_request_that_is_bad_as_a_whole_gets_one_clear_error_and_nothing_is_enqueued(stack):
    Table(stack)
    intake = stack.service("intake", env={"GRANARY_INTAKE_ROLE": "head", "GRANARY_INTAKE_MAX_BODY": "1MiB",
                                          "GRANARY_INTAKE_MAX_DECODED": "2MiB"})
    for name, (path, method, headers, body, status, text) in REFUSED.items():
        answer = intake.request(method, path or "/v1/tables/demo.usr/rows", body,
                                {"Content-Type": "application/x-ndjson", **headers}, stack.token("writer"))
        assert answer.status == status, (name, answer)
        assert list(answer.json) == ["error"], (name, answer)
        assert text in answer.json["error"]["message"], (name, answer)
        assert answer.json["error"]["code"], (name, answer)
    assert intake.metric("granary_intake_messages_total") == 0
    assert stack.queue_length("intake") == 0


def test_a_token_with_the_role_of_a_writer_is_needed(stack):
    table = Table(stack)
    intake = stack.service("intake", env={"GRANARY_INTAKE_ROLE": "head"})
    for token, status in ((None, 401), ("reader", 403), ("writer", 202), ("operator", 202)):
        assert table.post(some_rows(1), token=token).status == status, token
    assert intake.request("POST", "/v1/tables/demo.usr/rows", b"{}", token="made up").status == 401
    for path in ("/livez", "/readyz", "/metrics", "/version"):
        assert intake.request("GET", path).status == 200, path


def test_a_body_that_breaks_off_is_forgotten(stack):
    table = Table(stack)
    intake = stack.service("intake")
    with socket.create_connection(("127.0.0.1", intake.port)) as wire:
        wire.sendall(f"POST /v1/tables/demo.usr/rows HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {stack.token('writer')}"
                     f"\r\nContent-Type: application/x-ndjson\r\nContent-Length: 100000\r\n\r\n".encode() + NDJSON_500)
    table.land(some_rows(1, first=1000))
    assert table.sizes() == [1000]
    assert intake.metric("granary_intake_messages_total") == 1


# --- one key, one batch ---------------------------------------------------------------------------------------------

def test_a_key_names_one_body_and_its_rows_land_once(stack):
    table = Table(stack)
    intake = stack.service("intake")
    first = table.land(some_rows(10), key="one")
    again = table.post(some_rows(10), key="one")
    assert again.status == 200 and again.json["duplicate"] and again.json["committed"]
    assert (again.json["batch_id"], again.json["rows"]) == (first.json["batch_id"], 10)
    other = table.post(some_rows(11), key="one")
    assert other.status == 422 and "Idempotency-Key" in other.json["error"]["message"]
    table.land(some_rows(5, first=100), key="two")
    assert table.sizes() == [*range(10), *range(100, 105)]
    assert intake.metric("granary_intake_messages_total") == 2


def test_a_key_that_comes_again_before_its_first_batch_is_committed_lands_once(stack):
    table = Table(stack)
    head = stack.service("intake", env={"GRANARY_INTAKE_ROLE": "head"})
    for _ in range(3):
        answer = table.post(some_rows(10), key="one")
        assert answer.status == 202 and not answer.json["committed"]
    assert table.post(some_rows(11), key="one").status == 422
    assert stack.queue_length("intake") == 3
    stack.service("intake", env={"GRANARY_INTAKE_ROLE": "writer"})
    wait_until(lambda: stack.queue_length("intake") == 0 and table.row_count(), 120, "the rows to land")
    assert table.sizes() == list(range(10))
    assert head.request("POST", "/v1/tables/demo.usr/rows", ndjson(some_rows(10)),
                        {"Idempotency-Key": "one"}, stack.token("writer")).json["duplicate"]


# --- waiting, sharing, pushing back -----------------------------------------------------------------------------------

def test_waiting_for_the_commit_ends_in_time_and_says_so(stack):
    table = Table(stack)
    stack.service("intake", env={"GRANARY_INTAKE_ROLE": "head"})
    late = table.post(some_rows(10), committed=True, timeout="200ms")
    assert late.status == 504 and late.json["committed"] is False and late.json["rows"] == 10
    stack.service("intake", env={"GRANARY_INTAKE_ROLE": "writer"})
    table.wait_rows(10)
    assert table.sizes() == list(range(10))


def test_small_requests_that_arrive_together_share_messages(stack):
    table = Table(stack)
    intake = stack.service("intake", env={"GRANARY_INTAKE_LINGER": "50ms"})
    clients, each = 16, 50

    def post_all(client):
        connection = http.client.HTTPConnection("127.0.0.1", intake.port, timeout=240)
        for number in range(each):
            connection.request("POST", "/v1/tables/demo.usr/rows", ndjson(some_rows(1, client * each + number)),
                               {"Authorization": f"Bearer {stack.token('writer')}"})
            answer = connection.getresponse()
            answers.append((answer.status, json.loads(answer.read())["batch_id"]))
        connection.close()

    answers = []
    threads = [threading.Thread(target=post_all, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [status for status, _ in answers] == [202] * (clients * each)
    table.wait_rows(clients * each)
    assert table.sizes() == list(range(clients * each))
    assert intake.metric("granary_intake_segments_total") == clients * each
    messages = intake.metric("granary_intake_messages_total")
    assert messages == len({batch for _, batch in answers})
    assert messages < clients * each / 2


def test_a_full_queue_answers_429_and_takes_rows_again_when_there_is_room(stack):
    table = Table(stack)
    settings = {"GRANARY_INTAKE_QUEUE_MAX": "1MiB"}
    head = stack.service("intake", env={**settings, "GRANARY_INTAKE_ROLE": "head"})
    noise = [[{"ts": "2026-11-01T00:00:00Z", "size": number,
               "path": "".join(random.choices(string.ascii_letters, k=300_000))}] for number in range(40)]
    taken = []

    def is_full():
        answer = table.post(noise[len(taken)])
        if answer.status == 429:
            assert int(answer.headers["Retry-After"]) >= 1
            return True
        assert answer.status == 202, answer
        taken.append(noise[len(taken)][0]["size"])
        return False

    wait_until(is_full, 120, "the queue to be full")
    assert head.metric("granary_intake_queue_full_total") == 1
    stack.service("intake", env={**settings, "GRANARY_INTAKE_ROLE": "writer"})
    wait_until(lambda: head.request("POST", "/v1/tables/demo.usr/rows", ndjson(some_rows(1, 1000)), {},
                                    stack.token("writer")).status == 202, 30, "room in the queue")
    table.wait_rows(len(taken) + 1)
    assert table.sizes() == [*taken, 1000]


def test_rows_of_many_days_become_one_partition_for_each(stack):
    table = Table(stack)
    stack.service("intake")
    days = [f"2026-11-{day:02}" for day in range(1, 21)]
    table.land([row for number, day in enumerate(days) for row in some_rows(10, 10 * number, day)])
    found = stack.sql("select row_count, min_timestamp, max_timestamp, path, data_bytes from granary.partitions"
                      " where table_id = %s and active order by min_timestamp", (table.id,))
    assert [(str(one["min_timestamp"].date()), one["row_count"]) for one in found] == [(day, 10) for day in days]
    assert [one["path"] for one in sorted(found, key=lambda one: one["path"])] == stack.objects()
    for one in found:
        assert (stack.store / one["path"]).stat().st_size == one["data_bytes"]
    assert table.sizes() == list(range(200))
