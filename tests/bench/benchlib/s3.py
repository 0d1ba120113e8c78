"""The s3:// driver against curl, on the same server and the same objects, one connection each. Ours signs every body and
hashes it for the catalog, and the server checks that hash; curl is given urls that somebody else has signed, without one."""

import itertools
import os
import subprocess
import tempfile

from . import BUILD, report
from .stage import timed, tool

RUNS = 5
COUNT, BYTES = 8, 48 << 20
MB = 1e6
_rounds = itertools.count()


def s3_put(stage):
    """MB/s into the server."""
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(_ours(stage, "put", f"ours-{next(_rounds)}"))
        theirs.append(_curl_put(stage, f"curl-{next(_rounds)}"))
    report.line("s3_put", ours, theirs)
    _empty(stage)


def s3_get(stage):
    """MB/s out of it."""
    _ours(stage, "put", "read")
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(_ours(stage, "get", "read"))
        theirs.append(_curl_get(stage, "read"))
    report.line("s3_get", ours, theirs)
    _empty(stage)


def _bucket(stage):
    return stage.servers.bucket()


def _ours(stage, verb, prefix):
    gateway, client, bucket = stage.shared(_bucket)
    env = {"PATH": "/usr/bin:/bin", "GRANARY_STORE_URL": gateway.url(bucket),
           "GRANARY_STORE_ACCESS_KEY_ID": client.key, "GRANARY_STORE_SECRET_ACCESS_KEY": client.secret}
    return COUNT * BYTES / MB / float(tool("bench_store", verb, prefix, COUNT, BYTES, env=env))


def _urls(stage, method, prefix):
    _, client, bucket = stage.shared(_bucket)
    return [client.presigned(method, f"/{bucket}/{prefix}/{number}") for number in range(COUNT)]


def _curl_put(stage, prefix):
    with tempfile.NamedTemporaryFile(dir=BUILD) as file:
        os.truncate(file.name, BYTES)
        arguments = [part for url in _urls(stage, "PUT", prefix) for part in ("-T", file.name, url)]
        return COUNT * BYTES / MB / timed(lambda: _curl(arguments))


def _curl_get(stage, prefix):
    arguments = [part for url in _urls(stage, "GET", prefix) for part in ("-o", os.devnull, url)]
    return COUNT * BYTES / MB / timed(lambda: _curl(arguments))


def _curl(arguments):
    subprocess.run(["curl", "--silent", "--show-error", "--fail", *arguments], check=True)


def _empty(stage):
    _, client, bucket = stage.shared(_bucket)
    for key in client.objects(bucket):
        client.delete(bucket, key)
