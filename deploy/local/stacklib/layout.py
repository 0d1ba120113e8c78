"""Where a stack lives: one directory with data, secrets, logs, records of processes, and the ports it keeps."""

import fcntl
import json
import os
import pwd
import random
import secrets
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

SERVER_USERS = ("postgres", "rabbitmq", "ceph")
# Below the range from which Linux takes the ports of outgoing connections: nobody gets one of these by accident.
PORT_FIRST, PORT_LAST = 20000, 32000
SYSTEM_STATE = Path("/var/lib/granary-local")


class StackError(Exception):
    """A failure whose text is all that the user needs."""


def running_as_root():
    return os.geteuid() == 0


def server_user(name):
    """The account that a server runs under: its own when we are root (servers refuse root), else ours."""
    if not running_as_root():
        return None
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise StackError(f"expected a user {name!r}; hint: run deploy/local/bootstrap") from None


class Layout:
    """The directories of one stack. `home` is .granary in the tree unless told otherwise."""

    def __init__(self, home):
        self.home = Path(os.path.abspath(home))
        self.secrets = self.home / "secrets"
        self.log = self.home / "log"
        self.run = self.home / "run"
        self.store = self.home / "store"
        self.settings = self.home / "settings.env"
        self._servers = self.home / "servers"
        self._ports = self.home / "ports.json"

    def create(self):
        for path, mode in ((self.home, 0o755), (self.secrets, 0o700), (self.log, 0o755), (self.run, 0o755),
                           (self.store, 0o755)):
            path.mkdir(mode=mode, parents=True, exist_ok=True)
            path.chmod(mode)
        self._create_servers()

    def delete(self):
        """All of it. What runs must have been ended before."""
        servers = self._servers.resolve()
        shutil.rmtree(self.home)
        if servers.parent == SYSTEM_STATE:
            shutil.rmtree(servers)

    def _create_servers(self):
        """The servers' data stay inside `home` if the servers' users can get there. A tree under /root, say, cannot be
        entered by them: then `servers` is a link to a directory of the system's. Once chosen it stays."""
        if self._servers.is_dir():
            return
        if self._servers.is_symlink():
            self._servers.unlink()  # what it led to is gone
        if all(_can_enter(server_user(name), self.home) for name in SERVER_USERS):
            self._servers.mkdir(mode=0o755)
            self._servers.chmod(0o755)
            return
        SYSTEM_STATE.mkdir(mode=0o755, exist_ok=True)
        directory = Path(tempfile.mkdtemp(dir=SYSTEM_STATE))
        directory.chmod(0o755)
        self._servers.symlink_to(directory)

    def server_directory(self, name):
        """The directory of one server, owned by its user; without links, as its user may not be able to follow them."""
        path = self._servers.resolve() / name
        if not path.is_dir():
            path.mkdir(mode=0o700)
            user = server_user(name)
            if user:
                os.chown(path, user.pw_uid, user.pw_gid)
        return path

    def log_file(self, name):
        return self.log / f"{name}.log"

    # --- secrets ---------------------------------------------------------------------------------------------------
    def secret_file(self, name):
        """The file that holds the secret, made at the first call. Hex, so that it needs no quoting anywhere. Of several
        who make it at the same moment, one wins."""
        path = self.secrets / name
        if not path.exists():
            proposal = self.secrets / f".{name}.{os.getpid()}.proposal"
            write_private(proposal, secrets.token_hex(24) + "\n")
            try:
                os.link(proposal, path)
            except FileExistsError:
                pass
            proposal.unlink()
        return path

    def secret(self, name):
        return self.secret_file(name).read_text().strip()

    # --- ports -----------------------------------------------------------------------------------------------------
    def ports(self):
        try:
            return json.loads(self._ports.read_text())
        except (FileNotFoundError, ValueError):
            return {}

    def port(self, name, in_use=False):
        """The port of `name`: always the same one, unless somebody else has taken it meanwhile. `in_use`: by us."""
        ports = self.ports()
        if name in ports and (in_use or _port_is_free(ports[name])):
            return ports[name]
        others = set(ports.values())
        choice = next((port for port in random.sample(range(PORT_FIRST, PORT_LAST), 500)
                       if port not in others and _port_is_free(port)), None)
        if choice is None:
            raise StackError(f"could not find a free port between {PORT_FIRST} and {PORT_LAST}")
        write_private(self._ports, json.dumps({**ports, name: choice}, indent=2) + "\n", mode=0o644)
        return choice

    @contextmanager
    def locked(self):
        """One `up` or `down` at a time."""
        with open(self.home / "lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def write_private(path, text, mode=0o600, owner=None):
    """Writes a whole file or nothing, never readable by more than `mode` says."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(file.fileno(), mode)
        if owner:
            os.fchown(file.fileno(), owner.pw_uid, owner.pw_gid)
        file.write(text)
    temporary.rename(path)


def _can_enter(user, directory):
    if user is None:
        return True
    return subprocess.run(["test", "-x", str(directory)], check=False, user=user.pw_uid, group=user.pw_gid,
                          extra_groups=[], cwd="/").returncode == 0


def _port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: TIME_WAIT is no obstacle
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
