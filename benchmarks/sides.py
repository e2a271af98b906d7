"""Shared by the comparisons: running a side, and its environment."""

import json
import os
import pathlib
import subprocess
import sys
import time

COMMAND = str(pathlib.Path(__file__).resolve().parent.parent / "build/release/tools/tapeformer")
CLEAN = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}


def run(command, environment=None):
    """The JSON line at the end of a command's output, plus the duration of the process as "wall_seconds"."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**CLEAN, **(environment or {})})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return {**json.loads(done.stdout.splitlines()[-1]), "wall_seconds": time.perf_counter() - start}


def rounds(count, sides):
    """Runs every side, name -> (command, environment), once per round, alternating. Returns name -> its JSON lines."""
    results = {name: [] for name in sides}
    for _ in range(count):
        for name, (command, environment) in sides.items():
            results[name].append(run(command, environment))
    return results


def info(command):
    """The machine as reported by the command."""
    if not pathlib.Path(command).is_file():
        sys.exit(f"{command} does not exist: build it, or pass its path with --command")
    return json.loads(subprocess.run([command, "info", "--json"], capture_output=True, text=True, check=True, env=CLEAN).stdout)


def print_machine(command):
    print("\n".join(f"{key}: {value}" for key, value in info(command).items()))


def is_intel():
    return "GenuineIntel" in pathlib.Path("/proc/cpuinfo").read_text()


def unlocked(folder):
    """An environment in which MKL treats this CPU as Intel's."""
    source, library = folder / "vendor.c", folder / "vendor.so"
    if not library.exists():
        source.write_text("int mkl_serv_intel_cpu_true(void) { return 1; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library)}
