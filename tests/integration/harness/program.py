"""A binary that a test has started."""

import http.client
import json
import re
import signal
import subprocess
from pathlib import Path

from stacklib.layout import StackError
from stacklib.processes import wait_until

DRAIN_SECONDS = 120
SANITIZERS = re.compile(r"(ERROR|WARNING): (Address|Thread|Leak)Sanitizer|runtime error:")


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


def peak_kib(process):
    """The most memory that a running process has had resident. (What wait4 and getrusage tell counts whoever started it, too.)"""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise RuntimeError(f"could not find VmHWM of process {process.pid}")


class Program:
    """Its files stand in one directory: <name>.log, .port, .fired."""

    def __init__(self, name, argv, env, directory, fault=None):
        self.name = name
        self._port_file = Path(directory, f"{name}.port")
        self._fired_file = Path(directory, f"{name}.fired")
        self.log_file = Path(directory, f"{name}.log")
        env = {**env, "GRANARY_HTTP_LISTEN": "127.0.0.1:0", "GRANARY_HTTP_PORT_FILE": str(self._port_file)}
        if fault:
            env.update(GRANARY_FAULT=fault, GRANARY_FAULT_FIRED=str(self._fired_file))
        self.faulty = fault is not None
        self.killed = False
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")

    # --- its life --------------------------------------------------------------------------------------------------
    @property
    def running(self):
        return self.process.poll() is None

    def wait_ready(self, seconds=120):
        """Until /readyz says 200."""
        last = "nothing yet"

        def ready():
            nonlocal last
            assert self.running, f"{self.name} ended with {self.process.returncode}:\n{self.tail()}"
            try:
                last = self.request("GET", "/readyz") if self._port_file.exists() else last
            except (OSError, http.client.HTTPException) as error:
                last = error
            return getattr(last, "status", None) == 200

        try:
            wait_until(ready, seconds, f"{self.name} to become ready")
        except StackError as error:
            raise AssertionError(f"{error}; /readyz says {last}") from None
        return self

    def wait_exit(self, seconds=DRAIN_SECONDS):
        """Its exit code; negative for a signal."""
        return self.process.wait(seconds)

    def ask_to_stop(self):
        if self.running:
            self.process.send_signal(signal.SIGTERM)

    def stop(self, seconds=DRAIN_SECONDS):
        """SIGTERM. Returns the exit code; a service that drained says 0."""
        self.ask_to_stop()
        return self.wait_stopped(seconds)

    def wait_stopped(self, seconds=DRAIN_SECONDS):
        """As stop, for one that has been asked."""
        try:
            return self.wait_exit(seconds)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise AssertionError(f"{self.name} did not end within {seconds} s of SIGTERM:\n{self.tail()}") from None

    def kill9(self):
        self.killed = True
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    # --- what it says ----------------------------------------------------------------------------------------------
    @property
    def port(self):
        return int(self._port_file.read_text().strip().rpartition(":")[2])

    def request(self, method, path, body=None, headers=None, token=None, timeout=240):
        """One HTTP request. `body` may be bytes, text, or anything that becomes JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def metric(self, name, **labels):
        """The sum over all series of that name that have these labels; 0 when there is none."""
        total = 0.0
        for line in self.request("GET", "/metrics").text.splitlines():
            found = re.fullmatch(r"([\w:]+)(?:\{(.*)\})? (\S+)", line)
            if found and found[1] == name:
                there = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
                if all(there.get(label) == str(value) for label, value in labels.items()):
                    total += float(found[3])
        return total

    def fired(self):
        """The fault points that fired, in order."""
        return self._fired_file.read_text().split() if self._fired_file.exists() else []

    def log(self, **fields):
        """The log's lines as dicts; those whose fields are these."""
        lines = []
        for text in self.log_file.read_text(errors="replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                line = {"level": "raw", "message": text}
            if all(line.get(name) == value for name, value in fields.items()):
                lines.append(line)
        return lines

    def tail(self, lines=25):
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

    def unexpected(self, allowed):
        """Lines that a passing test must not leave: errors that it did not announce, and whatever a sanitizer found."""
        for line in self.log():
            text = json.dumps(line)
            if line["level"] == "raw" and SANITIZERS.search(line["message"]):
                yield line["message"]
            elif line["level"] == "error" and not any(re.search(pattern, text) for pattern in allowed):
                yield text
