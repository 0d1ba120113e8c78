"""Starting, recognising and ending processes.

Each process has a record, run/<name>.json: pid, start time and boot. A pid alone may be somebody else's by now; the three
together are one process for ever. The child writes the record itself before it becomes the program, so that there is no
moment at which a process runs without one, whatever happens to us.
"""

import json
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass

from .layout import StackError

LOG_KEPT_BYTES = 64 << 20


@dataclass(frozen=True)
class Record:
    name: str
    pid: int
    start: int  # clock ticks between boot and start
    boot: str
    fingerprint: str  # of what was started: a change means that it must be restarted

    @property
    def alive(self):
        return self.boot == _boot_id() and _start_time(self.pid) == self.start


def wait_until(predicate, seconds, what, interval=0.05):
    """Asks until the predicate says something true, and returns that. The one home of waiting."""
    deadline = time.monotonic() + seconds
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise StackError(f"expected {what} within {seconds:g} s")
        time.sleep(interval)


def find(layout, name):
    """The record of a process that lives, or None."""
    try:
        record = Record(**json.loads(_record_file(layout, name).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return record if record.alive else None


def find_all(layout):
    names = sorted(path.stem for path in layout.run.glob("*.json"))
    return [record for record in (find(layout, name) for name in names) if record]


def spawn(layout, name, argv, env, user=None, cwd="/", fingerprint=""):
    """Starts a process of its own session with its output going to log/<name>.log. Returns its Popen: when it ends while
    we look on, poll() tells."""
    record = os.open(_record_file(layout, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    log = _open_log(layout.log_file(name))

    def write_record():
        pid = os.getpid()
        os.write(record, json.dumps({"name": name, "pid": pid, "start": _start_time(pid), "boot": _boot_id(),
                                     "fingerprint": fingerprint}).encode())

    identity = {"user": user.pw_uid, "group": user.pw_gid,
                "extra_groups": os.getgrouplist(user.pw_name, user.pw_gid)} if user else {}
    try:
        return subprocess.Popen([str(part) for part in argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, start_new_session=True, preexec_fn=write_record, **identity)
    except OSError as error:
        raise StackError(f"could not start {name}: {error}") from None
    finally:
        os.close(record)
        os.close(log)


def end(layout, records, how=signal.SIGTERM, seconds=20):
    """Ends these processes and no others: first by `how`, all at once; those that are still there after the time, by
    SIGKILL."""
    watched = []
    for record in records:
        descriptor = _open_process(record)
        if descriptor is not None:
            watched.append((record, descriptor))
            signal.pidfd_send_signal(descriptor, how)
    deadline = time.monotonic() + seconds
    for record, descriptor in watched:
        if not _ended(descriptor, deadline - time.monotonic()):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            _ended(descriptor, 10)
        os.close(descriptor)
    for record in records:
        _record_file(layout, record.name).unlink(missing_ok=True)


def end_users_of(directory, seconds=10):
    """Waits for the processes whose working directory this is, and ends those that stay. Servers work in their data
    directory, so whoever is there without a record is what a killed server left behind."""
    try:
        wait_until(lambda: not users_of(directory), seconds, "leftover processes to end")
    except StackError:
        for pid in users_of(directory):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not users_of(directory), 10, f"processes in {directory} to end")


def users_of(directory):
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _working_directory(pid) == str(directory)]


def log_tail(layout, name, lines=15):
    try:
        with open(layout.log_file(name), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 16384))
            return file.read().decode(errors="replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def _record_file(layout, name):
    return layout.run / f"{name}.json"


def _open_log(path):
    if path.exists() and path.stat().st_size > LOG_KEPT_BYTES:
        path.rename(path.with_suffix(".log.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _open_process(record):
    """A descriptor of exactly this process, or None when it has ended."""
    try:
        descriptor = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return None
    if record.alive:
        return descriptor
    os.close(descriptor)
    return None


def _ended(descriptor, seconds):
    return bool(select.select([descriptor], [], [], max(0, seconds))[0])


def _start_time(pid):
    """None when there is no such process, or only its exit code is left of it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _boot_id():
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _working_directory(pid):
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None
