"""The servers of a run. The first process of pytest starts them afresh and ends them; its workers find them running."""

import fcntl
import itertools
import json
import os
import uuid

from stacklib.layout import write_private
from stacklib.local import LocalStack
from stacklib.radosgw import RadosGW
from stacklib.s3 import S3Client

from . import TREE
from .swift import Swift

TEMPLATE = "granary_template"
VHOSTS_AT_START = 24
# Tests kill processes, not machines: what the kernel has is safe, and databases come and go with every test.
POSTGRES_SETTINGS = {"fsync": "off", "full_page_writes": "off"}
VHOSTS_MORE = 24


def build_directory():
    return os.path.abspath(os.environ.get("TEST_BUILD") or TREE / "build/test")


class Servers:
    """Those that all tests share; with a `home` of its own, those of a test that stops and starts them."""

    def __init__(self, build=None, home=None, postgres_settings=None):
        settings = POSTGRES_SETTINGS if postgres_settings is None else postgres_settings
        self.build = build or build_directory()
        self.local = LocalStack(home or f"{self.build}/servers", f"{self.build}/bin",
                                vhosts=[f"test-{number}" for number in range(VHOSTS_AT_START)],
                                postgres_settings=settings)
        self.layout = self.local.layout

    # --- by the first process of a run -----------------------------------------------------------------------------
    def start(self):
        self.delete()
        self.local.start_servers()
        (self.layout.home / "vhosts").mkdir()

    def delete(self):
        if self.layout.home.exists():
            self.local.down()
            self.layout.delete()

    # --- by every test ---------------------------------------------------------------------------------------------
    def create_database(self, name):
        """A migrated database, copied from one that `granary migrate` has made."""
        with self._exclusive():
            if not (self.layout.home / "migrated").exists():
                self.local.create_database(TEMPLATE)
                self.local.migrate(TEMPLATE)
                self.local.set_passwords()
                (self.layout.home / "migrated").touch()
        self.local.postgres.sql(f'create database "{name}" template {TEMPLATE} owner granary_owner')

    def bucket(self, kind="radosgw"):
        """An S3 server for all tests, started for the first that asks, and a bucket there that is nobody else's."""
        gateway = Swift(self.layout) if kind == "swift" else RadosGW(self.layout, in_memory=True)
        with self._exclusive():
            gateway.start()
        client = S3Client(gateway.endpoint, *gateway.credentials())
        name = f"test-{uuid.uuid4()}"
        client.create_bucket(name)
        return gateway, client, name

    def drop_database(self, name):
        self.local.postgres.sql(f'drop database if exists "{name}" with (force)')

    def take_vhost(self):
        """A vhost that nobody has used. They are made by the dozen, as a call of rabbitmqctl takes a second."""
        for number in itertools.count():
            if number >= VHOSTS_AT_START and (number - VHOSTS_AT_START) % VHOSTS_MORE == 0:
                self._more_vhosts(number)
            try:
                (self.layout.home / "vhosts" / f"test-{number}").mkdir()
            except FileExistsError:
                continue
            return f"test-{number}"

    def _more_vhosts(self, first):
        with self._exclusive():
            done = self.layout.home / f"vhosts-from-{first}"
            if done.exists():
                return
            names = [f"test-{number}" for number in range(first, first + VHOSTS_MORE)]
            definitions = self.layout.server_directory("rabbitmq") / "more.json"
            write_private(definitions, json.dumps(self.local.broker.definitions(names)), mode=0o644)
            self.local.broker.control("import_definitions", str(definitions))
            done.touch()

    def _exclusive(self):
        return _Lock(self.layout.home / "harness.lock")


class _Lock:
    def __init__(self, path):
        self._path = path

    def __enter__(self):
        self._file = open(self._path, "w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self._file.close()
