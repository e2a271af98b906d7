#!/usr/bin/env python3
"""Kills training runs at every system call that touches their folder and checks that each can be resumed.

    kill_at_every_call.py --command build/release/tools/tapeformer --folder /tmp/kills [--tasks demo,lm,...]
        [--calls rename,mkdir] [--every 3] [--random 1000 [--seed 1]]

A tiny run of each task is traced once. Then it is killed with strace at each call from the first to the last that
touches its folder (SIGKILL before the n-th call of a kind): during its start, its saves and its end. The rest must
resume with --resume, exit code 0, and end with the same bytes as an undisturbed run: model, tokenizer, and model and
optimizer of each checkpoint. The same is done for a run that resumes from its first checkpoint. All calls take some
minutes per task; --calls and --every select some of them. The last line is "N kills, M not resumed", or
"skipped: ..." if strace is missing or not permitted.

With --random, kills this many times at random moments instead, without strace: a run of each task in turn is killed at a
random time within its undisturbed duration and resumed, until it finishes. Its end is compared as above.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

CALLS = ["openat", "write", "pwrite64", "fsync", "rename", "renameat2", "unlink", "unlinkat", "mkdir", "rmdir",
         "ftruncate", "close"]
WORDS = ["one", "two", "three", "four", "five", "six", "seven"]


def write_data(folder):
    lines = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]
    (folder / "text.txt").write_text("\n".join(lines[:60]) + "\n")
    (folder / "pairs.tsv").write_text("".join(f"{line}\t{line.upper()}\n" for line in lines[:60]))
    (folder / "labels.tsv").write_text("".join(f"{line}\t{'ab'[i % 2]}\n" for i, line in enumerate(lines[:60])))


def arguments_of(task, folder, steps=4):
    train = ["--steps", str(steps), "--evaluate-every", "2", "--threads", "1", "--average-last", "2", "--out", folder / "run"]
    model = ["--layers", "1", "--width", "8", "--heads", "1"]
    return {
        "demo": ["demo", "--steps", str(2 * steps), "--batch-tokens", "40", "--pairs", "200", "--held-out", "1", "--seconds", "0", "--threads", "1", "--out",
                 folder / "run"],
        "lm": ["train", "lm", "--text", folder / "text.txt", "--context", "8", "--batch", "4", "--dropout", "0.1",
               *model, *train],
        "translation": ["train", "translation", "--tsv", folder / "pairs.tsv", "--valid-tsv", folder / "pairs.tsv",
                        "--vocab-size", "60", "--batch-tokens", "100", "--max-length", "20", *model, *train],
        "classifier": ["train", "classifier", "--data", folder / "labels.tsv", "--vocab-size", "270", "--batch", "8",
                       "--max-length", "12", *model, *train],
    }[task]


# For builds with sanitizers: the leak checker does not work under strace.
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0", "OMP_WAIT_POLICY": "passive", "PATH": "/usr/bin:/bin"}


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=ENVIRONMENT, check=False)


def run_for(command, seconds):
    """Returns the result of run(), or None if it took longer and was killed."""
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=ENVIRONMENT, check=False,
                              timeout=seconds)  # SIGKILL
    except subprocess.TimeoutExpired:
        return None


def ending_of(run_folder):
    """Returns what must be equal: the names of all files and the bytes of those that contain no times."""
    ending = {}
    for path in sorted(run_folder.rglob("*")):
        name = str(path.relative_to(run_folder))
        timed = path.suffix in (".jsonl", ".html") or path.name in (".lock", "trainer_state.json", "MANIFEST.json")
        if not name.startswith("set-aside-"):
            ending[name] = None if timed or path.is_dir() else path.read_bytes()
    steps = [event["step"] for event in map(json.loads, (run_folder / "log.jsonl").read_text().splitlines())
             if event["event"] == "step"]
    ending["the log's steps"] = steps
    return ending


def points_of(program, arguments, folder):
    """Returns the indices, from 1, of the calls of each kind between the first and last that touch the run's folder."""
    trace = folder / "trace"
    traced = run(["strace", "-f", "-y", "-o", trace, "-e", "trace=" + ",".join(CALLS), program, *arguments])
    if traced.returncode != 0:
        return None, traced
    counts, points = collections.Counter(), collections.defaultdict(list)
    process = None
    for line in trace.read_text(errors="replace").splitlines():
        call = re.match(r"(\d+) +(\w+)\((.*)", line)
        if not call:
            continue
        process = process or call[1]
        if call[1] != process:  # strace counts calls per thread
            continue
        counts[call[2]] += 1
        if f"{folder}/run" in call[3]:
            points[call[2]].append(counts[call[2]])
    return {kind: range(at[0], at[-1] + 2) for kind, at in points.items()}, traced


class Kills:
    def __init__(self, program, folder, every):
        self.program, self.folder, self.every = program, folder, every
        self.kills = self.failures = 0

    def restore(self, before):
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        if before is not None:
            shutil.copytree(before, self.folder / "run", symlinks=True)

    def try_all(self, what, arguments, before, expected, kinds):
        self.restore(before)
        points, traced = points_of(self.program, arguments, self.folder)
        if points is None:
            sys.exit(f"{what}: exit code {traced.returncode} without a kill\n{traced.stderr}")
        kills = self.kills
        for kind in kinds:
            for at in list(points.get(kind, []))[:: self.every]:
                self.restore(before)
                self.kill(f"{what}: {kind} {at}", arguments, kind, at, expected)
        print(f"{what}: {self.kills - kills} kills", flush=True)

    def kill(self, what, arguments, kind, at, expected):
        killed = run(["strace", "-f", "-o", "/dev/null", "-e", f"trace={kind}", "-e",
                      f"inject={kind}:signal=KILL:when={at}", self.program, *arguments])
        self.kills += killed.returncode != 0
        again = arguments if "--resume" in arguments else [*arguments, "--resume"]
        self.compare(what, run([self.program, *again]), expected)

    def compare(self, what, resumed, expected):
        problem = None
        if resumed.returncode != 0:
            problem = f"exit code {resumed.returncode}: {resumed.stderr.strip()}"
        else:
            found = ending_of(self.folder / "run")
            differing = [name for name in sorted({*found, *expected}) if found.get(name, "") != expected.get(name, "")]
            if differing:
                problem = "differs from the undisturbed run: " + ", ".join(differing)
        if problem:
            self.failures += 1
            print(f"{what}: {problem}", flush=True)

    def undisturbed(self, task, arguments):
        self.restore(None)
        done = run([self.program, *arguments])
        if done.returncode != 0:
            sys.exit(f"{task}: exit code {done.returncode}\n{done.stderr}")
        return ending_of(self.folder / "run")

    def at_random(self, tasks, kills, draws):
        runs = []
        for task in tasks:
            arguments = arguments_of(task, self.folder, steps=12)
            start = time.monotonic()
            expected = self.undisturbed(task, arguments)
            runs.append((task, arguments, time.monotonic() - start, expected))
        ended = 0
        while self.kills < kills:
            task, arguments, seconds, expected = runs[ended % len(runs)]
            self.restore(None)
            first = self.kills
            while (done := run_for([self.program, *arguments, "--resume"], draws.uniform(0, seconds))) is None:
                self.kills += 1
            self.compare(f"{task}, killed {self.kills - first} times, run {ended}", done, expected)
            ended += 1
        print(f"{ended} runs finished")

    def task(self, task, kinds):
        arguments = arguments_of(task, self.folder)
        expected = self.undisturbed(task, arguments)
        self.try_all(task, arguments, None, expected, kinds)
        # A run killed while the second checkpoint is renamed can resume from the first.
        self.restore(None)
        run(["strace", "-f", "-o", "/dev/null", "-e", "inject=rename:signal=KILL:when=" + str(self.second_save(arguments)),
             self.program, *arguments])
        before = self.folder / "before"
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(self.folder / "run", before)
        self.try_all(f"{task} --resume", [*arguments, "--resume"], before, expected, kinds)

    def second_save(self, arguments):
        trace = self.folder / "trace"
        self.restore(None)
        run(["strace", "-f", "-o", trace, "-e", "trace=rename", self.program, *arguments])
        self.restore(None)
        renames = [line for line in trace.read_text().splitlines() if "rename(" in line]
        return [i for i, line in enumerate(renames, 1) if re.search(r'\.tmp-checkpoint-\d+", ', line)][1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--tasks", default="demo,lm,translation,classifier")
    parser.add_argument("--calls", default=",".join(CALLS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.random == 0 and not shutil.which("strace"):
        print("skipped: no strace")
        return 0
    if options.random == 0 and run(["strace", "-o", "/dev/null", "true"]).returncode != 0:
        print("skipped: strace is not permitted here")
        return 0
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    folder = options.folder.resolve()
    write_data(folder)
    kills = Kills(options.command.resolve(), folder, options.every)
    if options.random > 0:
        kills.at_random(options.tasks.split(","), options.random, random.Random(options.seed))
    else:
        for task in options.tasks.split(","):
            kills.task(task, options.calls.split(","))
    print(f"{kills.kills} kills, {kills.failures} not resumed")
    return 0 if kills.kills > 0 and kills.failures == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
