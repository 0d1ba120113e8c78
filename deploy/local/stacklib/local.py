"""The whole stack of one home: servers first, then the schema, then Granary's processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from . import processes, services
from .layout import Layout, StackError
from .postgres import NAME as POSTGRES, Postgres
from .rabbitmq import EPMD, NAME as RABBITMQ, RabbitMQ
from .radosgw import NAME as RADOSGW, PROCESSES as RADOSGW_PROCESSES, RadosGW
from .s3 import S3Client

SERVERS = (POSTGRES, RABBITMQ, EPMD)
BUCKET, PREFIX = "granary", "data"
OWNER = "granary_owner"
DATABASE = "granary"


def say(text):
    print(text, flush=True)


class LocalStack:
    """Objects are files in the home, or, with `s3`, live on a radosgw of the stack's own: decided when the home is made."""

    def __init__(self, home, binaries, vhosts=(DATABASE,), postgres_settings=None, s3=False):
        self.layout = Layout(home)
        self.s3 = s3 or (self.layout.home / "s3").exists()
        self.binaries = Path(binaries).absolute()
        self.postgres = Postgres(self.layout, postgres_settings)
        self.broker = RabbitMQ(self.layout, vhosts)
        self.objects = RadosGW(self.layout)

    # --- servers ---------------------------------------------------------------------------------------------------
    def start_servers(self):
        self.layout.create()
        fresh = [server.record is None for server in (self.postgres, self.broker)]
        self.postgres.start()
        self.broker.start()
        for name, server, started in ((POSTGRES, self.postgres, fresh[0]), (RABBITMQ, self.broker, fresh[1])):
            self._explain(name, server.wait_ready)
            say(f"  {name:<18} {'started' if started else 'runs already'}, port {server.port}")
        if self.s3:
            self._start_objects()
        self.postgres.sql(f"""
            do $$ begin
                if not exists (select from pg_roles where rolname = '{OWNER}') then
                    create role {OWNER} login createrole createdb;
                end if;
            end $$;
            alter role {OWNER} password '{self.layout.secret(f'postgres-{OWNER}')}';""")

    def _start_objects(self):
        started = self.objects.record is None
        self._explain(RADOSGW, self.objects.start)
        self.s3_client().create_bucket(BUCKET)
        (self.layout.home / "s3").touch()
        say(f"  {RADOSGW:<18} {'started' if started else 'runs already'}, port {self.objects.port}")

    def s3_client(self):
        return S3Client(self.objects.endpoint, *self.objects.credentials())

    def store_settings(self):
        if not self.s3:
            return {"GRANARY_STORE_URL": f"file://{self.layout.store}"}
        return {"GRANARY_STORE_URL": self.objects.url(BUCKET, PREFIX),
                "GRANARY_STORE_ACCESS_KEY_ID": self.objects.credentials()[0],
                "GRANARY_STORE_SECRET_ACCESS_KEY_FILE": str(self.objects.secret_file())}

    def objects_below(self, part):
        """Keys of the store, relative to it, that have `part` between slashes."""
        if self.s3:
            keys = (key.removeprefix(f"{PREFIX}/") for key in self.s3_client().objects(BUCKET, f"{PREFIX}/"))
        else:
            keys = (str(path.relative_to(self.layout.store)) for path in self.layout.store.rglob("*.parquet"))
        return {key for key in keys if part in key.split("/")}

    def stop_servers(self):
        self.objects.stop()
        self.postgres.stop()
        self.broker.stop()

    def create_database(self, name):
        if not self.postgres.sql(f"select 1 from pg_database where datname = '{name}'"):
            self.postgres.sql(f'create database "{name}" owner {OWNER}')

    def migrate(self, database=DATABASE):
        env = {**services.BASE_ENVIRONMENT, **services.migrate_settings(self.postgres, database)}
        answer = subprocess.run([self.binary("granary"), "migrate"], check=False, env=env, capture_output=True,
                                text=True, stdin=subprocess.DEVNULL)
        if answer.returncode:
            raise StackError(f"granary migrate: exit code {answer.returncode}: {(answer.stderr or answer.stdout).strip()}")
        return answer.stdout.strip()

    def set_passwords(self):
        """The migration makes the roles of the services; their passwords are the stack's."""
        made = self.postgres.sql("select rolname from pg_roles where rolname like 'granary\\_%'").split()
        self.postgres.sql("".join(
            f"alter role {role} login password '{self.layout.secret(f'postgres-{role}')}';\n"
            for role in made if role != OWNER))

    # --- Granary's processes ---------------------------------------------------------------------------------------
    def binary(self, name):
        path = self.binaries / name
        if not path.exists():
            raise StackError(f"could not find {path}; hint: make all")
        return str(path)

    def environment(self, process, listen=True):
        layout = self.layout
        env = {
            **services.BASE_ENVIRONMENT,
            **services.connection_settings(process.name, self.postgres, self.broker, services.tokens_file(layout),
                                           self.store_settings()),
            **services.settings_from_file(layout.settings),
            **services.callers_settings(),
        }
        if listen:
            env["GRANARY_HTTP_LISTEN"] = f"127.0.0.1:{self.port(process)}"
        return env

    def client_environment(self):
        admin, intake = (next(p for p in services.SERVICES if p.name == name) for name in ("admin", "intake"))
        return services.client_settings(self.port(admin), self.port(intake),
                                        self.layout.secret_file("token-operator"))

    def port(self, process):
        return self.layout.port(process.name, in_use=processes.find(self.layout, process.name) is not None)

    def start_processes(self, table):
        """Starts those that do not run or would be started differently now, then waits for all of them."""
        children = {process.name: self._start(process) for process in table}
        for process in table:
            child = children[process.name]
            self._explain(process.name, lambda process=process, child=child: self._wait_ready(process, child))
            say(f"  {process.name:<18} {'started' if child else 'runs already'}, port {self.port(process)}")

    def _start(self, process):
        binary = self.binary(f"granary-{process.name}")
        argv = [binary] + (["--every", services.JOB_INTERVAL] if process.kind == services.JOB else [])
        env = self.environment(process)
        fingerprint = services.fingerprint(binary, argv, env)
        record = processes.find(self.layout, process.name)
        if record and record.fingerprint == fingerprint:
            return None
        if record:
            processes.end(self.layout, [record])
        return processes.spawn(self.layout, process.name, argv, env, fingerprint=fingerprint)

    def _wait_ready(self, process, child, seconds=45):
        port = self.port(process)

        def ready():
            if child and child.poll() is not None:
                raise StackError(f"{process.name} ended with exit code {child.returncode}")
            return services.is_ready(port)

        try:
            processes.wait_until(ready, seconds, f"{process.name} to become ready")
        except StackError as error:
            answer = services.ask(port, "/readyz")
            raise StackError(f"{error}; /readyz says {answer[0]}: {answer[1].strip()}" if answer else str(error)) from None

    def stop_processes(self, names):
        records = [record for record in processes.find_all(self.layout) if record.name in names]
        for record in records:
            say(f"  {record.name:<18} stopping")
        processes.end(self.layout, records)

    def _explain(self, name, wait):
        """A failure to start comes with the last lines of the log."""
        try:
            wait()
        except StackError as error:
            tail = "\n".join(f"    {line}" for line in processes.log_tail(self.layout, name))
            raise StackError(f"{error}\n  {self.layout.log_file(name)} ends with\n{tail}") from None

    # --- all of it -------------------------------------------------------------------------------------------------
    def up(self, jobs=True):
        self.layout.create()
        with self.layout.locked():
            say(f"stack in {self.layout.home}")
            self.start_servers()
            self.create_database(DATABASE)
            done = self.migrate()
            self.set_passwords()
            say(f"  {'schema':<18} {done.splitlines()[-1] if done else 'up to date'}")
            if not jobs:
                self.stop_processes([process.name for process in services.JOBS])
            self.start_processes(services.PROCESSES if jobs else services.SERVICES)

    def down(self):
        if not self.layout.home.is_dir():
            return
        with self.layout.locked():
            # Everything with a record, also what an older tree called otherwise; jobs first, as nobody waits for them.
            names = {record.name for record in processes.find_all(self.layout)} - {*SERVERS, *RADOSGW_PROCESSES}
            jobs = {process.name for process in services.JOBS}
            self.stop_processes(names & jobs)
            self.stop_processes(names - jobs)
            self.stop_servers()

    def crash(self):
        """SIGKILL for everything, as a power cut would have it. For tests."""
        processes.end(self.layout, processes.find_all(self.layout), how=signal.SIGKILL)

    def states(self):
        """(name, record or None, port or None, ready) of each process and server."""
        ports = self.layout.ports()
        rows = []
        servers = SERVERS + (RADOSGW_PROCESSES if self.s3 else ())
        for name in servers + tuple(process.name for process in services.PROCESSES):
            record = processes.find(self.layout, name)
            port = ports.get(name)
            ready = record is not None and (name in servers or services.is_ready(port))
            rows.append((name, record, port, ready))
        return rows


def default_stack():
    """STORE=s3 has a home of its own beside the default one, as a catalog belongs to one store."""
    tree = Path(__file__).resolve().parents[3]
    kind = os.environ.get("STORE") or "file"
    if kind not in ("file", "s3"):
        raise StackError(f"expected STORE=file or STORE=s3 but found {kind!r}")
    return LocalStack(os.environ.get("GRANARY_HOME") or tree / (".granary-s3" if kind == "s3" else ".granary"),
                      os.environ.get("GRANARY_BIN") or tree / "build/release/bin", s3=kind == "s3")


def fail(error):
    print(f"stack: {error}", file=sys.stderr)
    return 1
