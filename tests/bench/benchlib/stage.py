"""Real servers that keep what they confirm: fsync is on, on both sides of each comparison."""

import os
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import cached_property

from harness.servers import Servers
from harness.stack import Stack

from . import BUILD


class Stage:
    def __init__(self):
        self._closing = ExitStack()
        self._shared = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._closing.close()

    def enter(self, context):
        """Leaves it when the run is over."""
        return self._closing.enter_context(context)

    def shared(self, factory):
        """What the factory makes of the stage, once for all benches of a run."""
        if factory not in self._shared:
            self._shared[factory] = factory(self)
        return self._shared[factory]

    @cached_property
    def servers(self):
        """Started at the first use: not every bench needs them."""
        servers = Servers(str(BUILD), postgres_settings={})
        self._closing.callback(servers.delete)
        with redirect_stdout(sys.stderr):
            servers.start()
        return servers

    @property
    def postgres(self):
        return self.servers.local.postgres

    @contextmanager
    def stack(self, template=None):
        """A database, a vhost and a store; the database is a copy of `template`, where one is given."""
        with tempfile.TemporaryDirectory(dir=BUILD, prefix="bench-") as directory:
            made = Stack(self.servers, directory)
            if template:
                self.servers.drop_database(made.database)
                self._copy(template, made.database)
            passed = False
            try:
                yield made
                passed = True
            finally:
                made.finish(passed)

    def keep(self, stack):
        """A copy of the stack's database as it is now, to make stacks from. Nobody may be connected."""
        template = f"template_{uuid.uuid4().hex[:12]}"
        self.postgres.sql("select pg_terminate_backend(pid) from pg_stat_activity"
                          f" where datname = '{stack.database}'")
        self._copy(stack.database, template)
        return template

    def drop(self, template):
        self.servers.drop_database(template)

    def settle(self):
        """Nothing waits to be written by somebody else while we measure."""
        self.postgres.sql("checkpoint")
        os.sync()

    def _copy(self, template, database):
        self.postgres.sql(f'create database "{database}" template "{template}" strategy file_copy owner granary_owner')


def tool(name, *arguments, input=None, env=None, folder="bench"):
    """Runs one of the C programs beside the benches, or with folder="tools" of the tests. Returns what it printed."""
    answer = subprocess.run([BUILD / folder / name, *map(str, arguments)], input=input, capture_output=True,
                            text=True, check=False, env=env)
    if answer.returncode:
        raise RuntimeError(f"{name}: exit code {answer.returncode}: {answer.stderr.strip()}")
    return answer.stdout


def timed(act):
    started = time.monotonic()
    act()
    return time.monotonic() - started


def sync_file(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


