"""The store's calls, driven one by one through a tool of C."""

import json
import subprocess

from .servers import build_directory

MIB = 1 << 20
PART = 5 * MIB
SETTINGS = {"GRANARY_STORE_RETRY_FOR": "60s", "GRANARY_STORE_STALL_TIMEOUT": "20s", "GRANARY_STORE_PART_SIZE": "5MiB"}
IMPATIENT = {"GRANARY_STORE_STALL_TIMEOUT": "1s"}


class Store:
    """The store's calls, each by a process of its own."""

    def __init__(self, settings):
        self.settings = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "AWS_EC2_METADATA_DISABLED": "true", **SETTINGS, **settings}

    def run(self, *arguments, input="", env=None, seconds=120):
        return subprocess.run([f"{build_directory()}/tools/store", *map(str, arguments)], input=input, text=True,
                              env={**self.settings, **(env or {})}, capture_output=True, check=False, timeout=seconds)

    def ask(self, *arguments, **options):
        """What a call prints that must succeed."""
        answer = self.run(*arguments, **options)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    def fail(self, *arguments, **options):
        """What a call says that must fail."""
        answer = self.run(*arguments, **options)
        assert answer.returncode == 1, answer.stdout
        return answer.stderr

    def start(self, *arguments):
        return subprocess.Popen([f"{build_directory()}/tools/store", *map(str, arguments)], env=self.settings,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def put(self, key, size, seed=1, **options):
        """The SHA-256 of what was written."""
        return self.ask("put", key, size, seed, **options).split()[0]

    def delete(self, keys, **options):
        """(outcome, error) of each key."""
        lines = self.ask("delete", input="".join(f"{key}\n" for key in keys), **options).splitlines()
        assert len(lines) == len(keys)
        found = []
        for line, key in zip(lines, keys):
            outcome, _, rest = line.partition(" ")
            assert rest.startswith(key)
            found.append((outcome, rest[len(key) + 1:]))
        return found

    def keys(self, prefix="", page=1000):
        lines = self.ask("list", prefix, "", page, 10000).splitlines()
        assert lines[-1] == "end"
        return [json.loads(line.partition(" ")[2]) for line in lines[:-1]]
