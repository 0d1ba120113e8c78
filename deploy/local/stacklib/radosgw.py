"""A private S3 server: Ceph's radosgw on one monitor and one OSD, all on the loopback and under one directory. Objects are
kept on disk, or, `in_memory`, as long as the OSD lives."""

import http.client
import os
import signal
import socket
import subprocess
import uuid

from . import processes
from .layout import StackError, server_user, write_private

NAME = "radosgw"
MON, OSD = "ceph-mon", "ceph-osd"
PROCESSES = (NAME, OSD, MON)
COMMANDS = {MON: ["ceph-mon", "-f", "-i", "a"], OSD: ["ceph-osd", "-f", "-i", "0"],
            NAME: ["radosgw", "-f", "-n", "client.rgw"]}
MOST_RESTARTS = 5
USER = "ceph"  # of all three, and the name of their directory
REGION = "us-east-1"
CONFIGURATION = """\
[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{mon}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc secure
ms bind msgr2 = false
run dir = {directory}
admin socket =
pid file =
log file =
log to stderr = true
err to stderr = true
log flush on exit = false
debug none = 0
crash dir = {directory}

osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd crush chooseleaf type = 0
enable experimental unrecoverable data corrupting features = *

[mon]
mon data = {directory}/mon
mon allow pool delete = true
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data avail crit = 1
paxos propose interval = 0.05
paxos min wait = 0.01
mon cluster log to file = false

[osd]
osd data = {directory}/osd
osd objectstore = {objectstore}
osd class update on start = true
{more}

[client.rgw]
rgw data = {directory}/rgw
rgw frontends = beast {listen} tcp_nodelay=1
rgw enable apis = s3
rgw enable usage log = false
rgw enable ops log = false
rgw thread pool size = 64
rgw gc obj min wait = 5
rgw gc processor period = 5
rgw relaxed s3 bucket names = true

[client]
rgw dns name = localhost
"""
IN_MEMORY = "memstore device bytes = 4294967296\nmemstore page set = false"
ON_DISK = "bluestore block size = 21474836480\nbluestore fsck on mount = false"


class RadosGW:
    """`in_memory` counts when it is made. `tls`: a PEM file with key and certificate, for https."""

    def __init__(self, layout, in_memory=False, tls=None):
        self.layout = layout
        self._new_in_memory = in_memory
        self.tls = tls
        self._children = {}
        self._restarts = {}

    @property
    def record(self):
        return processes.find(self.layout, NAME)

    @property
    def port(self):
        return self.layout.port(NAME, in_use=self.record is not None)

    @property
    def endpoint(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def url(self, bucket, prefix=""):
        return f"s3://{bucket}/{prefix}?endpoint={self.endpoint}&region={REGION}&addressing=path"

    def credentials(self):
        """Key and secret; the same for as long as the directory lives."""
        return self.layout.secret("s3-access-key"), self.layout.secret("s3-secret-key")

    def secret_file(self):
        return self.layout.secret_file("s3-secret-key")

    # --- its life ----------------------------------------------------------------------------------------------------
    def start(self, seconds=120):
        """Starts what does not run, one after the other, and waits for all of it."""
        directory = self.layout.server_directory(USER)
        fresh = not (directory / "mon").is_dir()
        if fresh and self._new_in_memory:
            (directory / "in-memory").touch()
        self._configure(directory)
        if fresh:
            self._make_mon(directory)
        self._run(MON, COMMANDS[MON])
        if not (directory / "osd" / "ready").exists():
            self._make_osd(directory)
        self._run(OSD, COMMANDS[OSD])
        self._run(NAME, COMMANDS[NAME])
        processes.wait_until(self._answers, seconds, "radosgw to answer")
        if not (directory / "user").exists():
            key, secret = self.credentials()
            self._ceph("radosgw-admin", "user", "create", "--uid=granary", "--display-name=granary",
                       f"--access-key={key}", f"--secret-key={secret}", f"--max-buckets=0")
            write_private(directory / "user", "granary\n", owner=server_user(USER))

    @property
    def in_memory(self):
        return (self.layout.server_directory(USER) / "in-memory").exists()

    def stop(self):
        """An OSD with its objects in memory would write them all down first: it has no time for that."""
        for name in PROCESSES:
            record = processes.find(self.layout, name)
            if record:
                processes.end(self.layout, [record],
                              how=signal.SIGKILL if name == OSD and self.in_memory else signal.SIGTERM)

    # --- making it ---------------------------------------------------------------------------------------------------
    def _configure(self, directory):
        text = CONFIGURATION.format(
            fsid=_uuid(directory / "fsid"), directory=directory, mon=self._port(MON), port=self.port,
            objectstore="memstore" if self.in_memory else "bluestore", more=IN_MEMORY if self.in_memory else ON_DISK,
            listen=f"ssl_endpoint=127.0.0.1:{self.port} ssl_certificate={self.tls}" if self.tls else
            f"endpoint=127.0.0.1:{self.port}")
        write_private(directory / "ceph.conf", text, mode=0o644, owner=server_user(USER))

    def _make_mon(self, directory):
        self._make_folders(directory)
        self._ceph("ceph-mon", "--mkfs", "-i", "a", f"--mon-data={directory}/mon")

    def _make_osd(self, directory):
        """The monitor gives it its number, 0, and a place in its map."""
        osd_uuid = _uuid(directory / "osd-uuid")
        processes.wait_until(lambda: self._answered("ceph", "--connect-timeout=10", "osd", "new", osd_uuid), 90,
                             "the monitor to take an OSD", interval=0.5)
        self._ceph("ceph-osd", "--mkfs", "-i", "0", f"--osd-uuid={osd_uuid}")

    def _make_folders(self, directory):
        user = server_user(USER)
        for name in ("osd", "rgw"):
            path = directory / name
            path.mkdir(exist_ok=True)
            if user:
                os.chown(path, user.pw_uid, user.pw_gid)

    def _port(self, name):
        return self.layout.port(name, in_use=processes.find(self.layout, name) is not None)

    def _arguments(self):
        return ["-c", str(self.layout.server_directory(USER) / "ceph.conf")]

    def _environment(self):
        return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(self.layout.server_directory(USER))}

    def _ceph(self, *arguments):
        user = server_user(USER)
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        answer = subprocess.run([arguments[0], *self._arguments(), *arguments[1:]], check=False, capture_output=True,
                                text=True, stdin=subprocess.DEVNULL, env=self._environment(), cwd="/", timeout=120,
                                **identity)
        if answer.returncode:
            raise StackError(f"{' '.join(arguments[:3])}: {answer.stderr.strip() or answer.stdout.strip()}")
        return answer.stdout

    def _answered(self, *arguments):
        """A monitor that has not made up its mind yet refuses what it will take a moment later."""
        try:
            self._ceph(*arguments)
        except StackError:
            return False
        return True

    def _run(self, name, argv):
        if processes.find(self.layout, name) is None:
            self._children[name] = processes.spawn(self.layout, name, [argv[0], *self._arguments(), *argv[1:]],
                                                   self._environment(), server_user(USER),
                                                   self.layout.server_directory(USER))

    def _answers(self):
        """Whether requests are answered. A daemon that finds no monitor in time ends; it is started again a few times."""
        for name, child in list(self._children.items()):
            if child.poll() is not None:
                self._restarts[name] = self._restarts.get(name, 0) + 1
                if self._restarts[name] > MOST_RESTARTS:
                    raise StackError(f"{name} ended with exit code {child.returncode}")
                self._run(name, COMMANDS[name])
        if self.tls:
            return _listens(self.port)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status in (200, 403)
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _uuid(path):
    """The one in the file, made at the first call: what was begun is gone on with."""
    if not path.exists():
        write_private(path, f"{uuid.uuid4()}\n", owner=server_user(USER))
    return path.read_text().strip()


def _listens(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
    except OSError:
        return False
