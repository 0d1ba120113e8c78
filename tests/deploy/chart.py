"""The chart itself: helm's own lint, its schema, and that no value is there for nothing."""

import json
from concurrent.futures import ThreadPoolExecutor

from tools import CHART, node

# Values that must be refused, and a word of the refusal.
REFUSED = (
    ("catalog.parameters=password=secret", "parameters"),
    ("catalog.existingSecret=", "existingSecret"),
    ("settings.GRANARY_BUS_PASSWORD=secret", "GRANARY_BUS_PASSWORD"),
    ("settings.LOG_LEVEL=debug", "LOG_LEVEL"),
    ("http.port=80", "port"),
    ("jobs.kind=DaemonSet", "kind"),
    ("podUser=0", "podUser"),
    ("reaper.replica=3", "replica"),
    ("rewriters.tiny.pools=small", "tiny"),
    ("image.digest=latest", "digest"),
    ("fullnameOverride=a-name-of-more-than-thirty-one-characters", "fullnameOverride"),
)


def check_lint(context):
    """helm lint --strict passes with every set of values"""
    return "\n".join(
        f"{name}: {answer.stdout}{answer.stderr}" for name, path in context.value_sets.items()
        for answer in [context.run("helm", "lint", "--strict", CHART, *_file(path), check=False)] if answer.returncode)


def check_package(context):
    """helm package makes an archive"""
    context.run("helm", "package", CHART, "--destination", context.scratch)
    return "" if list(context.scratch.glob("granary-*.tgz")) else "expected granary-<version>.tgz but found none"


def check_refused_values(context):
    """the schema refuses wrong values, secrets in values and values that do not exist"""
    faults = []
    for value, word in REFUSED:
        answer = context.template("--set", value, check=False)
        if answer.returncode == 0 or word not in answer.stderr:
            faults.append(f"{value}: exit code {answer.returncode}: {answer.stderr.strip()}")
    return "\n".join(faults)


def check_every_value_is_used(context):
    """changing any one value changes what is rendered"""
    # Some values count only beside others: with one set of values or the other each must.
    sets = [(path, context.template(*_file(path)).stdout) for path in context.value_sets.values()]

    def is_used(leaf):
        path, value = leaf
        change = f"{path}={json.dumps(_changed(value))}"
        return any(context.template(*_file(file), "--set-json", change, "--skip-schema-validation").stdout != text
                   for file, text in sets)

    leaves = list(_leaves(node("parse.js", (CHART / "values.yaml").read_text()), ""))
    with ThreadPoolExecutor(2) as pool:
        unused = [leaf[0] for leaf, used in zip(leaves, pool.map(is_used, leaves)) if not used]
    return "\n".join(f"not used: {path}" for path in unused)


def _file(path):
    return ["-f", path] if path else []


def _leaves(values, prefix):
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return {"CronJob": "Deployment"}.get(value, value + "x")
    return {"OTHER": "other"} if isinstance(value, dict) else [{"name": "other"}]
