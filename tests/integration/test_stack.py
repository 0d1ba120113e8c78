"""The local stack: what `make up` and `make down` do, also after something has died."""

import json
import os
import signal
import socket
import subprocess

import pytest
from harness.servers import build_directory
from stacklib import processes, services
from stacklib.local import LocalStack

pytestmark = [pytest.mark.xdist_group("local stack"), pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """One stack for all tests here, as a node of RabbitMQ takes seconds to start. Each test begins with `up`."""
    made = LocalStack(tmp_path_factory.mktemp("stack") / "home", f"{build_directory()}/bin")
    yield made
    made.down()


def pids(local):
    return {record.name: record.pid for record in processes.find_all(local.layout)}


def everything():
    return {"postgres", "rabbitmq", "epmd", *(process.name for process in services.PROCESSES)}


def kill(local, *names):
    for name in names:
        os.kill(pids(local)[name], signal.SIGKILL)
    processes.wait_until(lambda: not set(names) & set(pids(local)), 10, "the killed to be gone")


def test_up_starts_all_and_a_second_up_changes_nothing(local):
    local.up()
    first = pids(local)
    local.up()
    assert set(first) == everything()
    assert pids(local) == first
    assert all(ready for _, _, _, ready in local.states())


def test_up_heals_what_was_killed_and_leaves_the_rest_alone(local):
    local.up()
    local.postgres.sql("create table if not exists proof as select 1 as kept", "granary")
    before = pids(local)
    kill(local, "postgres", "reaper", "epmd")
    local.up()
    after = pids(local)
    assert set(after) == everything()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"postgres", "reaper", "epmd"}
    assert local.postgres.sql("select kept from proof", "granary") == "1"


def test_up_heals_after_everything_died_at_once_as_in_a_reboot(local):
    local.up()
    local.crash()
    assert pids(local) == {}
    local.up()
    assert set(pids(local)) == everything()


def test_up_without_jobs_stops_those_that_run(local):
    local.up()
    local.up(jobs=False)
    assert set(pids(local)) == everything() - {process.name for process in services.JOBS}


def test_up_restarts_a_process_whose_settings_changed(local):
    local.up(jobs=False)
    before = pids(local)
    local.layout.settings.write_text("# for this test\nGRANARY_LOG_LEVEL=debug\n")
    try:
        local.up(jobs=False)
    finally:
        local.layout.settings.unlink()
    after = pids(local)
    assert {name for name in after if after[name] != before[name]} == {process.name for process in services.SERVICES}


def test_up_takes_another_port_when_somebody_else_has_taken_its_own(local):
    local.up(jobs=False)
    port = local.postgres.port
    local.postgres.stop()
    with socket.create_server(("127.0.0.1", port)):
        local.up(jobs=False)
        assert local.postgres.port != port
        assert local.postgres.sql("select 1") == "1"


def test_down_spares_a_process_that_has_got_the_pid_of_one_of_ours(tmp_path):
    """A record whose process ended long ago, and whose pid is now somebody else's."""
    other = LocalStack(tmp_path / "home", f"{build_directory()}/bin")
    other.layout.create()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stranger:
        (other.layout.run / "reaper.json").write_text(json.dumps({
            "name": "reaper", "pid": stranger.pid, "start": 1, "fingerprint": "",
            "boot": open("/proc/sys/kernel/random/boot_id").read().strip()}))
        other.down()
        assert stranger.poll() is None
        stranger.stdin.close()


def test_a_process_that_cannot_start_is_named_with_the_end_of_its_log(local):
    local.layout.create()
    local.layout.settings.write_text("GRANARY_LOG_LEVEL=loud\n")
    try:
        with pytest.raises(Exception, match="(?s)admin.*exit code 78.*admin.log ends with.*GRANARY_LOG_LEVEL"):
            local.up(jobs=False)
    finally:
        local.layout.settings.unlink()


def test_down_ends_what_up_started_and_a_second_down_does_nothing(local):
    local.up()
    started = processes.find_all(local.layout)
    local.down()
    assert not [record.name for record in started if record.alive]
    assert not processes.users_of(local.layout.server_directory("postgres") / "data")
    local.down()
