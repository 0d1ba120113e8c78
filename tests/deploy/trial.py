"""deploy/k8s: the servers to try the chart with, and whether chart and servers fit together."""

import hashlib
import json
import re
import subprocess

from tools import containers, files_of, find, pods, started

SET = "trial"


def _servers(context):
    return context.rendered["kustomize"]["documents"]


def check_secrets_exist(context):
    """every secret and key that the chart mounts is one that make-secrets and kustomize make"""
    made = {(secret["metadata"]["name"], key) for secret in find(_servers(context), "Secret") for key in secret["data"]}
    wanted = {entry for _, pod in pods(context.charts[SET]) for entry in files_of(pod).values()}
    return "\n".join(f"no key {key} in the secret {name}" for name, key in sorted(wanted - made))


def check_hosts_exist(context):
    """catalog and broker are Services of the trial, at the ports that the chart goes to"""
    made = {(service["metadata"]["name"], str(port["port"])) for service in find(_servers(context), "Service")
            for port in service["spec"]["ports"]}
    wanted = set()
    for document, container in containers(context.charts[SET]):
        for value in started(document, container, context.charts[SET])[2].values():
            wanted |= set(re.findall(r"host=(\S+) port=(\d+)", value))
            wanted |= set(re.findall(r"^amqps?://[^@]+@([^:]+):(\d+)/", value))
    return "" if wanted and wanted <= made else f"wanted {sorted(wanted)} but found {sorted(made)}"


def check_pools(context):
    """every pool that merges may be sent to by default is served, by each set of values"""
    wanted = {"small", "medium", "large"}
    faults = []
    for name, documents in context.charts.items():
        served = set()
        for document, container in containers(documents):
            served |= set(started(document, container, documents)[2].get("GRANARY_REWRITER_POOLS", "").split(","))
        faults += [f"{name}: nobody serves {pool}" for pool in sorted(wanted - served)]
    return "\n".join(faults)


def check_make_secrets(context):
    """make-secrets keeps what is there, and the tokens file holds the hash of the token"""
    folder = context.trial_copy / "secrets"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    subprocess.run([context.trial_copy / "make-secrets"], check=True)
    changed = [str(path) for path, text in before.items() if path.read_bytes() != text]
    entry = json.loads((folder / "tokens/tokens.jsonl").read_text())
    if entry["sha256"] != hashlib.sha256((folder / "token").read_bytes()).hexdigest():
        changed.append("tokens.jsonl holds another hash")
    return "\n".join(changed + [f"{path} can be read by others" for path in before if path.stat().st_mode & 0o077])
