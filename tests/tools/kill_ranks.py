#!/usr/bin/env python3
"""Kills one process of a distributed training run at random moments. Checks that all end and that the run resumes.

    kill_ranks.py --command build/mpi/tools/tapeformer --folder /tmp/kills [--times 50] [--ranks 3] [--seed 1]

A tiny language model is trained by `mpirun -n RANKS` undisturbed, with and without dropout. Then the same run is started
--times times, a random process is killed (SIGKILL) after a random part of the run's duration, and

- mpirun must end within 30 seconds with a nonzero exit code;
- with --resume and the same number of processes, the run must end with the same model and optimizer bytes as the
  undisturbed one;
- every third time it resumes with a different number of processes, without dropout: its losses must agree within 1e-3.

The last line is "N kills, M not as promised, longest end T s", or "skipped: ..." without mpirun.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]
STEPS = 30
LONGEST_END = 30  # seconds
ENVIRONMENT = {
    **os.environ,
    "OMP_WAIT_POLICY": "passive",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def command_of(options, out, ranks, dropout):
    return [str(word) for word in (
        "mpirun", "-n", ranks, options.command, "train", "lm", "--text", options.folder / "text.txt", "--out", out, "--context", 8,
        "--batch", 8, "--layers", 1, "--width", 8, "--heads", 1, "--steps", STEPS, "--evaluate-every", 3, "--threads", 1,
        "--dropout", dropout)]


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENVIRONMENT, check=False,
                          timeout=300)


def bytes_of(out):
    last = out / f"checkpoint-{STEPS}"
    return [(path / name).read_bytes() for path, name in (
        (out, "model.safetensors"), (last, "model.safetensors"), (last, "optimizer.safetensors"))]


def losses_of(out):
    events = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return {event["step"]: event["loss"] for event in events if event["event"] == "step"}


def processes_of(mpirun, command):
    """Returns the children of mpirun that run the command."""
    children = pathlib.Path(f"/proc/{mpirun}/task/{mpirun}/children")
    try:
        numbers = [int(word) for word in children.read_text().split()]
        return [n for n in numbers if pathlib.Path(f"/proc/{n}/cmdline").read_bytes().startswith(str(command).encode())]
    except OSError:
        return []


def kill_one(command, options, seconds, rng):
    """Starts the command and kills one of its processes, where there is one yet: the exit code, the seconds from the kill until
    all had ended, and whether one was killed."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=ENVIRONMENT) as started:
        time.sleep(seconds)
        victims = processes_of(started.pid, options.command)
        killed = time.monotonic()
        try:
            if victims:
                os.kill(rng.choice(victims), 9)
        except ProcessLookupError:
            victims = []
        try:
            code = started.wait(timeout=4 * LONGEST_END)
        except subprocess.TimeoutExpired:
            started.kill()
            code = None
        return code, time.monotonic() - killed if victims else 0, bool(victims)


def trial(number, options, reference, rng):
    """Returns the fault, or None, and the seconds until all processes had ended."""
    another = number % 3 == 2
    dropout = 0 if another else 0.1
    out = options.folder / "killed"
    shutil.rmtree(out, ignore_errors=True)
    command = command_of(options, out, options.ranks, dropout)
    after = rng.uniform(0, reference["seconds"])
    code, took, killed = kill_one(command, options, after, rng)
    if code is None or (killed and took > LONGEST_END):
        return f"killed after {after:.2f} s of {reference['seconds']:.2f} s: exit code {code} after {took:.1f} s", took
    if killed and code == 0 and not (out / f"checkpoint-{STEPS}").exists():
        return "exit code 0 of a run that was killed", took
    ranks = rng.choice([n for n in (1, 2, 3, 4) if n != options.ranks]) if another else options.ranks
    resumed = run(command_of(options, out, ranks, dropout) + ["--resume"])
    if resumed.returncode != 0:
        return f"--resume on {ranks} ranks: exit code {resumed.returncode}: {resumed.stderr.strip()[-300:]}", took
    if not another:
        return None if bytes_of(out) == reference[dropout] else "bytes differ from the undisturbed run", took
    losses, wanted = losses_of(out), reference["losses"]
    worst = max(abs(losses[step] - wanted[step]) for step in wanted)
    return (None if losses.keys() == wanted.keys() and worst < 1e-3 else f"losses differ by {worst}"), took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun")
        return 0
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    (options.folder / "text.txt").write_text("\n".join(f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS) + "\n")
    reference = {}
    for dropout in (0, 0.1):
        out = options.folder / f"undisturbed-{dropout}"
        began = time.monotonic()
        done = run(command_of(options, out, options.ranks, dropout))
        reference["seconds"] = time.monotonic() - began
        if done.returncode != 0:
            print(done.stdout, done.stderr, f"the undisturbed run: exit code {done.returncode}", sep="\n")
            return 1
        reference[dropout] = bytes_of(out)
    reference["losses"] = losses_of(options.folder / "undisturbed-0")
    rng = random.Random(options.seed)
    broken, longest = 0, 0.0
    for number in range(options.times):
        fault, took = trial(number, options, reference, rng)
        longest = max(longest, took)
        if fault:
            broken += 1
            print(f"kill {number}: {fault}")
    print(f"{options.times} kills, {broken} not as promised, longest end {longest:.1f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
