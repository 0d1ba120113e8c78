"""The partition cleaner on an S3 server that misbehaves: what it must not believe."""

import json
import re
import time
import uuid

import pytest
from harness.s3peer import S3Peer, altered, error, error_answer
from harness.shelf import DELETE, FINDINGS, OLD, REFUSED, STEP, YOUNG, Shelf, uuid7

FAILED = 1
DRY = {"GRANARY_CLEANER_DELETE": "false"}


class Bucket(Shelf):
    """A shelf whose objects stand in the peer's bucket, below a prefix."""

    def __init__(self, stack, peer, prefix="live"):
        self.peer, self.prefix = peer, prefix
        super().__init__(stack)
        deployment = str(stack.sql_value("select deployment_id from granary.deployment"))
        peer.put(f"{prefix}/granary-deployment.json", json.dumps({"deployment_id": deployment}).encode())

    def put(self, key, size=64, age=OLD, root=None):
        self.peer.put(f"{self.prefix if root is None else root}/{key}", b"x" * size, age)

    def there(self, key, root=None):
        return f"{self.prefix if root is None else root}/{key}" in self.peer.keys()

    def clean(self, expect=0, env=None, **options):
        return super().clean(expect, {"GRANARY_STORE_RETRY_FOR": "1s", **self.peer.settings(self.prefix), **(env or DELETE)},
                             **options)


@pytest.fixture
def peer():
    with S3Peer() as made:
        yield made


@pytest.fixture
def bucket(stack, peer):
    return Bucket(stack, peer)


def test_keys_of_every_kind_are_listed_and_left_alone(bucket):
    named = bucket.plant(3)
    foreign = ["a b", "a+b", "a%20b", "a//b", "\u00e4/\u20ac", "a&b<c>", "x" * 1000, bucket.key(uuid7()) + "/more"]
    for key in [*foreign, "folder/"]:
        bucket.put(key)
    young, orphans = bucket.orphan(age=YOUNG), [bucket.orphan() for _ in range(3)]
    bucket.put("")  # what a console makes with the folder "live"
    for env in (STEP, DELETE):  # a page for each key, and all in one
        counts = bucket.clean(expect=0, env=env)
        assert (counts["foreign"], counts["rows"]) == (len(foreign), 3)
    told = [program.log(message="names in the store that are none of ours are left alone")
            for program in bucket.stack.programs]
    assert [len(lines) for lines in told] == [1, 1]  # once in a process, however many there are
    assert all(map(bucket.there, [*named, *foreign, "folder/", "", young])) and not any(map(bucket.there, orphans))
    assert {row["answer"] for row in bucket.receipts().values()} == {"deleted"}


def test_a_deployment_leaves_its_neighbours_alone(bucket):
    """One whose prefix begins with ours, one below ours, and one above."""
    bucket.plant(1)
    keys = {root: bucket.key(uuid7(OLD), table=uuid.uuid4()) for root in ("live-2", "live/below", "liv")}
    for root, key in keys.items():
        bucket.put(key, root=root)
    orphan = bucket.orphan()
    counts = bucket.clean(expect=0)
    assert (counts["deleted"], counts["foreign"]) == (1, 1) and not bucket.there(orphan)
    assert all(bucket.there(key, root) for root, key in keys.items())


def test_an_object_that_the_listing_does_not_show_yet_is_not_missing(bucket, peer):
    bucket.plant(5)
    peer.list_lag = 3
    counts = bucket.clean(expect=0)
    assert (counts["rows"], counts["missing"]) == (5, 0) and counts["objects"] < 5 + 2


def again(_peer, request, go_on):
    """The same page whatever was asked for, as for a token that leads back."""
    request.query.pop("start-after", None)
    request.query.pop("continuation-token", None)
    return go_on()


def out_of_order(answer):
    parts = re.split(rb"(?=<Contents>)|(?<=</Contents>)(?!<Contents>)", answer.body)
    answer.body = parts[0] + b"".join(sorted(parts[1:-1], reverse=True)) + parts[-1]


@pytest.mark.allow_errors("run failed")
@pytest.mark.parametrize("act, after, word", [
    (again, 2, "expected a key behind"),
    (altered(out_of_order), 0, ""),
    (error(403, "AccessDenied"), 2, "AccessDenied"),
    (lambda *_: error_answer(503, "SlowDown"), 2, "SlowDown"),
], ids=["a page twice", "keys out of order", "forbidden in the middle", "busy in the middle"])
def test_a_listing_that_cannot_be_trusted_deletes_nothing(bucket, peer, act, after, word):
    bucket.plant(3)
    orphans = [bucket.orphan() for _ in range(3)]
    env = STEP if after else DELETE
    found = re.compile(r"granary-(marks|probe)")

    def only_the_comparison(the_peer, request, go_on):
        return go_on() if found.search(request.query.get("prefix", "")) else act(the_peer, request, go_on)

    peer.fault(only_the_comparison, op="ListObjectsV2", after=after + 3)
    bucket.clean(expect=FAILED, env=env)
    assert word in bucket.last_run()["error"]
    assert all(map(bucket.there, orphans)) and not bucket.receipts()
    peer.faults.clear()
    assert bucket.clean(expect=0, env=env)["deleted"] == 3


def test_keys_that_the_store_refuses_to_delete_stay_orphans(bucket, peer):
    bucket.plant(1)
    orphans = sorted(bucket.orphan() for _ in range(3))

    def refuse_the_first(answer):
        key = f"live/{orphans[0]}".encode()
        answer.body = answer.body.replace(
            b"<Deleted><Key>" + key + b"</Key></Deleted>",
            b"<Error><Key>" + key + b"</Key><Code>AccessDenied</Code><Message>locked</Message></Error>")

    peer.fault(altered(refuse_the_first), op="DeleteObjects")
    counts = bucket.clean(expect=FINDINGS)
    assert (counts["deleted"], counts["failed"]) == (2, 1)
    assert "AccessDenied" in bucket.orphans()[orphans[0]]["error"]
    assert bucket.receipts()[orphans[0]]["answer"].startswith("failed: ")


@pytest.mark.allow_errors("deleting orphans is refused")
def test_clocks_that_are_apart_stop_the_deleting(bucket, peer):
    bucket.plant(1)
    orphan = bucket.orphan()
    peer.skew = 600
    bucket.clean(expect=REFUSED)
    assert "expected the clocks of store and catalog" in bucket.last_run()["error"] and bucket.there(orphan)


# --- uploads left open -------------------------------------------------------------------------------------------------
def left_open(bucket, age=OLD, root="live", key=None):
    """As a writer leaves it that was killed so long ago; returns its id."""
    upload = uuid.uuid4().hex
    bucket.peer.uploads[upload] = (f"{root}/{key or bucket.key(uuid7(age))}", {}, time.time() - age)
    return upload


def test_uploads_left_open_are_counted_by_a_dry_run_and_ended_by_another(bucket, peer):
    named = bucket.plant(2)
    old = {left_open(bucket) for _ in range(2)}
    others = {left_open(bucket, age=YOUNG), left_open(bucket, root="live-2"), left_open(bucket, root="live/below"),
              left_open(bucket, key="notes.txt")}
    counts = bucket.clean(expect=0, env=DRY)
    assert (counts["open_uploads"], counts["ended_uploads"]) == (2, 0) and set(peer.uploads) == old | others
    counts = bucket.clean(expect=0)
    assert (counts["open_uploads"], counts["ended_uploads"]) == (2, 2) and set(peer.uploads) == others
    assert all(map(bucket.there, named))


@pytest.mark.allow_errors("deleting orphans is refused")
def test_a_run_that_may_not_delete_ends_no_upload(bucket, peer):
    bucket.plant(1)
    left_open(bucket)
    bucket.orphan()
    counts = bucket.clean(expect=REFUSED, env={**DELETE, "GRANARY_CLEANER_MAX_ORPHAN_PERCENT": "0"})
    assert (counts["open_uploads"], counts["ended_uploads"], len(peer.uploads)) == (1, 0, 1)


def endless(answer):
    answer.body = answer.body.replace(b"<IsTruncated>false</IsTruncated>", b"<IsTruncated>true</IsTruncated>"
                                      b"<NextKeyMarker>live/</NextKeyMarker><NextUploadIdMarker>x</NextUploadIdMarker>")


@pytest.mark.parametrize("act", [error(403, "AccessDenied"), error(501, "NotImplemented"), altered(endless)],
                         ids=["forbidden", "not implemented", "pages without end"])
def test_orphans_go_where_uploads_cannot_be_swept(bucket, peer, act):
    bucket.plant(1)
    left_open(bucket, age=YOUNG)
    orphan = bucket.orphan()
    peer.fault(act, op="ListMultipartUploads")
    assert bucket.clean(expect=0)["deleted"] == 1 and not bucket.there(orphan)
    [program] = bucket.stack.programs
    assert any("could not be swept" in line["message"] for line in program.log(level="warn"))
