"""Other readers and writers of Parquet, run by Node. Installed at the first call, as package-lock.json says."""

import fcntl
import hashlib
import json
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class PeerError(Exception):
    """A peer failed; the text says how."""


def install():
    """Once for each state of the lock file; of several processes that want it, one does it."""
    wanted = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    done = HERE / "node_modules/.granary-lock-sha256"
    with open(HERE / "package.json") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if done.exists() and done.read_text() == wanted:
            return
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        done.write_text(wanted)


class DuckDB:
    """A database in memory that lives as long as the `with`: what one question makes, the next one finds."""

    def __init__(self, threads=1):
        self._threads = threads

    def __enter__(self):
        self._node = subprocess.Popen(["node", "duckdb.js", str(self._threads)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, cwd=HERE, env=_environment())
        return self

    def __exit__(self, *_):
        self._node.stdin.close()
        self._node.stdout.close()
        self._node.wait()

    def ask(self, *statements):
        """Runs the statements: `seconds` and `cpu_seconds` of each, `rows` of the last one, `rss_kib`."""
        self._node.stdin.write(json.dumps({"statements": statements}) + "\n")
        self._node.stdin.flush()
        answer = json.loads(self._node.stdout.readline() or '{"error": "it has ended"}')
        if "error" in answer:
            raise PeerError(f"duckdb: {answer['error']}")
        return answer


def duckdb(*statements, threads=1):
    """Runs the statements: (seconds of each, rows of the last one)."""
    with DuckDB(threads) as database:
        answer = database.ask(*statements)
    return answer["seconds"], answer["rows"]


def duckdb_rows(statement):
    return duckdb(statement)[1]


def hyparquet_rows(paths, wanted=None):
    """`wanted`: a filter of hyparquet's, which makes it use statistics and page indexes."""
    options = ["--filter", json.dumps(wanted)] if wanted else []
    return json.loads(_run(["node", "hyparquet.js", *options, *map(str, paths)]))


def hyparquet_footer(path):
    return json.loads(_run(["node", "hyparquet.js", "--footer", str(path)]))


def parquet_wasm_columns(path):
    return json.loads(_run(["node", "parquet_wasm.js", str(path)]))


def _run(argv):
    answer = subprocess.run(argv, text=True, capture_output=True, check=False, cwd=HERE, env=_environment())
    if answer.returncode:
        raise PeerError(f"{' '.join(argv[:2])}: exit code {answer.returncode}: {answer.stderr.strip()[-2000:]}")
    return answer.stdout


def _environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("GRANARY_")}
