"""The s3:// driver against a server that misbehaves, one bad day after the other."""

import hashlib
import json
import socket
import subprocess
import time
from datetime import datetime, timedelta, timezone

import pytest
from harness.s3peer import (Answer, Generated, S3Peer, altered, empty, error, error_answer, lost_answer, refused, silence,
                            together, torn)
from harness.store import IMPATIENT, MIB, PART, Store
from stacklib.processes import wait_until


@pytest.fixture
def peer():
    with S3Peer() as made:
        yield made


@pytest.fixture
def store(peer):
    return Store(peer.settings("pre/fix"))


def sha256_of(data):
    return hashlib.sha256(data).hexdigest()


# --- writing ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("what, act", [
    ("the answer is lost", lost_answer),
    ("the connection is cut", refused),
    ("503", error(503, "SlowDown")),
    ("500", error(500, "InternalError")),
    ("429", error(429, "TooManyRequests")),
    ("409 between two conditional writes", error(409, "ConditionalRequestConflict")),
    ("the server took other bytes", error(400, "BadDigest")),
    ("silence", silence),
])
def test_a_put_that_goes_wrong_once_is_repeated_and_lands_once(peer, store, what, act):
    peer.fault(act, op="PutObject", times=1)
    sha256 = store.put("t/d/p", 1000, env=IMPATIENT if act is silence else None)
    assert sha256_of(peer.data("pre/fix/t/d/p")) == sha256, what
    assert peer.count("PutObject") == 2


@pytest.mark.parametrize("conditional", [True, "refused", "ignored"])
def test_equal_bytes_under_a_taken_key_are_success_and_others_stop(conditional):
    with S3Peer(conditional=conditional) as peer:
        store = Store(peer.settings())
        first = store.put("k", 1000, seed=1)
        assert store.put("k", 1000, seed=1) == first
        for size, seed in ((1000, 2), (999, 1)):
            assert "conflict: expected no object \"s3://bucket/k\" but found one with other bytes (1000)" in \
                store.fail("put", "k", size, seed)
        assert sha256_of(peer.data("k")) == first


def test_a_lost_answer_and_another_writer_in_between_is_a_conflict(peer, store):
    """The retry of our own put finds another's bytes."""
    def overtaken(the_peer, request, go_on):
        the_peer.put(request.key, b"somebody else was first")
        return refused(the_peer, request, go_on)
    peer.fault(overtaken, op="PutObject", times=1)
    assert store.fail("put", "k", 1000, 1).startswith("conflict: ")
    assert peer.data("pre/fix/k") == b"somebody else was first"


def test_what_was_stored_with_another_checksum_is_corrupt(peer, store):
    peer.fault(altered(lambda answer: answer.headers.update({"x-amz-checksum-sha256": "AAAA"})), op="PutObject")
    assert "corrupt: expected the checksum" in store.fail("put", "k", 10, 1)


def test_a_put_is_not_begun_or_repeated_behind_its_deadline(peer, store):
    assert store.fail("put", "k", 10, 1, -1).startswith("timeout: ")
    assert peer.count("PutObject") == 0
    peer.fault(error(503, "SlowDown"), op="PutObject")
    began = time.monotonic()
    answer = store.fail("put", "k", 10, 1, 1500)
    assert time.monotonic() - began < 15
    assert "SlowDown" in answer and "tries" in answer or answer.startswith("timeout: ")


def test_what_cannot_heal_is_not_repeated(peer, store):
    peer.fault(error(403, "AccessDenied", message="User: arn:aws:iam::1:role/x is not authorized"), op="PutObject")
    answer = store.fail("put", "k", 10, 1)
    assert answer.startswith("denied: could not write \"s3://bucket/pre/fix/k\": AccessDenied (403): User: arn:aws")
    assert "request req-" in answer
    assert peer.count("PutObject") == 1


# --- uploads in parts --------------------------------------------------------------------------------------------------
def test_more_than_four_parts_go_up_in_parts_and_come_back_whole(peer, store):
    store.put("single", 4 * PART)
    assert peer.count("CreateMultipartUpload") == 0
    size = 4 * PART + 1
    sha256 = store.put("parts", size)
    assert peer.count("UploadPart") == 5
    assert sha256_of(peer.data("pre/fix/parts")) == sha256
    assert store.ask("get", "parts", 0, size).strip() == sha256
    assert store.put("parts", size) == sha256  # again: the bytes are compared
    assert store.fail("put", "parts", size, 2).startswith("conflict: ")
    assert peer.uploads == {}


def test_an_upload_may_last_longer_than_its_first_deadline(peer, store):
    """Its writer renews a lease meanwhile."""
    size = 7 * PART
    sha256 = store.ask("put", "parts", size, 1, 8000, 5 * PART).split()[0]
    assert sha256_of(peer.data("pre/fix/parts")) == sha256 and peer.count("UploadPart") == 7
    assert store.fail("put", "late", size, 1, -1).startswith("timeout: ")
    assert peer.uploads == {}


@pytest.mark.parametrize("op, act", [
    ("UploadPart", refused),
    ("UploadPart", error(500, "InternalError")),
    ("CompleteMultipartUpload", lost_answer),
    ("CompleteMultipartUpload", empty),
    # A status of success, and an error in its body.
    ("CompleteMultipartUpload", lambda peer, request, go_on: error_answer(200, "InternalError")),
])
def test_a_part_or_an_end_that_goes_wrong_once_is_repeated(peer, store, op, act):
    peer.fault(act, op=op, times=1)
    sha256 = store.put("parts", 4 * PART + MIB)
    assert sha256_of(peer.data("pre/fix/parts")) == sha256
    assert peer.uploads == {}


def test_an_upload_that_fails_gives_its_parts_back(peer, store):
    peer.fault(error(403, "AccessDenied"), op="UploadPart", after=2)
    assert "AccessDenied" in store.fail("put", "parts", 4 * PART + MIB, 1)
    assert peer.uploads == {} and peer.keys() == []


def test_a_killed_writers_upload_is_swept_by_age_and_nothing_else_is(peer, store):
    peer.fault(silence, op="UploadPart", after=2)
    process = store.start("put", "parts", 4 * PART + MIB, 1)
    wait_until(lambda: peer.count("UploadPart") >= 3, 60, "parts to be under way")
    process.kill()
    process.wait()
    other = Store(peer.settings("pre/fixture"))
    assert store.ask("sweep", 3600_000).strip() == "0"
    assert other.ask("sweep", 0).strip() == "0"
    assert len(peer.uploads) == 1
    peer.skew = 10
    assert store.ask("sweep", 5000).strip() == "1"
    assert peer.uploads == {} and peer.keys() == []


def test_a_token_that_expires_in_the_middle_of_an_upload_is_replaced(peer, tmp_path):
    """The credentials stand in a file that somebody rotates."""
    secret = tmp_path / "rotated"

    def write(token):
        secret.write_text(f"aws_access_key_id = a\naws_secret_access_key = s\naws_session_token = {token}\n")

    def rotate(the_peer, _request, _go_on):
        the_peer.tokens = {"new"}
        write("new")
        return error_answer(400, "ExpiredToken")

    peer.tokens = {"old"}
    write("old")
    peer.fault(rotate, op="UploadPart", times=1, after=1)
    settings = {**peer.settings(credentials="rotated"), "GRANARY_STORE_CREDENTIALS_DIR": str(tmp_path)}
    del settings["GRANARY_STORE_ACCESS_KEY_ID"], settings["GRANARY_STORE_SECRET_ACCESS_KEY"]
    sha256 = Store(settings).put("parts", 4 * PART + MIB)
    assert sha256_of(peer.data("parts")) == sha256


# --- reading -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("act", [torn(), torn(0), refused, silence, error(503, "SlowDown"),
                                 altered(lambda answer: Answer(200, b"x" * 1000))])
def test_a_read_that_goes_wrong_once_is_repeated_and_right(peer, store, act):
    data = bytes(range(250)) * 4
    peer.put("pre/fix/k", data)
    peer.fault(act, op="GetObject", times=1)
    answer = store.ask("get", "k", 100, 300, env=IMPATIENT if act is silence else None)
    assert answer.strip() == sha256_of(data[100:400])
    assert peer.count("GetObject") == 2


def test_a_read_that_stays_torn_says_so(peer, store):
    peer.put("pre/fix/k", b"x" * 1000)
    peer.fault(torn(), op="GetObject")
    answer = store.fail("get", "k", 0, 1000, env={"GRANARY_STORE_RETRY_FOR": "300ms"})
    assert answer.startswith("unavailable: ") and "s3://bucket/pre/fix/k" in answer


def test_reading_beyond_the_end_is_corrupt_and_nothing_is_not_found(peer, store):
    peer.put("pre/fix/k", b"x" * 10)
    assert store.fail("get", "k", 5, 10).startswith("corrupt: expected at least 15 bytes")
    assert store.fail("get", "k", 20, 10).startswith("corrupt: expected at least 30 bytes")
    assert store.fail("get", "other", 0, 1).startswith("not_found: ")
    assert store.fail("head", "other").startswith("not_found: ")


# --- listings ----------------------------------------------------------------------------------------------------------
ODD_KEYS = ["a b", "a+b", "a%41b", "a//b", "a/", "a&b;<c>", "\u00e4/\u20ac/\U0001f33e", "a\x01b", "=?#[]@!$'()*,:\"\\",
            "x" * (1024 - len("pre/fix/"))]


def test_odd_keys_are_listed_as_they_are(peer, store):
    for key in ODD_KEYS:
        peer.put(f"pre/fix/{key}")
    peer.put("pre/fixture")
    peer.put("pre/fi")
    for page in (1, 2, 1000):
        assert store.keys(page=page) == sorted(ODD_KEYS, key=str.encode)
    assert store.keys("a/") == ["a/", "a//b"]


def test_odd_keys_are_deleted_as_they_are(peer, store):
    """Those that a store accepts: no part is empty or begins with a dot."""
    keys = [key for key in ODD_KEYS if "//" not in key and not key.endswith("/")]
    for key in keys:
        peer.put(f"pre/fix/{key}")
    assert store.delete(keys) == [("deleted", "")] * len(keys)
    assert peer.keys() == []


@pytest.mark.parametrize("act", [
    torn(), empty, refused, error(503, "SlowDown"),
    altered(lambda answer: Answer(200, answer.body.replace(b"</ListBucketResult>", b""))),
    altered(lambda answer: Answer(200, b"<html><body>Sign in</body></html>")),
    altered(lambda answer: Answer(200, b"<!DOCTYPE x [<!ENTITY e 'boo'>]>" + answer.body)),
])
def test_a_page_that_goes_wrong_once_is_asked_for_again(peer, store, act):
    keys = [f"k{number:03}" for number in range(20)]
    for key in keys:
        peer.put(f"pre/fix/{key}")
    peer.fault(act, op="ListObjectsV2", times=1, after=1)
    assert store.keys(page=7) == keys


def test_a_page_that_comes_twice_is_noticed(peer, store):
    for number in range(20):
        peer.put(f"pre/fix/k{number:03}")
    first = []

    def again(_peer, _request, go_on):
        first.append(go_on())
        return first[0]
    peer.fault(again, op="ListObjectsV2", times=1)
    peer.fault(lambda the_peer, request, go_on: first[0], op="ListObjectsV2", times=1)
    assert store.keys(page=7) == [f"k{number:03}" for number in range(20)]  # asked again, the right one came
    first.clear()
    peer.fault(again, op="ListObjectsV2", times=1)
    peer.fault(lambda the_peer, request, go_on: first[0], op="ListObjectsV2")
    assert "expected a key behind" in store.fail("list", "", "", 7, 100, env={"GRANARY_STORE_RETRY_FOR": "200ms"})


def test_a_page_that_claims_more_and_holds_nothing_ends_no_listing(peer, store):
    peer.fault(altered(lambda answer: Answer(200, answer.body.replace(b"<IsTruncated>false", b"<IsTruncated>true"))),
               op="ListObjectsV2")
    answer = store.fail("list", "", "", 10, env={"GRANARY_STORE_RETRY_FOR": "200ms"})
    assert "expected keys in a page that is not the last" in answer


def test_a_million_keys_come_in_order(peer, store):
    peer.generated = Generated(100_000, lambda number: f"pre/fix/{number // 1000:04}/{number:09}")
    peer.keep_requests = False
    lines = store.ask("list", "", "", 10_000, 1000).splitlines()
    assert len(lines) == 100_001 and lines[-1] == "end"
    assert peer.count("ListObjectsV2") == 100
    assert json.loads(lines[99_999].partition(" ")[2]) == "0099/000099999"


# --- deletes -----------------------------------------------------------------------------------------------------------
def test_each_key_has_its_own_answer(peer, store):
    keys = [f"t/k{number:04}" for number in range(2500)]
    for key in keys:
        peer.put(f"pre/fix/{key}")

    def partly(_peer, request, go_on):
        answer = go_on()
        for number in (7, 1500):
            key = f"pre/fix/t/k{number:04}"
            peer.put(key)
            answer.body = answer.body.replace(
                f"<Deleted><Key>{key}</Key></Deleted>".encode(),
                f"<Error><Key>{key}</Key><Code>InternalError</Code><Message>not today</Message></Error>".encode())
        return answer
    peer.fault(partly, op="DeleteObjects")
    found = store.delete(keys)
    assert [number for number, (outcome, _) in enumerate(found) if outcome != "deleted"] == [7, 1500]
    assert "could not delete \"s3://bucket/pre/fix/t/k0007\": InternalError: not today" in found[7][1]
    assert peer.count("DeleteObjects") == 3


def test_a_key_that_the_answer_leaves_out_has_failed(peer, store):
    for key in ("a", "b"):
        peer.put(f"pre/fix/{key}")
    peer.fault(altered(lambda answer: Answer(200, answer.body.replace(
        b"<Deleted><Key>pre/fix/b</Key></Deleted>", b""))), op="DeleteObjects")
    assert [outcome for outcome, _ in store.delete(["a", "b"])] == ["deleted", "failed"]


def test_a_key_asked_twice_is_answered_twice(peer, store):
    peer.put("pre/fix/a")
    assert [outcome for outcome, _ in store.delete(["a", "b", "a"])] == ["deleted"] * 3


def test_without_bulk_deletes_each_goes_alone():
    with S3Peer(bulk=False) as peer:
        for number in range(20):
            peer.put(f"k{number}")
        store = Store(peer.settings())
        assert store.delete([f"k{number}" for number in range(20)]) == [("deleted", "")] * 20
        assert peer.keys() == [] and peer.count("DeleteObjects") == 1 and peer.count("DeleteObject") == 20


def test_under_throttling_deletes_slow_down_and_finish(peer, store):
    """Nine of ten answers are SlowDown; each key is deleted or has failed for that reason, and is still there."""
    keys = [f"t/k{number:05}" for number in range(3000)]
    for key in keys:
        peer.put(f"pre/fix/{key}")
    peer.fault(error(503, "SlowDown"), op="DeleteObjects", share=0.9)
    left = keys
    env = {"GRANARY_STORE_RETRY_FOR": "5s", "GRANARY_STORE_DELETE_RATE": "100000"}
    for _ in range(20):
        found = store.delete(left, env=env)
        assert {f"pre/fix/{key}" for key, (outcome, _) in zip(left, found) if outcome == "failed"} == set(peer.keys())
        assert all("SlowDown" in text for outcome, text in found if outcome == "failed")
        left = [key for key, (outcome, _) in zip(left, found) if outcome == "failed"]
        if not left:
            break
    assert peer.keys() == []


def test_where_versions_are_kept_all_of_them_go():
    with S3Peer(versioned=True) as peer:
        store = Store(peer.settings("a"))
        store.put("k", 10)
        peer.put("a/k", b"again")
        peer.put("a/k2", b"its name begins like the other's")
        assert store.delete(["k", "nothing"]) == [("deleted", ""), ("deleted", "")]
        assert [key for key, versions in peer.objects.items() if versions] == ["a/k2"]
        probe = dict(line.split(" ", 1) for line in store.ask("probe").splitlines())
        assert probe["versioned"] == "yes"


def test_versions_are_left_to_the_buckets_own_rules_where_the_url_says_so():
    with S3Peer(versioned=True) as peer:
        store = Store(peer.settings("a", versions="keep"))
        store.put("k", 10)
        assert store.delete(["k"]) == [("deleted", "")]
        assert [stored.marker for stored in peer.objects["a/k"]] == [False, True]
        assert "noncurrent_bytes 10" in store.ask("probe")


# --- where it is -------------------------------------------------------------------------------------------------------
def test_another_region_is_found_and_then_kept():
    with S3Peer(region="eu-west-1") as peer:
        store = Store(peer.settings(region="us-east-1"))
        store.put("k", 10)
        assert peer.count("HeadObject") == 2 and peer.count("PutObject") == 1  # one redirect in all


def test_a_redirect_to_nowhere_ends_with_a_hint(peer, store):
    peer.fault(error(301, "PermanentRedirect"), op="ListObjectsV2")
    answer = store.fail("list", "", "", 10)
    assert answer.startswith("invalid: ") and "hint: say region= and endpoint=" in answer


def test_a_wrong_clock_is_put_right_by_the_stores(peer, store):
    peer.skew = 3600
    store.put("k", 10)
    assert len(store.keys()) == 1
    peer.fault(error(403, "RequestTimeTooSkewed"), op="ListObjectsV2")
    assert "RequestTimeTooSkewed (403)" in store.fail("list", "", "", 1)


def test_nobody_there_is_unavailable_and_says_how_often_it_tried(peer, store):
    settings = {"GRANARY_STORE_RETRY_FOR": "1s"}
    closed = f"s3://bucket/?endpoint=http://127.0.0.1:1"
    unknown = f"s3://bucket/?endpoint=http://no-such-host.invalid"
    for url, text in ((closed, "s3://bucket/"), (unknown, "resolve host")):
        answer = store.fail("list", "", "", 1, env={**settings, "GRANARY_STORE_URL": url})
        assert answer.startswith("unavailable: ") and text in answer


def test_an_endpoint_that_accepts_and_never_answers_is_left_after_a_while(peer, store):
    peer.fault(silence)
    began = time.monotonic()
    answer = store.fail("list", "", "", 1, env={**IMPATIENT, "GRANARY_STORE_RETRY_FOR": "1s"})
    assert answer.startswith("timeout: ") and time.monotonic() - began < 60


def test_a_bucket_that_is_not_there_deletes_nothing(peer):
    store = Store({**peer.settings(), "GRANARY_STORE_URL": peer.url().replace("bucket", "another", 1)})
    assert [outcome for outcome, _ in store.delete(["k"])] == ["failed"]
    assert "NoSuchBucket" in store.fail("get", "k", 0, 1)
    assert store.fail("get", "k", 0, 1).startswith("unavailable: ")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A private CA, and a certificate of 127.0.0.1 by it."""
    folder = tmp_path_factory.mktemp("tls")
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca",
            "-days", "2")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=s3")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
            "server.pem", "-days", "2", "-extfile", "extensions")
    return folder


def test_a_certificate_must_be_of_a_known_authority(certificates):
    with S3Peer(tls=(certificates / "server.pem", certificates / "server.key")) as peer:
        store = Store(peer.settings())
        answer = store.fail("list", "", "", 1)
        assert answer.startswith("denied: ") and "certificate" in answer
        assert peer.count("ListObjectsV2") == 0
        assert store.ask("list", "", "", 1, env={"GRANARY_STORE_CA_FILE": str(certificates / "ca.pem")}) == "end\n"


def test_a_handshake_that_never_ends_is_left_after_a_while():
    with socket.create_server(("127.0.0.1", 0)) as listener:  # takes connections, and has nothing to say
        store = Store({"GRANARY_STORE_URL": f"s3://bucket/?endpoint=https://127.0.0.1:{listener.getsockname()[1]}",
                       "GRANARY_STORE_ACCESS_KEY_ID": "key", "GRANARY_STORE_SECRET_ACCESS_KEY": "secret"})
        began = time.monotonic()
        answer = store.fail("list", "", "", 1, env={"GRANARY_STORE_CONNECT_TIMEOUT": "1s", "GRANARY_STORE_RETRY_FOR": "1s"})
        assert answer.startswith("timeout: ") and time.monotonic() - began < 60


def test_the_bucket_may_be_part_of_the_host(peer):
    """libcurl itself knows where all that ends in .localhost is."""
    port = peer.endpoint.rpartition(":")[2]
    store = Store({**peer.settings(), "GRANARY_STORE_URL":
                   f"s3://bucket/pre/fix?endpoint=http://s3.localhost:{port}&addressing=virtual"})
    sha256 = store.put("a b/k", 4 * PART + MIB)
    assert store.keys() == ["a b/k"] and peer.keys() == ["pre/fix/a b/k"]
    assert store.ask("get", "a b/k", 0, 4 * PART + MIB).strip() == sha256
    assert store.delete(["a b/k"]) == [("deleted", "")] and peer.keys() == []
    assert {request.headers["host"] for request in peer.requests} == {f"bucket.s3.localhost:{port}"}


def test_one_connection_serves_one_request_after_the_other(peer, store):
    for number in range(40):
        peer.put(f"pre/fix/k{number:02}")
    assert len(store.keys(page=2)) == 40
    assert peer.count("ListObjectsV2") >= 20 and peer.connections == 1


def test_parts_and_bulk_deletes_go_out_side_by_side(peer, store):
    peer.fault(together(2), op="UploadPart")
    store.put("parts", 5 * PART + MIB)
    assert peer.count("UploadPart") == 6
    keys = [f"t/k{number:04}" for number in range(2000)]
    peer.fault(together(2), op="DeleteObjects")
    assert store.delete(keys) == [("deleted", "")] * 2000
    assert peer.count("DeleteObjects") == 2


# --- who we are --------------------------------------------------------------------------------------------------------
def in_minutes(minutes):
    return (datetime.now(timezone.utc) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_web_identity_is_exchanged_and_the_token_used(peer, tmp_path):
    (tmp_path / "token").write_text("web\n")
    peer.credentials = {"token": "from/sts+=", "expires": in_minutes(60)}
    peer.tokens = {"from/sts+="}
    env = {"AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/granary",
           "AWS_ENDPOINT_URL_STS": f"{peer.endpoint}/"}
    store = Store({"GRANARY_STORE_URL": peer.url(), **env})
    store.put("k", 10)
    assert peer.count("AssumeRole") == 1 and peer.keys() == ["k"]
    (tmp_path / "token").write_text("forged")
    answer = store.fail("put", "k2", 10, 1)
    assert answer.startswith("denied: ") and "InvalidIdentityToken: not that one" in answer


def test_the_instances_role_is_asked_for_with_a_session(peer):
    peer.credentials = {"token": "t", "expires": in_minutes(60)}
    peer.tokens = {"t"}
    store = Store({"GRANARY_STORE_URL": peer.url(), "AWS_EC2_METADATA_DISABLED": "false",
                   "AWS_EC2_METADATA_SERVICE_ENDPOINT": peer.endpoint})
    store.put("k", 10)
    assert peer.count("Metadata") == 3 and peer.keys() == ["k"]


def test_credentials_about_to_expire_are_renewed_ahead_and_serve_on_while_that_fails(peer):
    peer.credentials = {"token": "old", "expires": in_minutes(2)}
    peer.tokens = {"old"}
    peer.fault(error(500, "InternalError"), op="Metadata", after=3)
    for number in range(20):
        peer.put(f"k{number:02}")
    store = Store({"GRANARY_STORE_URL": peer.url(), "AWS_EC2_METADATA_DISABLED": "false",
                   "AWS_EC2_METADATA_SERVICE_ENDPOINT": peer.endpoint})
    assert len(store.keys(page=2)) == 20
    assert 4 <= peer.count("Metadata") <= 6  # tried again ahead of time, but not for each request


def test_without_credentials_nobody_is_asked(peer):
    answer = Store({"GRANARY_STORE_URL": peer.url()}).fail("list", "", "", 1)
    assert answer.startswith("denied: ") and "hint: GRANARY_STORE_ACCESS_KEY_ID" in answer
    assert peer.requests == []


# --- what it can do ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options, found", [
    ({}, {"create_if_absent": "yes", "bulk_delete": "yes", "lists_own_writes": "yes", "versioned": "no",
          "object_lock": "no"}),
    ({"conditional": "refused", "bulk": False}, {"create_if_absent": "no", "bulk_delete": "no"}),
    ({"conditional": "ignored"}, {"create_if_absent": "no"}),
    ({"versioned": True}, {"versioned": "yes", "create_if_absent": "yes"}),
])
def test_the_probe_finds_out_what_the_store_can_do_and_leaves_nothing(options, found):
    with S3Peer(**options) as peer:
        probe = dict(line.split(" ", 1) for line in Store(peer.settings("p")).ask("probe").splitlines())
        assert {name: probe[name] for name in found} == found
        assert [key for key, versions in peer.objects.items() if versions] == []


def test_a_listing_that_lags_behind_is_told(peer, store):
    peer.list_lag = 1
    assert "lists_own_writes no" in store.ask("probe")


def test_what_may_not_be_asked_is_not_told(peer, store):
    peer.fault(error(403, "AccessDenied"), op="GetBucketVersioning")
    peer.fault(error(403, "AccessDenied"), op="GetObjectLockConfiguration")
    answer = store.ask("probe")
    assert "versioned not told" in answer and "object_lock not told" in answer
