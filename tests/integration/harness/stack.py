"""What a test holds in its hands: a database, a vhost, a store and whatever it starts on them."""

import itertools
import json
import os
import subprocess
from pathlib import Path

import pika
import psycopg2
import psycopg2.extras
from stacklib import services
from stacklib.processes import wait_until

from .contents import MARKER, FolderContents
from .program import Program
from .proxy import Proxy

ADMIN, INTAKE = "admin", "intake"
_numbers = itertools.count()


class Stack:
    """`contents`: of the store, where it is not a folder of this test's own."""

    def __init__(self, servers, directory, contents=None):
        self.servers = servers
        self.directory = Path(directory)
        self.store = self.directory / "store"
        self.store.mkdir()
        self.contents = contents or FolderContents(self.store)
        self.database = f"test_{os.getpid()}_{next(_numbers)}"
        self.vhost = servers.take_vhost()
        servers.create_database(self.database)
        self.programs = []
        self.allowed_errors = []
        self._proxies = {}
        self._connections = {}
        self._channel = None

    # --- programs --------------------------------------------------------------------------------------------------
    def service(self, name, env=None, fault=None, wait=None):
        """Starts a service and waits until it is ready, unless it is to run into a fault."""
        program = self._start(name, [], env, fault)
        if wait if wait is not None else fault is None:
            program.wait_ready()
        return program

    def job(self, name, *arguments, env=None, fault=None, expect=0, seconds=240):
        """Runs a job once. `expect` is the exit code it must have: None for any, -9 for killed."""
        program = self._start(name, arguments, env, fault)
        code = program.wait_exit(seconds)
        assert expect is None or code == expect, f"{name}: expected exit code {expect}, not {code}:\n{program.tail()}"
        return program

    def begin(self, name, *arguments, env=None, fault=None):
        """Starts a job and does not wait for its end."""
        return self._start(name, arguments, env, fault)

    def cli(self, *arguments, input=None, expect=0, env=None, token="operator", seconds=240):
        """Runs the command line against this stack's services. Returns what it printed."""
        settings = {**services.BASE_ENVIRONMENT, "GRANARY_TOKEN_FILE": str(self._token_file(token))}
        for name, variable in ((ADMIN, "GRANARY_URL"), (INTAKE, "GRANARY_INTAKE_URL")):
            running = self.find(name)
            if running:
                settings[variable] = f"http://127.0.0.1:{running.port}"
        answer = subprocess.run([self._binary("granary"), *map(str, arguments)], env={**settings, **(env or {})},
                                input=input, text=True, capture_output=True, check=False, timeout=seconds)
        assert expect is None or answer.returncode == expect, (
            f"granary {' '.join(map(str, arguments))}: expected exit code {expect}, not {answer.returncode}:\n"
            f"{answer.stdout}\n{answer.stderr}")
        return answer.stdout if expect == 0 else answer.stdout + answer.stderr

    def cli_json(self, *arguments, **options):
        return json.loads(self.cli(*arguments, "--output", "json", **options))

    def find(self, name):
        """The youngest running program of that name, or None."""
        return next((program for program in reversed(self.programs)
                     if program.service == name and program.running), None)

    def request(self, service, method, path, body=None, headers=None, token="operator", **options):
        """HTTP to a running service, as the holder of one of the tokens operator, writer, reader, or None."""
        return self.find(service).request(method, path, body, headers,
                                          self.token(token) if token else None, **options)

    def token(self, name="operator"):
        return self._token_file(name).read_text().strip()

    def environment(self, name):
        """The environment of a process of that name: its own role, this test's database, vhost and store."""
        layout = self.servers.layout
        env = {**services.BASE_ENVIRONMENT,
               **services.connection_settings(name, self.servers.local.postgres, self.servers.local.broker,
                                              services.tokens_file(layout), self.contents.settings(), self.database,
                                              self.vhost)}
        for variable, server in (("GRANARY_CATALOG_URL", "catalog"), ("GRANARY_BUS_URL", "bus")):
            if server in self._proxies:
                env[variable] = env[variable].replace(str(self._server_port(server)), str(self._proxies[server].port))
        return env

    def proxy(self, server):
        """The wire to "catalog" or "bus". Programs started from now on go through it."""
        if server not in self._proxies:
            self._proxies[server] = Proxy(self._server_port(server))
        return self._proxies[server]

    def allow_errors(self, *patterns):
        """Error lines of the log that this test provokes, as regular expressions."""
        self.allowed_errors += patterns

    # --- the catalog -----------------------------------------------------------------------------------------------
    def sql(self, text, parameters=None):
        """One statement as the owner. Returns its rows as dicts."""
        return self.sql_as("granary_owner", text, parameters)

    def sql_as(self, role, text, parameters=None):
        """One statement as another role: "granary_reaper"; "postgres" is the superuser."""
        with self.connection(role).cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            cursor.execute(text, parameters)
            return [dict(row) for row in cursor.fetchall()] if cursor.description else []

    def sql_value(self, text, parameters=None):
        """The only column of the only row."""
        rows = self.sql(text, parameters)
        assert len(rows) == 1 and len(rows[0]) == 1, f"expected one value but found {rows}"
        return next(iter(rows[0].values()))

    def connection(self, role="granary_owner", fresh=False):
        """A connection that commits each statement; `fresh` for one of its own."""
        if fresh or role not in self._connections:
            connection = psycopg2.connect(self.servers.local.postgres.url(role, self.database),
                                          password=self.servers.layout.secret(f"postgres-{role}"))
            connection.autocommit = True
            psycopg2.extras.register_uuid(conn_or_curs=connection)
            if fresh:
                return connection
            self._connections[role] = connection
        return self._connections[role]

    def reconnect(self):
        """After a server was stopped and started again: forgets what led to it."""
        self._connections.clear()
        self._channel = None

    # --- the broker ------------------------------------------------------------------------------------------------
    def channel(self):
        """A pika channel on this test's vhost, with confirms."""
        if self._channel is None or self._channel.is_closed:
            broker = self.servers.local.broker
            connection = pika.BlockingConnection(pika.ConnectionParameters(
                "127.0.0.1", broker.port, self.vhost,
                pika.PlainCredentials("granary", self.servers.layout.secret("rabbitmq")), heartbeat=0))
            self._channel = connection.channel()
            self._channel.confirm_delivery()
        return self._channel

    def publish(self, queue, body, exchange="", **properties):
        """One persistent message. `body` may be bytes, text, or anything that becomes JSON."""
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        self.channel().basic_publish(exchange, queue, body, pika.BasicProperties(delivery_mode=2, **properties),
                                     mandatory=True)

    def queue_length(self, queue):
        """Messages that are ready; None when there is no such queue."""
        try:
            return self.channel().queue_declare(queue, passive=True).method.message_count
        except pika.exceptions.ChannelClosedByBroker:
            return None

    def messages(self, queue):
        """Takes all messages out of a queue: (properties, body) of each."""
        taken = []
        while True:
            method, properties, body = self.channel().basic_get(queue, auto_ack=True)
            if method is None:
                return taken
            taken.append((properties, body))

    # --- the store -------------------------------------------------------------------------------------------------
    def objects(self):
        """The keys of the partition files in the store, sorted. Temporary names do not count."""
        return [key for key in self.contents.keys() if key.endswith(".parquet")]

    def mark(self):
        """Writes the marker that a writer would have written, for tests that start no writer."""
        deployment = str(self.sql_value("select deployment_id from granary.deployment"))
        self.contents.write(MARKER, json.dumps({"deployment_id": deployment}).encode())

    # --- its end ---------------------------------------------------------------------------------------------------
    def finish(self, passed):
        """Ends everything. After a passing test: complains about what it left in the logs."""
        try:
            faults = list(self._stop_programs(passed))
        finally:
            self._close()
        if passed:
            for program in self.programs:
                faults += [f"{program.log_file.name}: {line}" for line in program.unexpected(self.allowed_errors)]
            assert not faults, "unexpected after a passing test:\n" + "\n".join(faults)
        else:
            for program in self.programs:
                print(f"--- {program.log_file}\n{program.tail()}")

    def _stop_programs(self, passed):
        """All at once: each waits for the last of its own."""
        running = [program for program in reversed(self.programs) if program.running]
        for program in running:
            program.resume()
            if passed:
                program.ask_to_stop()
            else:
                program.kill9()
        for program in running if passed else ():
            try:
                code = program.wait_stopped()
            except AssertionError as error:
                yield str(error)
                continue
            if code:
                yield f"{program.name} drained with exit code {code}"

    def _close(self):
        for program in self.programs:
            if program.running:
                program.kill9()
        for proxy in self._proxies.values():
            proxy.close()
        for connection in self._connections.values():
            connection.close()
        if self._channel and self._channel.connection.is_open:
            self._channel.connection.close()
        self.servers.drop_database(self.database)

    def _start(self, name, arguments, env, fault):
        number = sum(program.service == name for program in self.programs) + 1
        program = Program(f"{name}-{number}", [self._binary(f"granary-{name}"), *map(str, arguments)],
                          {**self.environment(name), **(env or {})}, self.directory, fault)
        program.service = name
        self.programs.append(program)
        return program

    def _binary(self, name):
        return self.servers.local.binary(name)

    def _token_file(self, name):
        return self.servers.layout.secret_file(f"token-{name}")

    def _server_port(self, server):
        local = self.servers.local
        return {"catalog": local.postgres, "bus": local.broker}[server].port


__all__ = ["Stack", "wait_until"]
