"""A private PostgreSQL cluster: TCP on the loopback only, passwords for everyone, fsync on."""

import os
import re
import signal
import subprocess
from pathlib import Path

from . import processes
from .layout import StackError, server_user, write_private

NAME = "postgres"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # a socket's path may not exceed 107 bytes: a deep tree would break it
    "max_connections": "300",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "lc_messages": "C",
}


class Postgres:
    def __init__(self, layout, settings=None):
        self.layout = layout
        self.settings = {**SETTINGS, **(settings or {})}
        self._child = None

    @property
    def port(self):
        return self.layout.port(NAME, in_use=self.record is not None)

    @property
    def record(self):
        return processes.find(self.layout, NAME)

    def start(self):
        """Starts it unless it runs. Returns at once; wait_ready waits."""
        if self.record:
            return
        directory = self.layout.server_directory(NAME)
        data = directory / "data"
        if not (data / "PG_VERSION").exists():
            self._create(directory, data)
        processes.end_users_of(data)
        (data / "postmaster.pid").unlink(missing_ok=True)  # nobody works here, so it is stale, whoever has its pid now
        argv = [program("postgres"), "-D", data, "-p", self.port]
        for name, value in self.settings.items():
            argv += ["-c", f"{name}={value}"]
        self._child = processes.spawn(self.layout, NAME, argv, _environment(directory), server_user(NAME), data)

    def wait_ready(self, seconds=60):
        argv = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d",
                "postgres"]

        def ready():
            if self._child and self._child.poll() is not None:
                raise StackError(f"postgres ended with exit code {self._child.returncode}")
            return subprocess.run(argv, check=False, env=_environment("/")).returncode == 0

        processes.wait_until(ready, seconds, "postgres to accept connections")

    def stop(self):
        if self.record:
            processes.end(self.layout, [self.record], how=signal.SIGINT, seconds=30)  # fast: sessions are cut off

    def sql(self, text, database="postgres", role="postgres"):
        """Runs statements up to the first that fails, and returns what they print: unaligned, tuples only."""
        answer = subprocess.run(
            [program("psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(role, database), "-f", "-"],
            input=text, text=True, capture_output=True, check=False, env=self.client_environment(role))
        if answer.returncode:
            raise StackError(f"psql as {role!r}: {answer.stderr.strip()}")
        return answer.stdout.strip()

    def url(self, role, database="granary"):
        """A libpq connection string without the password."""
        return f"host=127.0.0.1 port={self.port} dbname={database} user={role}"

    def client_environment(self, role):
        return {**_environment("/"), "PGPASSWORD": self.layout.secret(f"postgres-{role}")}

    def psql(self, database, role="granary_owner"):
        """Becomes psql."""
        os.execve(program("psql"), ["psql", "-X", "-d", self.url(role, database)],
                  {**os.environ, **self.client_environment(role)})

    def _create(self, directory, data):
        user = server_user(NAME)
        password = directory / "password"
        write_private(password, self.layout.secret("postgres-postgres"), owner=user)
        argv = [program("initdb"), "-D", str(data), "--username=postgres", "--auth=scram-sha-256",
                f"--pwfile={password}", "--encoding=UTF8", "--locale=C.UTF-8"]
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        try:
            answer = subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    cwd=directory, env=_environment(directory), **identity)
        finally:
            password.unlink()
        if answer.returncode:  # initdb has removed what it had made
            raise StackError(f"initdb: {answer.stderr.strip()}")


def program(name):
    """Debian keeps the servers of each version apart, and its psql in the path is a wrapper for its own clusters."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"),
                   key=lambda path: int(re.sub(r"\D", "", path.parts[4]) or 0))
    if not found:
        raise StackError(f"could not find PostgreSQL's {name}; hint: run deploy/local/bootstrap")
    return str(found[-1])


def _environment(home):
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(home)}
