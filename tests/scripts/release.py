"""release.py ROOT: runs scripts/release.sh --dry-run in a clone of ROOT, and checks what it refuses."""

import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

root = pathlib.Path(sys.argv[1])


def run(*command, status=0):
    """Runs a command in the clone and returns its output."""
    done = subprocess.run(command, cwd=clone, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == status, f"{command}: exit code {done.returncode}, not {status}:\n{done.stdout}"
    return done.stdout


def release(*arguments, status=0):
    return run("scripts/release.sh", *arguments, status=status)


def commit():
    run("git", "add", "-A")
    run("git", "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-qm", "test")


def expect(text, *parts):
    for part in parts:
        assert part in text, f'"{part}" is not in:\n{text}'


if not (root / ".git").exists() or not shutil.which("git"):
    print("skipped: this is not a clone, or git is missing")
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    clone = pathlib.Path(folder) / "clone"
    if subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{root}", clone], stderr=subprocess.DEVNULL).returncode:
        print("skipped: git cannot clone this repository")
        sys.exit()
    shutil.copy(root / "scripts/release.sh", clone / "scripts/release.sh")
    (clone / "test").touch()
    commit()

    expect(release("1.2", status=2), '"1.2" is not a version of three numbers')
    expect(release("--dry-run", "98.7.6", status=1), 'CHANGELOG.md has no section "## 98.7.6"')

    change_log = clone / "CHANGELOG.md"
    change_log.write_text(change_log.read_text().replace("## Unreleased", "## Unreleased\n\n## 98.7.6 (today)", 1))
    expect(release("--dry-run", "98.7.6", status=1), "there are changes that are not committed")
    commit()
    would = release("--dry-run", "98.7.6")
    expect(would, "it would change in: CMakeLists.txt packaging/vcpkg/vcpkg.json", "would run: .ci/run", "git tag -a v98.7.6")
    assert run("git", "status", "--porcelain") == "", "a dry run changed files"

    expect(release("98.7.6", status=1), "changed it in: CMakeLists.txt packaging/vcpkg/vcpkg.json", "git commit")
    assert not (clone / "build/release-98.7.6/checks.log").exists(), "it continued with a version that is not committed"
    commit()
    text = release("--dry-run", "98.7.6")
    assert "would change" not in text, text
    out = clone / "build/release-98.7.6"
    assert subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=out).returncode == 0
    with tarfile.open(out / "tapeformer-98.7.6.tar.gz") as archive:
        lines = archive.extractfile("tapeformer-98.7.6/CMakeLists.txt").read().decode()
    expect(lines, "project(tapeformer VERSION 98.7.6 ")
    assert run("git", "tag") == "", "it made a tag"
