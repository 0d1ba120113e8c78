"""Servers for the run, a stack for each test, and the closing count."""

import pytest
from harness.contents import BucketContents, PeerContents
from harness.s3peer import S3Peer
from harness.servers import Servers
from harness.stack import Stack

OUTCOME = pytest.StashKey()


def is_worker(config):
    return hasattr(config, "workerinput")


def pytest_configure(config):
    config.addinivalue_line("markers", "crash: kills at a fault point (make crash)")
    config.addinivalue_line("markers", "allow_errors(*patterns): error lines of the log that the test provokes")


def pytest_sessionstart(session):
    """Missing servers fail the run; nothing is skipped."""
    if is_worker(session.config) or session.config.option.collectonly:
        return
    try:
        Servers().start()
    except Exception as error:
        pytest.exit(f"could not start the servers: {error}", returncode=3)


def pytest_sessionfinish(session):
    if not is_worker(session.config) and not session.config.option.collectonly:
        Servers().delete()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.stash[OUTCOME] = outcome.get_result().passed


def pytest_terminal_summary(terminalreporter, config):
    count = {kind: len(terminalreporter.getreports(kind)) for kind in ("passed", "failed", "error")}
    name = "crash" if config.option.markexpr == "crash" else "integration"
    terminalreporter.write_line(f"{name}: {count['passed']} passed, {count['failed'] + count['error']} failed")


@pytest.fixture(scope="session")
def servers():
    return Servers()


def lend_stack(servers, directory, request, contents=None):
    made = Stack(servers, directory, contents)
    for mark in request.node.iter_markers("allow_errors"):
        made.allow_errors(*mark.args)
    yield made
    made.finish(passed=request.node.stash.get(OUTCOME, False))


@pytest.fixture
def stack(servers, tmp_path, request):
    yield from lend_stack(servers, tmp_path, request)


@pytest.fixture
def bucket_stack(servers, tmp_path, request):
    """Its objects live in a bucket of a real S3 server, below a prefix."""
    gateway, client, bucket = servers.bucket()
    contents = BucketContents(client, bucket, "some/prefix", gateway.url(bucket, "some/prefix"))
    yield from lend_stack(servers, tmp_path, request, contents)


@pytest.fixture
def peer_stack(servers, tmp_path, request):
    """Its objects live in the bucket of `stack.contents.peer`, which misbehaves on request."""
    with S3Peer() as peer:
        yield from lend_stack(servers, tmp_path, request, PeerContents(peer, "live"))


@pytest.fixture
def own_stack(tmp_path, request):
    """On servers of its own, which it may stop and start. They take some ten seconds."""
    own = Servers(home=tmp_path / "servers")
    try:
        own.start()
        yield from lend_stack(own, tmp_path, request)
    finally:
        own.delete()
