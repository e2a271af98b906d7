#!/usr/bin/env python3
"""Compares Tapeformer with PyTorch and transformers on this machine: training steps, and decoding 32 tokens to 32 tokens.

    python3 benchmarks/compare.py                                        # an hour or two on two cores
    python3 benchmarks/compare.py --what steps --configs gpt-nano --rounds 1
    python3 benchmarks/compare.py --what steps --configs gpt-char base --precision highest high medium
    python3 benchmarks/compare.py --device cuda --text input.txt         # on a GPU; at most five minutes

Each round runs every side once, alternating. A row has the medians over the rounds of each side's fastest step or
decoding, its peak memory, and Tapeformer's speedup over the fastest other side. PyTorch runs eager and compiled: in medium
precision under bf16 autocast, otherwise with `torch.set_float32_matmul_precision`. On CPUs other than Intel's, PyTorch also
runs with MKL's AVX-512 kernels, which MKL otherwise restricts to Intel CPUs ("unlocked"; needs gcc). Nothing else should run
at the same time.

On a GPU there is one round of five parts in at most five minutes, made for an H100 and 16 cores:

    run       60 s   nanoGPT's recipe for characters: 5,000 steps of 64 x 256 tokens, 6 layers of width 384, an evaluation
                     every 250 steps; when the validation loss first was 1.47 or less. TEXT is the corpus, whose last
                     tenth is for validation: 1.1 MB of Shakespeare,
                     https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt
    profile   20 s   the ten operations of gpt-124m and gpt-char that take a GPU the most time
    steps    130 s   training steps; PyTorch's sides import and compile together, in 85 s at most, before the first row
    decoding  40 s   GPT-2 with 124 million parameters in bf16, 128 tokens behind 16, by `generate` of both
    cpu       45 s   training steps on 1, 2, 4, 8 and 16 threads of the CPU, if it has as many

The models are larger there (tools/bench/bench_model.cpp) and have the dropout and precision of GPU below; Tapeformer launches graphs
(TAPE_CUDA_GRAPHS=1), but not in profiles, and the memory is the GPU's.

A side that fails or is not done in the time of its part has the reason in its place, and the others go on. The tables are
printed row by row and written to OUT.md and, with the figures of every run and the machine as reported by `tapeformer info`, to
OUT.json. Both are written after each row, so that stopping the script loses nothing.
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

from sides import COMMAND, Failed, Prepared, await_prepared, info, is_intel, measure, output_of, run, unlocked

HERE = pathlib.Path(__file__).resolve().parent
STEPS = {"gpt-nano": 100, "gpt-124m": 5}  # per run on a CPU; 10 for other models
# Dropout, precision, and the flags of PyTorch's fastest other form: compiling takes most of the time.
GPU = {
    "gpt-nano": (0.0, "high", ["--compile", "--graphs"]),
    "tiny": (0.3, "high", ["--compile", "--graphs"]),
    "gpt-char": (0.2, "medium", ["--compile", "--graphs"]),
    "base": (0.1, "medium", ["--compile"]),
    "gpt-124m": (0.0, "medium", ["--compile"]),
}
GRAPHS = {"TAPE_CUDA_GRAPHS": "1"}
TARGET_LOSS = 1.47
PREPARING = 0.65  # share of the time of a part that PyTorch's sides have to get ready
PROFILE_ROWS = 10


class Clock:
    """The time that is left of a part's; None without a limit."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.end = seconds and time.monotonic() + seconds

    def left(self):
        return self.end and max(self.end - time.monotonic(), 0.0)

    def limit(self):
        """The same for a side that has to begin now."""
        left = self.left()
        if left is not None and left < 1:
            raise Failed([], f"no time is left of the {self.seconds} s of this part")
        return left


def with_unlocked(sides, folder):
    """The sides, and on CPUs other than Intel's those of PyTorch a second time with all of MKL's kernels."""
    if is_intel():
        return sides
    more = {f"{name} unlocked": (command, unlocked(folder)) for name, (command, _) in sides.items() if name != "tapeformer"}
    return {**sides, **more}


def python(args, script, words):
    return [args.python, HERE / script, *words]


def texts(*words):
    return [str(word) for word in words]


def compare(row, sides, args, clock):
    """A row: name -> cell, and the figures. Runs every side once per round, alternating, unless it has failed."""
    runs, reasons = {name: [] for name in sides}, {}
    for _, (name, side) in itertools.product(range(args.rounds), sides.items()):
        try:
            if name not in reasons:
                runs[name].append(measure(side, clock.limit()))
        except Failed as failure:
            reasons[name] = failure.reason
    figures, cells = {}, {}
    for name in sides:
        if name in reasons:
            figures[name], cells[name] = {"failed": reasons[name]}, reasons[name]
            continue
        ms = statistics.median(each["min_ms"] for each in runs[name])
        mb = max(each.get("gpu_mb", each["rss_mb"]) for each in runs[name])
        figures[name], cells[name] = {"ms": ms, "mb": mb, "runs": runs[name]}, f"{ms:,.1f} ms, {mb:,} MB"
    others = [side["ms"] for name, side in figures.items() if name != "tapeformer" and "ms" in side]
    speedup = min(others) / figures["tapeformer"]["ms"] if others and "tapeformer" not in reasons else None
    cells["speedup"] = "-" if speedup is None else f"{speedup:.2f}"
    return {**row, "sides": figures, "times_as_fast": speedup, "cells": {**row, **cells}}


def compare_prepared(cases, args, clock):
    """The rows of cases, whose Prepared sides all get ready first, since that takes them longer than the measurements."""
    prepared = [side for _, sides in cases for side in sides.values() if isinstance(side, Prepared)]
    try:
        await_prepared(prepared, clock.left() and PREPARING * clock.left())
        for row, sides in cases:
            yield compare(row, sides, args, clock)
    finally:
        for side in prepared:
            side.end()


def training_steps(args, folder, clock):
    for config, dropout, precision, threads in itertools.product(args.configs, args.dropout, args.precision, args.threads or [2]):
        steps = args.steps or STEPS.get(config, 10)
        common = texts("--config", config, "--dropout", dropout, "--threads", threads, "--steps", steps, "--precision", precision)
        eager = python(args, "pytorch_train_step.py", common)
        sides = {
            "tapeformer": ([args.command, "bench", "train-step", *common, "--json"], None),
            "eager": (eager, None),
            "compiled": ([*eager, "--compile"], None),
        }
        row = {"config": config, "dropout": dropout, "precision": precision, "threads": threads}
        yield compare(row, with_unlocked(sides, folder), args, clock)


def decoding(args, folder, clock):
    for precision, batch, beam, threads in itertools.product(args.precision, args.batch, args.beam, args.threads or [2]):
        size = ["--batch", batch, "--beam", beam, "--precision", precision]
        common = texts("--config", "base", "--threads", threads, "--steps", 5, *size)
        sides = {
            "tapeformer": ([args.command, "bench", "decode", *common, "--json"], None),
            "generate": (python(args, "pytorch_decode.py", common), None),
        }
        row = {"config": "base", "batch": batch, "beams": beam, "precision": precision, "threads": threads}
        yield compare(row, with_unlocked(sides, folder), args, clock)


def training_steps_on_gpu(args, folder, clock):
    cases = []
    for config in args.configs:
        dropout, precision, fastest = GPU[config]
        how = ["--dropout", dropout, "--precision", precision, "--device", "cuda"]
        common = texts("--config", config, "--steps", args.steps or 8, *how)
        eager = python(args, "pytorch_train_step.py", common)
        sides = {
            "tapeformer": ([args.command, "bench", "train-step", *common, "--warmup", "4", "--json"], GRAPHS),
            "eager": Prepared(eager),
            "compiled": Prepared([*eager, *fastest], {"TORCHINDUCTOR_COMPILE_THREADS": "3"}),
        }
        cases.append(({"config": config, "dropout": dropout, "precision": precision, "graphs": "--graphs" in fastest}, sides))
    yield from compare_prepared(cases, args, clock)


def decoding_on_gpu(args, folder, clock):
    cases = []
    for batch in args.batch:
        common = texts("--config", "gpt-124m", "--batch", batch, "--steps", 3, "--device", "cuda", "--precision", "medium")
        sides = {
            "tapeformer": ([args.command, "bench", "decode", *common, "--json"], GRAPHS),
            "generate": Prepared(python(args, "pytorch_decode.py", common)),
        }
        cases.append(({"config": "gpt-124m", "batch": batch, "precision": "medium"}, sides))
    yield from compare_prepared(cases, args, clock)


def threads_of_cpu(args, folder, clock):
    """Training steps in f32 by number of threads, and the speedup over the first."""
    numbers = args.threads or [n for n in (1, 2, 4, 8, 16) if n <= len(os.sched_getaffinity(0))]
    cases = []
    for (config, steps), threads in itertools.product((("gpt-nano", 20), ("gpt-char", 2)), numbers):
        common = texts("--config", config, "--threads", threads, "--steps", args.steps or steps)
        sides = {
            "tapeformer": ([args.command, "bench", "train-step", *common, "--warmup", "1", "--json"], None),
            "eager": Prepared(python(args, "pytorch_train_step.py", [*common, "--warm-up", "1"])),
        }
        cases.append(({"config": config, "threads": threads}, sides))
    first = {}
    for row in compare_prepared(cases, args, clock):
        ms = row["sides"]["tapeformer"].get("ms")
        alone = first.setdefault(row["config"], ms)
        row["over_fewest_threads"] = alone / ms if alone and ms else None
        row["cells"][f"over {numbers[0]} thread(s)"] = f"{alone / ms:.2f}" if alone and ms else "-"
        yield row


def whole_run(args, folder, clock):
    """One row: a run of the recipe, whose log has the time and the loss of each evaluation."""
    row, steps = {"config": "gpt-char", "precision": "medium"}, args.steps or 5000
    names = ["steps", f"s until {TARGET_LOSS}", "least validation loss", "s of training", "s in all"]
    try:
        if not args.text or not pathlib.Path(args.text).is_file():
            raise Failed([], f"{args.text} does not exist" if args.text else "needs a corpus: --text FILE, see --help")
        limit = clock.limit()
        words = ["--text", args.text, "--out", folder / "run", "--overwrite", "--device", args.device, "--precision", "medium"]
        words += ["--layers", 6, "--width", 384, "--heads", 6, "--context", 256, "--batch", 64, "--dropout", 0.2]
        words += ["--steps", steps, "--lr", 1e-3, "--warmup", min(100, steps), "--evaluate-every", 250, "--keep-last", 1]
        # It stops by itself in time to report what it has reached.
        words += [] if limit is None else ["--seconds", limit - 5]
        result = run([args.command, "train", "lm", *texts(*words), "--json"], GRAPHS, limit)
        events = [json.loads(line) for line in (folder / "run/log.jsonl").read_text().splitlines()]
        found = [event for event in events if event["event"] == "eval"]
        until = next((event["seconds"] for event in found if event["loss"] <= TARGET_LOSS), None)
        least = min((event["loss"] for event in found), default=result["valid_loss"])
        cells = [result["steps"], "-" if until is None else f"{until:.1f}", f"{least:.4f}"]
        cells += [f"{result[key]:.1f}" for key in ("train_seconds", "wall_seconds")]
        yield {**row, "until_target": until, "evaluations": found, **result, "cells": {**row, **dict(zip(names, cells))}}
    except Failed as failure:
        yield {**row, "failed": failure.reason, "cells": {**row, **dict.fromkeys(names, "-"), "steps": failure.reason}}


def profiles(args, folder, clock):
    """The head of the table that `bench train-step --profile` prints."""
    for config in ("gpt-124m", "gpt-char"):
        dropout, precision, _ = GPU[config]
        words = ["--config", config, "--dropout", dropout, "--precision", precision, "--device", args.device]
        command = [args.command, "bench", "train-step", *texts(*words, "--steps", args.steps or 10), "--profile"]
        try:
            *table, whole, peaks, _ = output_of(command, None, clock.limit()).splitlines()
            lines = [*table[: PROFILE_ROWS + 1], whole, peaks]
        except Failed as failure:
            lines = [failure.reason]
        yield {"config": config, "dropout": dropout, "precision": precision, "profile": lines}


@dataclass
class Part:
    title: str
    on_cpu: Callable
    on_gpu: Callable
    seconds: int  # on a GPU


PARTS = {
    "run": Part("A whole run", whole_run, whole_run, 60),
    "profile": Part("Most expensive operations", profiles, profiles, 20),
    "steps": Part("Training steps", training_steps, training_steps_on_gpu, 130),
    "decoding": Part("Decoding", decoding, decoding_on_gpu, 40),
    "cpu": Part("Training steps by threads of the CPU", threads_of_cpu, threads_of_cpu, 45),
}


def lines(row, is_first):
    """A row of a table, whose first has the heading, or a profile."""
    if "profile" in row:
        title = f"{row['config']}, precision {row['precision']}:"
        return ([] if is_first else [""]) + [title, "", "```text", *row["profile"], "```"]
    head = [f"| {' | '.join(row['cells'])} |", f"|{' --- |' * len(row['cells'])}"] if is_first else []
    return head + [f"| {' | '.join(str(cell).replace('|', '/') for cell in row['cells'].values())} |"]


def save(out, machine, tables):
    text = ["# Tapeformer compared with PyTorch", ""]
    text += [f"- {key}: {value}" for key, value in machine.items() if not isinstance(value, dict)]
    for what, rows in tables.items():
        text += ["", f"## {PARTS[what].title}", ""] if rows else []
        text += [each for number, row in enumerate(rows) for each in lines(row, number == 0)]
    pathlib.Path(f"{out}.md").write_text("\n".join(text) + "\n")
    figures = {what: [{name: row[name] for name in row if name != "cells"} for row in rows] for what, rows in tables.items()}
    pathlib.Path(f"{out}.json").write_text(json.dumps({"machine": machine, **figures}, indent=1) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=COMMAND, help="path of the built tapeformer (%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch (%(default)s)")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--what", nargs="+", choices=list(PARTS), help="steps and decoding, on a GPU all")
    parser.add_argument("--text", help="corpus of the whole run")
    parser.add_argument("--configs", nargs="+", default=["gpt-nano", "gpt-char", "base", "gpt-124m", "tiny"])
    parser.add_argument("--dropout", type=float, nargs="+", default=[0.0])
    parser.add_argument("--precision", nargs="+", choices=["highest", "high", "medium"], default=["highest", "medium"])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 32], help="sentences decoded at once")
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--threads", type=int, nargs="+", help="2, for cpu 1, 2, 4, 8 and 16")
    parser.add_argument("--steps", type=int, default=0, help="training steps per run; 0: as many as a part needs")
    parser.add_argument("--rounds", type=int, help="3, on a GPU 1")
    parser.add_argument("--out", default="compare", help="path of the output files, without .md and .json")
    args = parser.parse_args()
    if not shutil.which(args.python):
        parser.error(f"--python: {args.python} is not a program")
    args.rounds = args.rounds or (1 if args.device == "cuda" else 3)
    args.what = args.what or (list(PARTS) if args.device == "cuda" else ["steps", "decoding"])
    return args


def main():
    args, began = arguments(), time.monotonic()
    machine = info(args.command)
    print("\n".join(f"{key}: {value}" for key, value in machine.items()), flush=True)
    tables = {what: [] for what in args.what}
    with tempfile.TemporaryDirectory() as folder:
        for what, rows in tables.items():
            part = PARTS[what]
            cases = part.on_gpu if args.device == "cuda" else part.on_cpu
            clock = Clock(part.seconds if args.device == "cuda" else None)
            for row in cases(args, pathlib.Path(folder), clock):
                rows.append(row)
                title = ["", part.title, ""] if len(rows) == 1 else []
                print("\n".join([*title, *lines(row, len(rows) == 1)]), flush=True)
                save(args.out, machine, tables)
    print(f"\n{time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main()
