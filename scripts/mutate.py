#!/usr/bin/env python3
"""Mutation testing: changes the library's code by rules, one place at a time, and counts how often its tests fail.

    scripts/mutate.py                       150 mutants, chosen with seed 1
    scripts/mutate.py --count 30 --areas optim,decoding --seed 7
    scripts/mutate.py --summary             only print the table of results so far
    scripts/mutate.py --again               test surviving mutants again (there may be new tests)
    scripts/mutate.py --since main~3        only lines changed since that commit, including uncommitted changes

Build first: it uses objects and test programs from --build (build/release). The sources stay unchanged: a mutant is made
from copies in --out (build/mutate), compiled and linked into a separate library. Tests run with that until one fails,
crashes or times out: first those of the file in tests/ that mirrors the source, then the area's programs. Mutants that do
not compile, or give the same object code, do not count. Results are lines of JSON in OUT/results.jsonl, from which an
interrupted run continues.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import mutation_build
import mutation_rules

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Without tests that take more than some seconds, as in FOLDER.in_one_process (tests/CMakeLists.txt).
QUICK_AUTOGRAD = ("-Levels/Attention*:Backends/TileAttention*:Levels/VecMath*:Levels/GemmAtLevel*:Backends/Bf16Products*:"
                  "TileProduct.*:Tape.*DeepChain*:Blame.ClearsEveryRegistered*")
QUICK_TRAIN = "-TranslationTest.DoctorSays*:TranslationTest.GoesOn*"


@dataclasses.dataclass(frozen=True)
class Area:
    """Sources, their share of all mutants, and the test programs with filters to run, in this order."""
    sources: tuple
    share: float
    steps: tuple


AREAS = {
    # Only headers that few kernels include.
    "kernels": Area(("autograd/kernels/**/*.cpp", "autograd/kernels/**/*_rows.h", "autograd/kernels/**/*_blocks.h",
                     "autograd/kernels/elementwise/broadcast_loops.h"), 0.17,
                    (("test_autograd", QUICK_AUTOGRAD),)),
    "operations": Area(("autograd/ops/**/*.cpp",), 0.17, (("test_autograd", QUICK_AUTOGRAD), ("test_nn", "*"))),
    "layers": Area(("nn/**/*.cpp", "autograd/mask.cpp"), 0.14,
                   (("test_nn", "*"), ("test_models", "-Warmup.*:SecondDerivatives.OfAWhole*"),
                    ("test_inspect", "-RunReport.StaysSmall*"))),
    "optimizers": Area(("optim/*.cpp",), 0.10, (("test_optim", "*"), ("test_train", QUICK_TRAIN))),
    "checkpoints": Area(("train/checkpoints/checkpoint.cpp", "train/checkpoints/trainer_state.cpp",
                         "train/checkpoints/manifest.cpp", "train/checkpoints/resume.cpp", "train/runs/run_folder.cpp",
                         "autograd/io/*.cpp"), 0.12,
                        (("test_autograd", "*Safetensors*:Npy.*"), ("test_train", QUICK_TRAIN))),
    "training": Area(("train/checkpoints/*.cpp", "train/data/*.cpp", "train/doctor/*.cpp", "train/init/*.cpp",
                      "train/memory/*.cpp", "train/runs/*.cpp", "train/tasks/*.cpp", "train/trainer/*.cpp"), 0.06,
                      (("test_train", QUICK_TRAIN),)),
    "decoding": Area(("models/decoding/beam.cpp", "models/decoding/greedy.cpp", "models/decoding/sampling.cpp",
                      "models/decoding/generate.cpp", "models/encoder_decoders/translate.cpp",
                      "models/heads/length_batches.cpp"), 0.10,
                     (("test_models", "-Warmup.*:SecondDerivatives.OfAWhole*"),)),
    "tokenizers": Area(("text/**/*.cpp",), 0.14,
                       (("test_text", "-NumberWords.EveryNumberHas*:ReadingTime.EveryTokenizer*"),)),
}


def places_of(sources, area):
    """Returns all mutants of an area by rule."""
    by_rule = collections.defaultdict(list)
    for pattern in AREAS[area].sources:
        for path in sorted(sources.glob(pattern)):
            name = str(path.relative_to(sources))
            for mutant in mutation_rules.mutants_of(path.read_text()):
                by_rule[mutant.rule].append((name, mutant))
    return by_rule


def lines_since(commit):
    """Returns the lines of the current sources that differ from a commit: {"optim/adam.cpp": {12, 13}}."""
    diff = subprocess.run(["git", "-C", str(ROOT), "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames",
                           "--src-prefix=a/", "--dst-prefix=b/", commit, "--", "*.cpp", "*.h"],
                          check=True, capture_output=True, text=True).stdout
    return mutation_rules.lines_of_diff(diff)


def in_random_order(sources, area, seed, lines=None):
    """Each place once: a rule is drawn first, so that rules with few places are tried, too. Given `lines` ({file: line
    numbers}), those there alone."""
    draws = random.Random(f"{seed} {area}")
    by_rule = places_of(sources, area)
    if lines is not None:
        by_rule = {rule: [(name, mutant) for name, mutant in places if not lines.get(name, set()).isdisjoint(mutant.lines())]
                   for rule, places in by_rule.items()}
        by_rule = {rule: places for rule, places in by_rule.items() if places}
    for places in by_rule.values():
        draws.shuffle(places)
    while by_rule:
        rule = draws.choice(sorted(by_rule))
        yield by_rule[rule].pop()
        if not by_rule[rule]:
            del by_rule[rule]


def key_of(sources, name, mutant):
    line = (sources / name).read_text().split("\n")[mutant.line - 1].strip()
    return {"file": name, "line": mutant.line, "rule": mutant.rule, "begin": mutant.begin, "text": line}


def read_results(path):
    results = {}
    if path.exists():
        for line in path.read_text().splitlines():
            one = json.loads(line)
            results[(one["file"], one["rule"], one["begin"], one["text"])] = one
    return results


def own_tests(name):
    """Returns program and filter of the file in tests/ that mirrors a source, if there is one."""
    path = (ROOT / "tests" / name).with_suffix(".cpp")
    text = path.read_text() if path.exists() else ""
    suites = set(re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),", text, re.MULTILINE))
    if not suites:
        return []
    return [(f'test_{name.split("/", maxsplit=1)[0]}', ":".join(f"{suite}.*:*/{suite}.*" for suite in sorted(suites)))]


def judge(build, area, name, mutant):
    """Makes the mutant and runs the area's tests. Returns the record of the result."""
    made = build.make(name, mutant)
    if made != "made":
        return {"result": made}
    for program, chosen in (*own_tests(name), *AREAS[area].steps):
        noticed = build.run(program, chosen)
        if noticed:
            return {"result": "killed", "by": noticed}
    return {"result": "survived"}


class Run:
    """Tests mutants of several areas in turn, by each area's share."""

    def __init__(self, options):
        self.options = options
        self.path = options.out / "results.jsonl"
        self.results = read_results(self.path)
        self.build = mutation_build.Build(ROOT, options.build, options.out)

    def note(self, area, name, mutant, found):
        one = {"area": area, **key_of(self.build.sources, name, mutant), "new": mutant.new, **found}
        self.results[(one["file"], one["rule"], one["begin"], one["text"])] = one
        with self.path.open("a") as out:
            out.write(json.dumps(one) + "\n")
        print(f'{time.strftime("%H:%M:%S")} {area} {name}:{mutant.line} {mutant.rule}: {found["result"]}'
              f'{" by " + found["by"] if "by" in found else ""}', flush=True)

    def known(self, name, mutant):
        key = key_of(self.build.sources, name, mutant)
        return self.results.get((name, mutant.rule, mutant.begin, key["text"]))

    def go(self):
        wanted = {area: max(1, round(self.options.count * AREAS[area].share)) for area in self.options.areas}
        lines = self.options.lines
        if lines is not None:  # few places, so take all regardless of the shares
            wanted = dict.fromkeys(wanted, self.options.count)
        places = {area: in_random_order(self.build.sources, area, self.options.seed, lines) for area in wanted}
        counted = dict.fromkeys(wanted, 0)
        while places and (lines is None or sum(counted.values()) < self.options.count):
            area = min(places, key=lambda a: counted[a] / wanted[a])
            place = next(places[area], None)
            if place is None or counted[area] >= wanted[area]:
                del places[area]
                continue
            found = self.known(*place)
            if found is None:
                self.note(area, *place, judge(self.build, area, *place))
                found = self.known(*place)
            counted[area] += found["result"] in ("killed", "survived")

    def again(self):
        survivors = [one for one in self.results.values() if one["result"] == "survived"]
        for one in [one for one in survivors if one["area"] in self.options.areas]:
            for mutant in mutation_rules.mutants_of((self.build.sources / one["file"]).read_text()):
                if self.known(one["file"], mutant) is one:
                    self.note(one["area"], one["file"], mutant, judge(self.build, one["area"], one["file"], mutant))


def summary(results):
    counts = collections.defaultdict(collections.Counter)
    for one in results.values():
        counts[one["area"]][one["result"]] += 1
        counts["all"][one["result"]] += 1
    lines = ["| area | mutants | killed | share | same code | do not compile |",
             "| --- | --- | --- | --- | --- | --- |"]
    for area in [*AREAS, "all"]:
        found = counts[area]
        made = found["killed"] + found["survived"]
        share = f'{100 * found["killed"] / made:.1f}%' if made else "-"
        lines.append(f'| {area} | {made} | {found["killed"]} | {share} | {found["same code"]} | '
                     f'{found["does not compile"]} |')
    survivors = [one for one in results.values() if one["result"] == "survived"]
    for one in sorted(survivors, key=lambda one: (one["file"], one["line"])):
        lines.append(f'survived: {one["file"]}:{one["line"]}: {one["rule"]}: {one["text"]}')
    return "\n".join(lines)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=150, help="mutants that compile, over all areas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--areas", type=lambda text: text.split(","), default=list(AREAS), help=", ".join(AREAS))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/mutate")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--since", metavar="COMMIT", help="mutate only lines that were changed since COMMIT")
    options = parser.parse_args()
    options.build, options.out = options.build.resolve(), options.out.resolve()
    try:
        options.lines = lines_since(options.since) if options.since else None
    except subprocess.CalledProcessError as error:
        parser.error(f"--since: {error.stderr.strip()}")
    if options.since and options.again:
        parser.error("--since cannot be combined with --again, which tests the survivors of earlier runs")
    for area in options.areas:
        if area not in AREAS:
            parser.error(f'--areas: "{area}" is not one of {", ".join(AREAS)}')
    return options


def main():
    options = parsed()
    if options.summary:
        print(summary(read_results(options.out / "results.jsonl")))
        return 0
    # SIGTERM also ends the running tests.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run = Run(options)
    try:
        run.build.check({step for area in options.areas for step in AREAS[area].steps})
        run.again() if options.again else run.go()
    except KeyboardInterrupt:
        print("stopped; run the same command to continue")
        return 130
    except subprocess.CalledProcessError as error:
        sys.exit(f"mutate: {error.cmd[0]} ended with {error.returncode}: {error.stderr}")
    print(summary(run.results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
