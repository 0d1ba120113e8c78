"""Granary's own processes: one table, and the environment that each gets."""

import hashlib
import http.client
import json
import os
from dataclasses import dataclass

from .layout import write_private

SERVICE, JOB = "service", "job"
JOB_INTERVAL = "30s"


@dataclass(frozen=True)
class Process:
    name: str  # the binary is granary-<name>, its database role granary_<name>
    kind: str

    @property
    def role(self):
        return database_role(self.name)


# In the order of start. intake comes before the deleters: it marks the store as this deployment's.
PROCESSES = (
    Process("admin", SERVICE),
    Process("intake", SERVICE),
    Process("merge-controller", SERVICE),
    Process("rewriter", SERVICE),
    Process("reaper", SERVICE),
    Process("decay", JOB),
    Process("merge-cleanup", JOB),
    Process("reap-collection", JOB),
    Process("partition-cleaner", JOB),
)
SERVICES = tuple(process for process in PROCESSES if process.kind == SERVICE)
JOBS = tuple(process for process in PROCESSES if process.kind == JOB)

# Names of the environment that are ours, not settings of a process.
OURS = ("GRANARY_HOME", "GRANARY_BIN")
# Bearer tokens of the stack: name and roles.
TOKENS = {"operator": ["read", "write", "operate"], "writer": ["write"], "reader": ["read"]}


def database_role(name):
    return "granary_" + name.replace("-", "_")


# All that a process inherits.
BASE_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}


def callers_settings():
    """The GRANARY_* settings that whoever called us has set."""
    return {name: value for name, value in os.environ.items() if name.startswith("GRANARY_") and name not in OURS}


def connection_settings(name, postgres, broker, tokens_file, store, database="granary", vhost="granary"):
    """The settings that connect the process `name` to everything that it may know. `store`: those of the object store."""
    role = database_role(name)
    return {
        "GRANARY_CATALOG_URL": postgres.url(role, database) + f" application_name=granary-{name}",
        "GRANARY_CATALOG_PASSWORD_FILE": str(postgres.layout.secret_file(f"postgres-{role}")),
        "GRANARY_BUS_URL": broker.url(vhost),
        "GRANARY_BUS_PASSWORD_FILE": str(broker.password_file()),
        **store,
        "GRANARY_TOKENS_FILE": str(tokens_file),
    }


def client_settings(admin_port, intake_port, token_file):
    """What the command line wants to know."""
    return {
        "GRANARY_URL": f"http://127.0.0.1:{admin_port}",
        "GRANARY_INTAKE_URL": f"http://127.0.0.1:{intake_port}",
        "GRANARY_TOKEN_FILE": str(token_file),
    }


def migrate_settings(postgres, database="granary"):
    """`granary migrate` works as the owner of the database. The password is libpq's business."""
    owner = "granary_owner"
    passwords = postgres.layout.secrets / "pgpass"
    write_private(passwords, f"127.0.0.1:*:*:{owner}:{postgres.layout.secret(f'postgres-{owner}')}\n")
    return {"GRANARY_MIGRATE_URL": postgres.url(owner, database), "PGPASSFILE": str(passwords)}


def tokens_file(layout):
    """The file of hashes that the services read; the tokens themselves are secrets of their own."""
    lines = [json.dumps({"name": name, "sha256": hashlib.sha256(layout.secret(f"token-{name}").encode()).hexdigest(),
                         "roles": roles}) for name, roles in TOKENS.items()]
    text = "\n".join(lines) + "\n"
    path = layout.secrets / "tokens.jsonl"
    if not path.exists() or path.read_text() != text:
        write_private(path, text)
    return path


def settings_from_file(path):
    """NAME=VALUE lines for all processes; # begins a comment line."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def fingerprint(binary, argv, env):
    """Changes when the process would start as something else than what runs."""
    status = os.stat(binary)
    parts = [status.st_mtime_ns, status.st_size, *argv[1:], *sorted(env.items())]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def ask(port, path, timeout=5):
    """GET from one of the processes: status and text, or None when nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def is_ready(port):
    answer = ask(port, "/readyz")
    return answer is not None and answer[0] == 200
