"""The command tapeformer of the package."""

import os
import subprocess
import sys

import tapeformer as tape


def run(folder, *arguments, path="/usr/bin:/bin"):
    return subprocess.run(
        [sys.executable, "-m", "tapeformer", *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_exit_codes(tmp_path):
    assert run(tmp_path, "--version").stdout.endswith(f"{tape.__version__}\n")
    wrong = run(tmp_path, "dance")
    assert wrong.returncode == 2 and "dance" in wrong.stderr


def test_next_steps_can_be_called(tmp_path):
    done = run(tmp_path, "demo", "--steps", "1", "--batch-tokens", "160", "--pairs", "200", "--held-out", "1")
    assert done.returncode == 0, done.stderr
    steps = done.stdout.split("Next steps:\n")[1]
    command = steps.split(" | ")[1].split()[0]
    assert command == "tapeformer" or os.access(command, os.X_OK), steps
