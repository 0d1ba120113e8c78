"""What the chart renders, with each set of values."""

import json
import os
import re
import shutil
import subprocess

from tools import Failure, TREE, containers, files_of, find, pod_of, pods, started, title

SECRETS = "/run/granary/"


def check_types(context):
    """every object has the fields, types and values that Kubernetes knows"""
    return "\n".join(f"{name}: {fault}" for name, answer in context.rendered.items() for fault in answer["faults"])


def check_names(context):
    """no two objects of a release have the same kind and name, and names are short enough"""
    faults = []
    for name, documents in context.charts.items():
        titles = [title(document) for document in documents]
        faults += [f"{name}: {twice}" for twice in sorted({one for one in titles if titles.count(one) > 1})]
        faults += [f"{name}: {title(job)}" for job in find(documents, "CronJob") if len(job["metadata"]["name"]) > 52]
    return "\n".join(faults)


def check_pods(context):
    """every pod is unprivileged, has limits, no token of Kubernetes and no names of its Services"""
    return "\n".join(f"{name}: {title(document)}: {fault}" for name, documents in context.charts.items()
                     for document, pod in pods(documents) for fault in _pod_faults(pod["spec"]))


def _pod_faults(pod):
    wanted = {"automountServiceAccountToken": False, "enableServiceLinks": False}
    faults = [f"{key} is {pod.get(key)}" for key, value in wanted.items() if pod.get(key) is not value]
    security = pod["securityContext"]
    if security.get("runAsNonRoot") is not True or security["seccompProfile"] != {"type": "RuntimeDefault"}:
        faults.append(f"securityContext is {security}")
    for container in pod["containers"]:
        if container["securityContext"] != {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}:
            faults.append(f"securityContext of the container is {container['securityContext']}")
        if "memory" not in container["resources"].get("limits", {}) or "requests" not in container["resources"]:
            faults.append(f"resources are {container['resources']}")
    return faults


def check_selectors(context):
    """every Deployment, PodDisruptionBudget and Service selects pods that are there, and no Deployment another's"""
    faults = []
    for name, documents in context.charts.items():
        labels = [(title(document), pod["metadata"]["labels"]) for document, pod in pods(documents)]
        for document in documents:
            selector = document.get("spec", {}).get("selector")
            if document["kind"] in ("Deployment", "PodDisruptionBudget", "Service"):
                wanted = selector.get("matchLabels", selector)
                chosen = [owner for owner, found in labels if wanted.items() <= found.items()]
                if not chosen or document["kind"] == "Deployment" and chosen != [title(document)]:
                    faults.append(f"{name}: {title(document)} selects {chosen}")
    return "\n".join(faults)


def check_settings_are_known(context):
    """every GRANARY_ name is a setting of the program that gets it, and shared ones of at least one program"""
    programs = {}
    faults, shared = [], set()
    for name, documents in context.charts.items():
        for document, container in containers(documents):
            program = container["command"][0]
            known = programs.setdefault(program, context.settings_of(program))
            names = {variable["name"] for variable in container["env"]}
            # The bus password is mounted everywhere, also where a program has no use for it.
            faults += [f"{name}: {title(document)}: {program} has no setting {one}"
                       for one in sorted(names - known - {"GRANARY_BUS_PASSWORD_FILE"})]
        shared |= {one for config in find(documents, "ConfigMap") for one in config["data"]}
    faults += [f"no program has the setting {one}" for one in sorted(shared - set().union(*programs.values()))]
    return "\n".join(faults)


def check_settings_are_accepted(context):
    """every program accepts the environment that its container gets, and is told what it needs"""
    faults = []
    for name, documents in context.charts.items():
        for document, container in containers(documents):
            program, arguments, environment = started(document, container, documents)
            named = {value for value in environment.values() if value.startswith(SECRETS)}
            missing = named - set(files_of(pod_of(document)))
            faults += [f"{name}: {title(document)}: no secret is mounted at {path}" for path in sorted(missing)]
            answer = _start(context, program, arguments, environment)
            if answer.returncode != (1 if program == "granary" else 0):
                faults.append(f"{name}: {title(document)}: exit code {answer.returncode}: {answer.stderr.strip()}")
    return "\n".join(faults)


def _start(context, program, arguments, environment):
    """Services print their settings, which tells that they take them. migrate has no such flag: it is sent to a port
    where nobody is, and must fail for no other reason."""
    secret = context.scratch / "secret"
    secret.write_text("secret")
    environment = {name: str(secret) if value.startswith(SECRETS) else value for name, value in environment.items()}
    if program == "granary":
        url = environment["GRANARY_MIGRATE_URL"]
        environment["GRANARY_MIGRATE_URL"] = re.sub(r"host=\S+ port=\S+", "host=127.0.0.1 port=1", url)
    else:
        arguments = [*arguments, "--print-config"]
    argv = [context.binary(program), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


def check_unknown_names_are_refused(context):
    """the check before this one can fail: a name that no program knows is refused"""
    environment = {"GRANARY_CATALOG_URL": "host=db", "GRANARY_ROWS_PORT": "tcp://10.0.0.1:80"}
    code = _start(context, "granary-decay", [], environment).returncode
    return "" if code == 78 else f"expected exit code 78 but found {code}"


def check_store(context):
    """a store on a volume is mounted where its URL says, by those that write or delete; one in a bucket is not"""
    programs = ("granary-intake writer", "granary-rewriter", "granary-reaper", "granary-admin",
                "granary-partition-cleaner")
    faults = []
    for name, documents in context.charts.items():
        for document, container in containers(documents):
            program, _, environment = started(document, container, documents)
            mounts = " ".join([program, environment.get("GRANARY_INTAKE_ROLE", "")]).strip() in programs
            url = environment.get("GRANARY_STORE_URL", "")
            expected = [False] if mounts and not url.startswith("s3://") else []
            path = url.removeprefix("file://")
            found = [mount["readOnly"] for mount in container["volumeMounts"] if mount["mountPath"] == path]
            if found != expected:
                faults.append(f"{name}: {title(document)}: expected readOnly {expected} but found {found}")
    return "\n".join(faults)


def check_secrets(context):
    """each pod gets the password of its own role and no other"""
    faults = []
    for name, documents in context.charts.items():
        for document, container in containers(documents):
            environment = started(document, container, documents)[2]
            url = environment.get("GRANARY_CATALOG_URL") or environment["GRANARY_MIGRATE_URL"]
            role = re.search(r"user=(\S+)", url)[1]
            keys = [key for path, (_, key) in files_of(pod_of(document)).items() if path.endswith("catalog-password")]
            if keys != [role]:
                faults.append(f"{name}: {title(document)}: role {role} but the password of {keys}")
    return "\n".join(faults)


def check_roles(context):
    """every role that a process logs in with is made by the migration"""
    made = set(re.findall(r"'(granary_\w+)'", (TREE / "migrations/0003_roles.sql").read_text())) | {"granary_owner"}
    used = {key for documents in context.charts.values() for _, pod in pods(documents)
            for path, (_, key) in files_of(pod).items() if path.endswith("catalog-password")}
    return "" if used <= made else f"not made: {sorted(used - made)}"


def check_metrics(context):
    """every metric that an alert asks for is one that a program has"""
    sources = "".join(path.read_text() for folder in ("common", "services") for path in (TREE / folder).rglob("*.c"))
    asked = set(re.findall(r"\bgranary_\w+", " ".join(rule["expr"] for rule in _rules(context))))
    return "\n".join(f"no program has {name}" for name in sorted(asked) if f'"{name}"' not in sources)


def check_rules(context):
    """alerts have a severity, a summary and a description, and promtool takes them where it is there"""
    faults = [rule["alert"] for rule in _rules(context) if set(rule["annotations"]) != {"summary", "description"}
              or rule["labels"].get("severity") not in ("critical", "warning", "info")]
    promtool = os.environ.get("PROMTOOL") or shutil.which("promtool")
    if not promtool:
        print("      (no promtool: expressions are not parsed)")
        return "\n".join(faults)
    for name, documents in context.charts.items():
        for document in find(documents, "PrometheusRule"):
            path = context.scratch / f"rules-{name}.json"  # JSON is YAML
            path.write_text(json.dumps(document["spec"]))
            answer = subprocess.run([promtool, "check", "rules", path], capture_output=True, text=True, check=False)
            faults += [f"{name}: {answer.stdout}{answer.stderr}"] if answer.returncode else []
    return "\n".join(faults)


def _rules(context):
    found = [rule for documents in context.charts.values() for document in find(documents, "PrometheusRule")
             for group in document["spec"]["groups"] for rule in group["rules"]]
    if not found:
        raise Failure("expected alerts but found none")
    return found
