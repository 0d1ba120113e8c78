"""The Dockerfile cannot be built here, but its lists can be compared with what they must be."""

import json
import re
import subprocess

from tools import CHART, HERE, TREE, Failure


def check_build_packages(_context):
    """the image is built with the packages that deploy/local/packages.txt names for building"""
    section = (TREE / "deploy/local/packages.txt").read_text().split("# building\n")[1].split("\n\n")[0]
    wanted = {line.split()[0] for line in section.splitlines()}
    return _difference(wanted, _installed(0))


def check_runtime_packages(context):
    """the image has the libraries that the programs are linked with, and certificates"""
    libraries = {}
    for program in sorted((context.build / "bin").iterdir()):
        loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        paths = dict(re.findall(r"(\S+) => (/\S+)", loaded))
        needed = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True).stdout
        libraries.update({name: paths[name] for name in re.findall(r"NEEDED\s+(\S+)", needed) if name in paths})
    if not libraries:
        raise Failure(f"could not find a program in {context.build}/bin")
    wanted = {_package_of(path) for path in libraries.values()} - {"libc6"} | {"ca-certificates"}
    return _difference(wanted, _installed(1))


def check_versions(_context):
    """the chart's versions are the programs' version"""
    version = re.search(r"^VERSION := (\S+)$", (TREE / "Makefile").read_text(), re.MULTILINE)[1]
    found = dict(re.findall(r'^(version|appVersion): "?([^"\n]+)"?$', (CHART / "Chart.yaml").read_text(), re.MULTILINE))
    return "" if found == {"version": version, "appVersion": version} else f"expected {version} but found {found}"


def check_user(_context):
    """the image's user is the chart's"""
    user = re.search(r"^USER (\d+):(\d+)$", (TREE / "docker/Dockerfile").read_text(), re.MULTILINE)
    wanted = re.search(r"^podUser: (\d+)$", (CHART / "values.yaml").read_text(), re.MULTILINE)[1]
    return "" if user and user.groups() == (wanted, wanted) else f"expected USER {wanted}:{wanted} in the Dockerfile"


def check_lock_file(_context):
    """the lock file of these tests names no registry but npm's own"""
    packages = json.loads((HERE / "package-lock.json").read_text())["packages"].values()
    others = [package["resolved"] for package in packages
              if not package.get("resolved", "https://registry.npmjs.org/").startswith("https://registry.npmjs.org/")]
    return "\n".join(others)


def _installed(stage):
    lists = re.findall(r"apt-get install -y --no-install-recommends \\\n(.*?)\n    &&",
                       (TREE / "docker/Dockerfile").read_text(), re.DOTALL)
    return {line.strip(" \\") for line in lists[stage].splitlines()}


def _package_of(path):
    for candidate in (path, path.removeprefix("/usr"), f"/usr{path}"):
        answer = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            return answer.stdout.split(":")[0]
    raise Failure(f"could not find the package of {path}")


def _difference(wanted, found):
    lines = [f"missing: {name}" for name in sorted(wanted - found)]
    return "\n".join(lines + [f"not needed: {name}" for name in sorted(found - wanted)])
