"""The s3:// driver does not take an S3 server's word: how much it sends, in what order, and what its documents say."""

import os
import re
import threading
import time

import pytest
from harness.program import peak_kib
from harness.s3peer import Answer, S3Peer, altered, empty, endless, error, error_answer, lost_answer, refused, torn
from harness.servers import build_directory
from harness.store import MIB, PART, Store

ONCE = {"GRANARY_STORE_RETRY_FOR": "300ms"}
OLD = 2 * 86400


@pytest.fixture
def peer():
    with S3Peer() as made:
        yield made


@pytest.fixture
def store(peer):
    return Store(peer.settings("pre/fix"))


# --- 4xx -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status, code, word", [
    (400, "InvalidArgument", "invalid"), (400, "EntityTooLarge", "invalid"), (403, "AccessDenied", "denied"),
    (403, "SignatureDoesNotMatch", "denied"), (403, "InvalidAccessKeyId", "denied"), (404, "NoSuchBucket", "unavailable"),
    (405, "MethodNotAllowed", "invalid"), (409, "InvalidBucketState", "conflict"), (411, "MissingContentLength", "invalid"),
])
def test_what_no_repetition_heals_is_asked_once(peer, store, status, code, word):
    peer.put("pre/fix/k", b"x" * 10)
    for op, call in (("PutObject", ("put", "new", 10, 1)), ("GetObject", ("get", "k", 0, 10)),
                     ("ListObjectsV2", ("list", "", "", 10))):
        peer.fault(error(status, code), op=op)
        answer = store.fail(*call)
        assert answer.startswith(f"{word}: ") and f"{code} ({status})" in answer
        assert peer.count(op) == 1, op


# --- an error behind a success -----------------------------------------------------------------------------------------
def behind_success(code):
    return lambda peer, request, go_on: error_answer(200, code)


@pytest.mark.parametrize("act", [
    lost_answer, refused, torn(), empty, error(500, "InternalError"), error(503, "SlowDown"),
    behind_success("InternalError"), behind_success("SomethingNew"),
    altered(lambda answer: Answer(200, answer.body.replace(b"</DeleteResult>", b""))),
    altered(lambda answer: Answer(200, b"<html><body>Sign in</body></html>")),
], ids=["lost", "refused", "torn", "empty", "500", "503", "200 and an error", "200 and an unknown error", "unfinished",
        "another document"])
def test_a_bulk_delete_that_goes_wrong_once_is_repeated(peer, store, act):
    for key in ("a", "b", "c"):
        peer.put(f"pre/fix/{key}")
    peer.fault(act, op="DeleteObjects", times=1)
    assert store.delete(["a", "c"]) == [("deleted", "")] * 2
    assert peer.keys() == ["pre/fix/b"] and peer.count("DeleteObjects") == 2


def test_a_bulk_delete_that_is_refused_behind_a_success_fails_for_each_key(peer, store):
    peer.put("pre/fix/a")
    peer.fault(behind_success("AccessDenied"), op="DeleteObjects")
    assert [(outcome, "AccessDenied" in text) for outcome, text in store.delete(["a", "b"])] == [("failed", True)] * 2
    assert peer.keys() == ["pre/fix/a"] and peer.count("DeleteObjects") == 1


@pytest.mark.parametrize("op, call", [("ListObjectsV2", ("list", "", "", 10)), ("PutObject", ("put", "k", 10, 1)),
                                      ("CreateMultipartUpload", ("put", "k", 4 * PART + 1, 1))])
def test_an_error_behind_a_success_is_one_whatever_was_asked(peer, store, op, call):
    peer.fault(behind_success("InternalError"), op=op, times=1)
    store.ask(*call)
    assert peer.count(op) == 2


# --- whose bytes are there ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("says", [error(412, "PreconditionFailed"), behind_success("PreconditionFailed"),
                                  error(404, "NoSuchUpload"), behind_success("NoSuchUpload")],
                         ids=["412", "412 behind 200", "no such upload", "no such upload behind 200"])
def test_an_upload_that_is_there_already_is_ours_only_by_its_bytes(peer, store, says):
    """As a second try of the end finds it, whose first answer was lost."""
    size = 4 * PART + MIB

    def finished(the_peer, request, go_on):
        go_on()
        return says(the_peer, request, go_on)

    def overtaken(the_peer, request, go_on):
        the_peer.put(request.key, b"somebody else was first")
        return says(the_peer, request, go_on)

    peer.fault(finished, op="CompleteMultipartUpload", times=1)
    sha256 = store.put("ours", size)
    assert store.ask("get", "ours", 0, size).strip() == sha256
    peer.fault(overtaken, op="CompleteMultipartUpload", times=1)
    assert store.fail("put", "theirs", size, 1).startswith("conflict: expected no object")
    assert peer.data("pre/fix/theirs") == b"somebody else was first"
    assert peer.uploads == {}


@pytest.mark.parametrize("op, size", [("PutObject", 3 * MIB), ("UploadPart", 4 * PART + MIB)])
def test_a_body_that_is_cut_in_the_middle_is_sent_again(peer, store, op, size):
    peer.cuts[op] = 2
    sha256 = store.put("k", size)
    assert store.ask("get", "k", 0, size).strip() == sha256
    assert peer.cuts[op] == 0 and peer.uploads == {}


# --- how much it sends -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("op, act, call, words", [
    ("GetObject", endless(), ("get", "k", 0, 10), "expected 10 bytes but found more than"),
    ("GetObject", endless(b"<Error>", status=500), ("get", "k", 0, 10), "an answer of at most 16777216 bytes"),
    ("ListObjectsV2", endless(b"<ListBucketResult>", b"<Contents><Key>k</Key></Contents>" * 999),
     ("list", "", "", 10), "an answer of at most 16777216 bytes"),
    ("PutObject", endless(), ("put", "new", 10, 1), "an answer of at most 16777216 bytes"),
], ids=["bytes", "an error", "a document", "what nobody asked for"])
def test_an_answer_without_end_is_not_waited_for(peer, store, op, act, call, words):
    peer.put("pre/fix/k", b"x" * 1000)
    peer.fault(act, op=op)
    began = time.monotonic()
    assert words in store.fail(*call, env=ONCE)
    assert time.monotonic() - began < 60


def test_a_page_with_more_than_was_asked_for_is_refused(peer, store):
    for number in range(20):
        peer.put(f"pre/fix/k{number:02}")

    def generous(_peer, request, go_on):
        request.query["max-keys"] = "1000"
        return go_on()
    peer.fault(generous, op="ListObjectsV2")
    assert "expected at most 7 entries" in store.fail("list", "", "", 7, env=ONCE)


# --- what its documents say ----------------------------------------------------------------------------------------------
def test_blanks_that_keep_a_connection_open_are_no_part_of_the_answer(peer, store):
    def patient(answer):
        answer.body = b"  \n \r\n" + b'<?xml version="1.0" encoding="UTF-8"?>\n   ' + answer.body
    for op in ("CompleteMultipartUpload", "DeleteObjects", "ListObjectsV2"):
        peer.fault(altered(patient), op=op)
    store.put("k", 4 * PART + MIB)
    assert store.keys() == ["k"] and store.delete(["k"]) == [("deleted", "")]
    assert [peer.count(op) for op in ("CompleteMultipartUpload", "DeleteObjects", "ListObjectsV2")] == [1, 1, 1]


def test_a_key_that_would_be_cut_to_one_of_ours_stops_the_listing(peer, store):
    for key in ("a", "a\0b", "b"):
        peer.put(f"pre/fix/{key}")
    assert "expected keys without NUL bytes but found one behind \"pre/fix/a\"" in store.fail("list", "", "", 10, env=ONCE)


def test_the_folder_marker_of_the_prefix_itself_is_in_nobodys_way(peer, store):
    """Consoles make one when somebody makes the folder."""
    for key in ("", "a", "b"):
        peer.put(f"pre/fix/{key}")
    for page in (1, 2, 1000):
        assert store.keys(page=page) == ["a", "b"]


# --- uploads left open -------------------------------------------------------------------------------------------------
def left_open(peer, count, age, prefix="pre/fix", key=None):
    """As killed writers leave them: of a key each, or of one."""
    for number in range(count):
        peer.uploads[f"{prefix}-{age}-{number:06}"] = (f"{prefix}/{key or f'k{number:06}'}", {}, time.time() - age)


def test_uploads_left_open_are_swept_page_by_page(peer, store):
    left_open(peer, 1100, OLD)
    left_open(peer, 1100, OLD + 1, key="k000500")  # a page ends among those of one key
    left_open(peer, 900, 60)
    left_open(peer, 10, OLD, prefix="pre/fixture")
    assert store.ask("sweep", 3600_000).strip() == "2200"
    assert len(peer.uploads) == 900 + 10 and peer.count("ListMultipartUploads") == 4
    assert store.ask("sweep", 3600_000).strip() == "0"


def going_round(markers):
    """Pages that say they go on here, and then there."""
    def act(the_peer, _request, go_on):
        key, upload = markers[the_peer.count("ListMultipartUploads") % len(markers)]
        answer = go_on()
        answer.body = answer.body.replace(
            b"<IsTruncated>false</IsTruncated>", f"<IsTruncated>true</IsTruncated><NextKeyMarker>{key}</NextKeyMarker>"
            f"<NextUploadIdMarker>{upload}</NextUploadIdMarker>".encode())
        return answer
    return act


@pytest.mark.parametrize("markers", [[("pre/fix/k", "x")], [("pre/fix/k", "x"), ("pre/fix/j", "y")],
                                     [("pre/fix/k", "x"), ("pre/fix/k", "y")], [("", "")]],
                         ids=["on the spot", "back to another key", "among those of a key", "to the beginning"])
def test_pages_of_uploads_that_lead_back_end_the_sweep(peer, store, markers):
    left_open(peer, 2, 60, key="l")
    answering = going_round(markers)

    def always_the_same(the_peer, request, go_on):
        request.query.pop("key-marker", None)
        request.query.pop("upload-id-marker", None)
        return answering(the_peer, request, go_on)
    peer.fault(always_the_same, op="ListMultipartUploads")
    assert "leads back to" in store.fail("sweep", 3600_000)
    assert len(peer.uploads) == 2


def peak_mib_of_sweep(peer, store):
    """The most memory that a sweep has had when it asks for its last page."""
    known, asking = threading.Event(), []

    def look(_peer, _request, go_on):
        known.wait()
        asking.append(peak_kib(process) / 1024)
        return go_on()

    peer.faults.clear()
    peer.fault(look, op="ListMultipartUploads")
    with store.start("sweep", 3600_000) as process:
        known.set()
        _, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints
    return asking[-1]


@pytest.mark.skipif(re.fullmatch("asan|tsan", os.path.basename(build_directory())) is not None,
                    reason="sanitizers keep freed memory")
def test_a_sweep_takes_no_more_memory_for_more_uploads(peer, store):
    peer.keep_requests = False
    sizes = []
    for count in (2000, 20_000):
        peer.uploads.clear()
        left_open(peer, count, 60, prefix="pre/fix/" + "x" * 900)
        sizes.append(peak_mib_of_sweep(peer, store))
    assert peer.count("ListMultipartUploads") == 2 + 20
    assert sizes[1] < sizes[0] + 8, sizes
