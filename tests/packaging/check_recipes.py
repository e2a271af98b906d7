"""check_recipes.py ROOT: checks the vcpkg manifest, the workflows and the Dockerfile of a checkout without their tools.

The rules of vcpkg.json are those of vcpkg's documentation that apply here. Needs PyYAML. The last line is "N passed, N failed".
"""

import copy
import json
import pathlib
import re
import sys

import yaml

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
FIELDS = {"name", "version", "port-version", "description", "license", "supports", "dependencies", "features"}
VERSION_FORMAT = re.compile(r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))*")
PLATFORM = re.compile(r"[a-z0-9]+|[&|!()]")


def check_dependency(dependency):
    """Yields what is wrong with an entry of "dependencies"."""
    entry = {"name": dependency} if isinstance(dependency, str) else dependency
    if not NAME.fullmatch(entry.get("name", "")):
        yield f"dependency {entry}: not a name of a port"
    if unknown := entry.keys() - {"name", "host", "platform", "features", "default-features", "version>="}:
        yield f"dependency {entry}: unknown fields {sorted(unknown)}"
    if not isinstance(entry.get("host", False), bool):
        yield f"dependency {entry}: host is not true or false"


def check_manifest(manifest, version):
    """Yields what is wrong with vcpkg.json."""
    if unknown := manifest.keys() - FIELDS:
        yield f"unknown fields {sorted(unknown)}"
    if manifest.get("name") != "tapeformer":
        yield f"name {manifest.get('name')}"
    if not VERSION_FORMAT.fullmatch(manifest.get("version", "")):
        yield f"version {manifest.get('version')} is not numbers and dots"
    if manifest.get("version") != version:
        yield f"version {manifest.get('version')}, but CMakeLists.txt has {version}"
    if not manifest.get("description"):
        yield "no description"
    if manifest.get("license") != "MIT":
        yield f"license {manifest.get('license')}"
    if PLATFORM.sub("", manifest.get("supports", "")).strip():
        yield f"supports {manifest.get('supports')}: not an expression of platforms"
    lists = {"dependencies": manifest.get("dependencies", [])}
    for name, feature in manifest.get("features", {}).items():
        if not NAME.fullmatch(name):
            yield f"feature {name}: not a name"
        if not feature.get("description"):
            yield f"feature {name}: no description"
        lists[f"feature {name}"] = feature.get("dependencies", [])
    for where, dependencies in lists.items():
        names = [d if isinstance(d, str) else d.get("name", "") for d in dependencies]
        if names != sorted(set(names)):
            yield f"{where}: not sorted, or twice the same ({', '.join(names)})"
        for dependency in dependencies:
            yield from check_dependency(dependency)
    hosts = {d["name"] for d in manifest.get("dependencies", []) if isinstance(d, dict) and d.get("host")}
    if hosts != {"vcpkg-cmake", "vcpkg-cmake-config"}:
        yield f"host dependencies {sorted(hosts)}, but portfile.cmake uses vcpkg-cmake and vcpkg-cmake-config"


def mutations(manifest):
    """Manifests with a mistake each."""
    changes = [
        lambda m: m.update(version="0.2"),
        lambda m: m.update(version="v0.2.0"),
        lambda m: m.update(name="Tapeformer"),
        lambda m: m.update(homepag="x"),
        lambda m: m.update(supports="linux + x64"),
        lambda m: m["dependencies"].append("fmt"),
        lambda m: m["dependencies"].insert(0, "Abseil_"),
        lambda m: m["dependencies"].pop(-3),
        lambda m: m["features"]["tools"].pop("description"),
        lambda m: m["features"]["tools"]["dependencies"].append({"name": "zzz", "hosts": True}),
    ]
    for change in changes:
        changed = copy.deepcopy(manifest)
        change(changed)
        yield changed


def check_workflow(path, root):
    """Yields commands of a workflow other than the project's scripts and what a bare container needs before them."""
    workflow = yaml.safe_load(path.read_text())
    for name, job in workflow["jobs"].items():
        if "timeout-minutes" not in job:
            yield f"{path.name}: job {name} has no timeout-minutes"
        for step in job["steps"]:
            command = step.get("run", "")
            if not command or command.startswith(("apt-get update && apt-get install ", "echo ")):
                continue
            script = root / command.split()[0]
            if not script.is_file() or not script.stat().st_mode & 0o100:
                yield f"{path.name}: {command}: not a script of the project"


def check_dockerfile(root):
    """Yields unknown instructions, and packages that the project does not build."""
    lines = (root / "packaging/Dockerfile").read_text().splitlines()
    instructions = [line.split()[0] for line in lines]
    if instructions != ["FROM", "COPY", "RUN", "WORKDIR", "ENTRYPOINT"]:
        yield f"Dockerfile: instructions {instructions}"
    built = (root / "cmake/TapeformerDebian.cmake").read_text()
    for pattern in re.findall(r"\S+\.deb", lines[1]):
        stem = re.match(r"[a-z-]+", pattern).group(0)
        if f" {stem}" not in built:
            yield f"Dockerfile: {pattern}: no such package"
    if json.loads(lines[-1].split(maxsplit=1)[1]) != ["tapeformer"]:
        yield f"Dockerfile: {lines[-1]}"


def main():
    root = pathlib.Path(sys.argv[1])
    version = re.search(r"project\(tapeformer VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text()).group(1)
    manifest = json.loads((root / "packaging/vcpkg/vcpkg.json").read_text())
    passed = failed = 0
    checks = {"vcpkg.json": check_manifest(manifest, version), "Dockerfile": check_dockerfile(root)}
    for path in sorted((root / ".github/workflows").glob("*.yml")):
        checks[path.name] = check_workflow(path, root)
    unnoticed = [m for m in mutations(manifest) if not list(check_manifest(m, version))]
    checks["mistakes in vcpkg.json are noticed"] = (f"unnoticed: {m}" for m in unnoticed)
    for name, found in checks.items():
        if errors := list(found):
            failed += 1
            print(f"{name}: " + f"\n{name}: ".join(errors))
        else:
            passed += 1
            print(f"{name}: passed")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
