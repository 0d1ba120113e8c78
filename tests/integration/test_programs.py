"""The C programs that drive an adapter against the real server: <name>/<what>_live.c."""

import subprocess
from pathlib import Path

import pytest
from harness.servers import build_directory

PROGRAMS = sorted(Path(build_directory(), "live").glob("*/*_live"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_an_adapter_works_against_its_server(program, servers, tmp_path):
    """Each gets URLs with passwords, as the owner of an empty database; it needs no role of a service."""
    local = servers.local
    database = program.name
    local.create_database(database)
    owner_password = servers.layout.secret("postgres-granary_owner")
    bus_password = servers.layout.secret("rabbitmq")
    (tmp_path / "store").mkdir()
    env = {
        "PATH": "/usr/bin:/bin",
        "TZ": "UTC",
        "GRANARY_CATALOG_URL": f"{local.postgres.url('granary_owner', database)} password={owner_password}",
        "GRANARY_BUS_URL": local.broker.url(servers.take_vhost()).replace("@", f":{bus_password}@", 1),
        "GRANARY_STORE_URL": f"file://{tmp_path}/store",
    }
    try:
        answer = subprocess.run([program], env=env, capture_output=True, text=True, errors="replace", check=False,
                                timeout=580, cwd="/", stdin=subprocess.DEVNULL)
    finally:
        servers.drop_database(database)
    assert answer.returncode == 0, f"exit code {answer.returncode}:\n{answer.stdout}\n{answer.stderr}"
