"""On real S3 servers, which verify signatures: the driver's calls, and a whole life of rows. Ceph's radosgw can do all that
the driver asks for; OpenStack's Swift refuses conditional writes, and so shows the way round them."""

import json
import subprocess

import pytest
from harness.life import Life
from harness.servers import build_directory
from harness.stack import wait_until

MIB = 1 << 20
ODD_KEYS = ["a b/c", "a+b/c", "a%41b/c", "a&b/<c>", "\u00e4/\u20ac/\U0001f33e", "=?#[]@!$'()*,:\"\\/c", "x" * 1000]


class Bucket:
    """A bucket of its own, and the store in it."""

    def __init__(self, servers, kind):
        self.gateway, self.client, self.name = servers.bucket(kind)

    def run(self, *arguments, prefix="p", input="", expect=0, **parameters):
        url = self.gateway.url(self.name, prefix) + "".join(f"&{name}={value}" for name, value in parameters.items())
        env = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "GRANARY_STORE_URL": url, "GRANARY_STORE_PART_SIZE": "5MiB",
               "GRANARY_STORE_ACCESS_KEY_ID": self.client.key, "GRANARY_STORE_SECRET_ACCESS_KEY": self.client.secret}
        answer = subprocess.run([f"{build_directory()}/tools/store", *map(str, arguments)], input=input, env=env,
                                text=True, capture_output=True, check=False, timeout=120)
        assert answer.returncode == expect, answer.stderr or answer.stdout
        return answer.stdout if expect == 0 else answer.stderr

    def keys(self, prefix="p"):
        lines = self.run("list", "", "", 3, 1000, prefix=prefix).splitlines()
        return [json.loads(line.partition(" ")[2]) for line in lines[:-1]]


@pytest.fixture(params=["radosgw", "swift"])
def bucket(servers, request):
    return Bucket(servers, request.param)


@pytest.fixture
def rados_bucket(servers):
    return Bucket(servers, "radosgw")


@pytest.mark.parametrize("kind, creates", [("radosgw", "yes"), ("swift", "no")])
def test_what_the_server_can_do_is_found_out(servers, kind, creates):
    bucket = Bucket(servers, kind)
    probe = dict(line.split(" ", 1) for line in bucket.run("probe").splitlines())
    assert {name: probe[name] for name in ("create_if_absent", "bulk_delete", "lists_own_writes", "versioned")} == {
        "create_if_absent": creates, "bulk_delete": "yes", "lists_own_writes": "yes", "versioned": "no"}
    assert bucket.client.objects(bucket.name) == {}


def test_objects_are_created_once_read_listed_and_deleted_whatever_their_keys(bucket):
    for number, key in enumerate(ODD_KEYS):
        sha256 = bucket.run("put", key, 1000 + number, number).split()[0]
        assert bucket.run("put", key, 1000 + number, number).split()[0] == sha256
        assert bucket.run("get", key, 0, 1000 + number).strip() == sha256
        assert bucket.run("put", key, 1000 + number, number + 100, expect=1).startswith("conflict: ")
    assert bucket.client.objects(bucket.name) == {f"p/{key}": 1000 + number for number, key in enumerate(ODD_KEYS)}
    assert bucket.keys() == sorted(ODD_KEYS, key=str.encode)
    lines = bucket.run("delete", input="".join(f"{key}\n" for key in [*ODD_KEYS, "nothing"])).splitlines()
    assert all(line.startswith("deleted ") for line in lines)
    assert bucket.client.objects(bucket.name) == {}


def test_prefixes_that_begin_alike_are_stores_apart(bucket):
    for prefix in ("data", "data2", "data/sub"):
        bucket.run("put", "t/k", 10, 1, prefix=prefix)
    assert bucket.keys("data") == ["sub/t/k", "t/k"]
    assert bucket.keys("data2") == ["t/k"]
    bucket.run("delete", input="t/k\n", prefix="data")
    assert set(bucket.client.objects(bucket.name)) == {"data2/t/k", "data/sub/t/k"}


def test_large_objects_go_up_in_parts_and_leave_none(rados_bucket):
    size = 21 * MIB
    sha256 = rados_bucket.run("put", "large", size, 1).split()[0]
    assert rados_bucket.run("put", "large", size, 1).split()[0] == sha256
    assert rados_bucket.run("get", "large", 0, size).strip() == sha256
    assert rados_bucket.run("put", "large", size, 2, expect=1).startswith("conflict: ")
    assert rados_bucket.client.uploads(rados_bucket.name) == []
    assert rados_bucket.run("get", "large", size - 1, 2, expect=1).startswith(f"corrupt: expected at least {size + 1} bytes")


def test_uploads_left_open_are_swept(rados_bucket):
    rados_bucket.client.ask("POST", f"/{rados_bucket.name}/p/left", {"uploads": ""})
    rados_bucket.client.ask("POST", f"/{rados_bucket.name}/other/left", {"uploads": ""})
    assert rados_bucket.run("sweep", 3600_000).strip() == "0"
    # the server says what time it is in whole seconds
    wait_until(lambda: rados_bucket.run("sweep", 0).strip() == "1", 60, "a second to be over")
    assert rados_bucket.client.uploads(rados_bucket.name) == ["other/left"]


def test_versions_go_with_their_object(rados_bucket):
    rados_bucket.client.ask("PUT", f"/{rados_bucket.name}", {"versioning": ""},
                      b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
    for key in ("k", "k2"):
        rados_bucket.run("put", key, 10, 1)
    assert rados_bucket.run("delete", input="k\nnothing\n").splitlines() == ["deleted k", "deleted nothing"]
    left = rados_bucket.client.ask("GET", f"/{rados_bucket.name}", {"versions": ""}).decode()
    assert left.count("<Version>") == 1 and "<Key>p/k2</Key>" in left and "<DeleteMarker>" not in left


def test_a_wrong_secret_is_denied_and_says_what_may_be_wrong(bucket):
    bucket.client.secret = "wrong"
    answer = bucket.run("list", "", "", 1, expect=1)
    assert answer.startswith("denied: ") and "SignatureDoesNotMatch (403)" in answer and "hint: the secret" in answer


def test_rows_live_and_die_in_a_bucket(bucket_stack):
    """Intake, merging, decay and reaping; what is left in the bucket is what the catalog names."""
    life = Life(bucket_stack)
    life.live_through()
    life.check(life.rows())
    assert bucket_stack.contents.client.uploads(bucket_stack.contents.bucket) == []
