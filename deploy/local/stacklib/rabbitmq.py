"""A private RabbitMQ node with an epmd of its own, all on the loopback. Its name never changes, as its data depend on
it; its ports may."""

import base64
import hashlib
import json
import os
import socket
import subprocess

from . import processes
from .layout import StackError, server_user, write_private

NAME = "rabbitmq"
EPMD = "epmd"
USER = "granary"
NODE = "granary@localhost"
SBIN = "/usr/lib/rabbitmq/bin"
CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{port}
load_definitions = {definitions}
log.file = false
log.console = true
log.console.level = warning
log.console.use_colors = off
log.connection.level = error
disk_free_limit.absolute = 64MB
# Segments of the log of quorum queues: the default of 512 MB a file is for bigger machines.
raft.wal_max_size_bytes = 67108864
"""


class RabbitMQ:
    def __init__(self, layout, vhosts=("granary",)):
        self.layout = layout
        self.vhosts = vhosts
        self._child = None

    @property
    def port(self):
        return self.layout.port(NAME, in_use=self.record is not None)

    @property
    def record(self):
        return processes.find(self.layout, NAME)

    def start(self):
        """Starts it unless it runs. Returns at once; wait_ready waits."""
        directory = self.layout.server_directory(NAME)
        user = server_user(NAME)
        self._start_epmd(directory, user)
        if self.record:
            return
        processes.end_users_of(directory)
        cookie = directory / ".erlang.cookie"
        if not cookie.exists():
            write_private(cookie, self.layout.secret("rabbitmq-cookie"), mode=0o400, owner=user)
        definitions = directory / "definitions.json"
        write_private(definitions, json.dumps(self.definitions(self.vhosts)), owner=user)
        write_private(directory / "rabbitmq.conf", CONFIGURATION.format(port=self.port, definitions=definitions),
                      owner=user)
        write_private(directory / "enabled_plugins", "[].\n", owner=user)
        self._child = processes.spawn(self.layout, NAME, [f"{SBIN}/rabbitmq-server"], self._environment(), user,
                                      directory)

    def _start_epmd(self, directory, user):
        if processes.find(self.layout, EPMD):
            return
        self._end_other_epmd()
        port = self.layout.port(EPMD)
        processes.spawn(self.layout, EPMD, ["epmd", "-port", port, "-address", "127.0.0.1"],
                        {"PATH": "/usr/bin:/bin", "HOME": str(directory)}, user, "/")
        processes.wait_until(lambda: _answers(port), 10, "epmd to answer")

    def wait_ready(self, seconds=90):
        def ready():
            if self._child and self._child.poll() is not None:
                raise StackError(f"rabbitmq ended with exit code {self._child.returncode}")
            return _answers(self.port, b"AMQP\x00\x00\x09\x01")

        processes.wait_until(ready, seconds, "rabbitmq to answer")

    def stop(self):
        for name, seconds in ((NAME, 60), (EPMD, 5)):
            record = processes.find(self.layout, name)
            if record:
                processes.end(self.layout, [record], seconds=seconds)
        self._end_other_epmd()

    def _end_other_epmd(self):
        """A node that misses its epmd starts another one by itself, which has no record. epmd ends on request only while
        no node is registered, so that this cannot hurt anybody."""
        port = self.layout.ports().get(EPMD)
        if port and not processes.find(self.layout, EPMD) and _answers(port):
            subprocess.run(["epmd", "-port", str(port), "-kill"], check=False, capture_output=True)

    def control(self, *arguments):
        """rabbitmqctl, which takes a second."""
        user = server_user(NAME)
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        answer = subprocess.run([f"{SBIN}/rabbitmqctl", *arguments], check=False, capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, env=self._environment(), cwd="/", **identity)
        if answer.returncode:
            raise StackError(f"rabbitmqctl {arguments[0]}: {answer.stderr.strip() or answer.stdout.strip()}")
        return answer.stdout

    def url(self, vhost="granary"):
        """An AMQP URL without the password."""
        return f"amqp://{USER}@127.0.0.1:{self.port}/{vhost}"

    def password_file(self):
        return self.layout.secret_file("rabbitmq")

    def _environment(self):
        directory = self.layout.server_directory(NAME)
        running = self.record is not None
        return {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(directory),
            "RUNNING_UNDER_SYSTEMD": "true",  # the script becomes the node, instead of watching over it
            "RABBITMQ_NODENAME": NODE,
            "RABBITMQ_MNESIA_BASE": str(directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(directory),
            "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_DIST_PORT": str(self.layout.port("rabbitmq-dist", in_use=running)),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_PORT": str(self.layout.port(EPMD, in_use=processes.find(self.layout, EPMD) is not None)),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }

    def definitions(self, vhosts):
        """What the node reads at each start, and on request. What is there already is left alone."""
        return {
            "users": [{"name": USER, "password_hash": _password_hash(self.layout.secret("rabbitmq")), "tags": "",
                       "hashing_algorithm": "rabbit_password_hashing_sha256"}],
            "vhosts": [{"name": name} for name in vhosts],
            "permissions": [{"user": USER, "vhost": name, "configure": ".*", "write": ".*", "read": ".*"}
                            for name in vhosts],
        }


def _password_hash(password):
    """RabbitMQ's form: four bytes of salt, then SHA-256 of salt and password."""
    salt = os.urandom(4)
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


def _answers(port, greeting=b""):
    """Whether somebody listens there and, if greeted, says something."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(greeting)
            return not greeting or bool(connection.recv(1))
    except OSError:
        return False
