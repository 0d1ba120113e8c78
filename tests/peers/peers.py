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


def duckdb(*statements, threads=1):
    """Runs the statements: (seconds of each, rows of the last one)."""
    answer = _duckdb(statements, threads)
    return answer["seconds"], answer["rows"]


def duckdb_rows(statement):
    return _duckdb([statement], 1)["rows"]


def hyparquet_rows(paths):
    return json.loads(_run(["node", "hyparquet.js", *map(str, paths)]))


def _duckdb(statements, threads):
    return json.loads(_run(["node", "duckdb.js"], json.dumps({"threads": threads, "statements": statements})))


def _run(argv, text=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRANARY_")}
    answer = subprocess.run(argv, input=text, text=True, capture_output=True, check=False, cwd=HERE, env=kept)
    if answer.returncode:
        raise PeerError(f"{' '.join(argv[:2])}: exit code {answer.returncode}: {answer.stderr.strip()[-2000:]}")
    return answer.stdout
