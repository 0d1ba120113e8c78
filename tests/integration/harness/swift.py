"""A second S3 server, unlike the first: OpenStack Swift with its s3api. It refuses conditional writes and bulk deletes
without a Content-MD5, and takes a signature apart to the last letter."""

import subprocess

from stacklib import processes
from stacklib.layout import server_user
from stacklib.s3 import S3Client

USER = "swift"
REGION = "us-east-1"
KEY, SECRET = "granary:key", "secret"
PROXY, MEMCACHED = "swift-proxy", "swift-memcached"
STORAGE = ("account", "container", "object")
HASH = """\
[swift-hash]
swift_hash_path_prefix = granary
swift_hash_path_suffix = granary
[storage-policy:0]
name = one
default = yes
"""
SERVER = """\
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {directory}
devices = {directory}/devices
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
log_level = WARNING
log_address = /nonexistent
"""
STORAGE_PIPELINE = """\
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
PROXY_PIPELINE = """\
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats bulk s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:tempauth]
use = egg:swift#tempauth
user_granary_key = secret .admin
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memcached}
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
"""


class Swift:
    def __init__(self, layout):
        self.layout = layout

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self._port(PROXY)}"

    def credentials(self):
        return KEY, SECRET

    def url(self, bucket, prefix=""):
        return f"s3://{bucket}/{prefix}?endpoint={self.endpoint}&region={REGION}"

    def start(self, seconds=120):
        directory = self.layout.server_directory(USER)
        if not (directory / "object.ring.gz").exists():
            self._make(directory)
        self._run(MEMCACHED, "memcached", "-l", "127.0.0.1", "-p", str(self._port(MEMCACHED)), "-m", "16")
        for kind in STORAGE:
            self._run(f"swift-{kind}", f"swift-{kind}-server", str(directory / f"{kind}.conf"))
        self._run(PROXY, "swift-proxy-server", str(directory / "proxy.conf"))
        processes.wait_until(self._answers, seconds, "swift to answer")

    def _make(self, directory):
        (directory / "devices").mkdir()
        (directory / "devices" / "d1").mkdir()
        self._write(directory / "swift.conf", HASH)
        for kind in STORAGE:
            port = self._port(f"swift-{kind}")
            self._write(directory / f"{kind}.conf", self._server(port) + STORAGE_PIPELINE.format(kind=kind))
            for arguments in (("create", "4", "1", "1"),
                              ("add", "--region", "1", "--zone", "1", "--ip", "127.0.0.1", "--port", str(port),
                               "--device", "d1", "--weight", "1"),
                              ("rebalance",)):
                answer = subprocess.run(["swift-ring-builder", f"{kind}.builder", *arguments], cwd=directory, check=False,
                                        capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
                assert answer.returncode in (0, 1), answer.stdout + answer.stderr  # 1 is a warning
        self._write(directory / "proxy.conf",
                    self._server(self._port(PROXY)) + PROXY_PIPELINE.format(memcached=self._port(MEMCACHED)))
        user = server_user(USER)
        if user:
            subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", str(directory)], check=True)

    def _server(self, port):
        user = server_user(USER)
        return SERVER.format(port=port, directory=self.layout.server_directory(USER),
                             user=user.pw_name if user else subprocess.getoutput("id -un"))

    def _write(self, path, text):
        path.write_text(text)

    def _port(self, name):
        return self.layout.port(name, in_use=processes.find(self.layout, name) is not None)

    def _run(self, name, *argv):
        if processes.find(self.layout, name) is None:
            directory = self.layout.server_directory(USER)
            processes.spawn(self.layout, name, argv, {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(directory)},
                            server_user(USER), directory)

    def _answers(self):
        try:
            return S3Client(self.endpoint, KEY, SECRET, REGION).request("GET", "/")[0] == 200
        except OSError:
            return False
