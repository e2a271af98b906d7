#!/usr/bin/env python3
"""Runs every command in increasing amounts of address space. Each must work or report that memory is insufficient.

    low_memory.py --command build/release/tools/tapeformer --folder /tmp/memory [--steps 40] [--seconds 5]

The limits (setrlimit, RLIMIT_AS) go from 30 MB to 4 GB in a geometric sequence. With the largest, every command must end
with exit code 0; with others, with 0, or with 6 and one line "tapeformer: ..."; all within --seconds. The last line is
"N runs, M wrong".
"""

import argparse
import pathlib
import resource
import shutil
import subprocess
import sys
import time

LEAST, MOST = 30e6, 4e9
ENOUGH, TOO_LITTLE = 0, 6


def commands_of(folder):
    words, small = folder / "words", ["--layers", "1", "--width", "8", "--heads", "1"]
    labels, text, out = folder / "labels.tsv", folder / "text.txt", folder / "out"
    train = ["--steps", "2", "--max-length", "12", "--vocab-size", "270", *small, "--overwrite", "--out", out]
    return {
        "version": ["--version"],
        "info": ["info"],
        "completion": ["completion", "--shell", "bash"],
        "score": ["score", "--hyp", text, "--ref", text],
        "tokenize": ["tokenize", "--model", words],
        "translate": ["translate", "--model", words],
        "classify": ["classify", "--model", folder / "labels"],
        "generate": ["generate", "--model", folder / "letters", "--prompt", "one", "--max-new-tokens", "3"],
        "inspect": ["inspect", "--model", words, "--text", "drei", "--out", folder / "page.html"],
        "report": ["report", "--model", words, "--out", folder / "report.html"],
        "bench": ["bench", "decode", "--config", "tiny", "--steps", "1"],
        "demo": ["demo", "--steps", "2", "--batch-tokens", "40", "--pairs", "200", "--held-out", "1", "--seconds", "0", "--overwrite",
                 "--out", out],
        "train lm": ["train", "lm", "--text", text, "--context", "8", "--batch", "4", "--steps", "2", *small, "--overwrite",
                     "--out", out],
        "train classifier": ["train", "classifier", "--data", labels, "--batch", "8", *train],
    }


def run(command, arguments, bytes_allowed, seconds):
    """Returns the exit code, None on timeout, and the error output."""
    def limit():
        if bytes_allowed:
            resource.setrlimit(resource.RLIMIT_AS, (bytes_allowed, bytes_allowed))
    try:
        done = subprocess.run([command, *map(str, arguments)], input="drei\n", text=True, capture_output=True,
                              timeout=seconds, preexec_fn=limit, errors="replace")
    except subprocess.TimeoutExpired:
        return None, f"not finished within {seconds} s"
    return done.returncode, done.stderr


def prepare(command, folder):
    lines = [f"{a} {b}" for a in ("one", "two", "three") for b in ("four", "five", "six")] * 6
    (folder / "text.txt").write_text("\n".join(lines) + "\n")
    (folder / "labels.tsv").write_text("".join(f"{line}\t{'ab'[i % 2]}\n" for i, line in enumerate(lines)))
    commands = commands_of(folder)
    for name, kept in (("demo", "words"), ("train lm", "letters"), ("train classifier", "labels")):
        code, said = run(command, commands[name], None, 120)
        if code != ENOUGH:
            sys.exit(f"{name}: {said}")
        (folder / "out").rename(folder / kept)
    return commands


def is_right(code, said, largest):
    if code == ENOUGH:
        return True
    lines = [line for line in said.splitlines() if line.startswith("tapeformer: ")]
    return not largest and code == TOO_LITTLE and len(lines) == 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    commands = prepare(options.command, options.folder)
    runs = wrong = 0
    for step in range(options.steps):
        bytes_allowed = int(LEAST * (MOST / LEAST) ** (step / (options.steps - 1)))
        ended = {ENOUGH: 0, TOO_LITTLE: 0}
        for name, arguments in commands.items():
            began = time.monotonic()
            code, said = run(options.command, arguments, bytes_allowed, options.seconds)
            runs += 1
            if is_right(code, said, step == options.steps - 1):
                ended[code] += 1
                continue
            wrong += 1
            print(f"{bytes_allowed / 1e6:.0f} MB, {name}: exit code {code} after {time.monotonic() - began:.1f} s: {said}")
        print(f"{bytes_allowed / 1e6:.0f} MB: {ended[ENOUGH]} worked, {ended[TOO_LITTLE]} had too little memory")
    print(f"{runs} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
