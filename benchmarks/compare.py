#!/usr/bin/env python3
"""Compares Tapeformer with PyTorch and transformers on this machine: training steps, and decoding 32 tokens to 32 tokens.

    python3 benchmarks/compare.py                                        # everything; an hour or two on two cores
    python3 benchmarks/compare.py --what steps --configs gpt-nano --rounds 1
    python3 benchmarks/compare.py --what steps --configs gpt-char base --precision highest high medium
    python3 benchmarks/compare.py --device cuda                          # on a GPU; five minutes on an H100

Each round runs every side once, alternating. A row has the medians over the rounds of each side's fastest step or
decoding, its peak memory, and Tapeformer's speedup over the fastest other side. PyTorch runs eager and compiled: in medium
precision under bf16 autocast, otherwise with `torch.set_float32_matmul_precision`. On CPUs other than Intel's, PyTorch also
runs with MKL's AVX-512 kernels, which MKL otherwise restricts to Intel CPUs ("unlocked"; needs gcc). Nothing else should
run at the same time.

On a GPU the models are larger (tools/bench_model.cpp) and have the dropout and precision of GPU below; Tapeformer launches
graphs (TAPE_CUDA_GRAPHS=1), and the memory is the GPU's. Decoding is that of GPT-2 with 124 million parameters in bf16, 128
tokens behind 16, by `generate` of both.

The tables are printed row by row and written to OUT.md and, with the figures of every run and the machine as reported by
`tapeformer info`, to OUT.json. Both are written after each row, so that stopping the script loses nothing.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import sys
import tempfile

from sides import COMMAND, info, is_intel, rounds, unlocked

HERE = pathlib.Path(__file__).resolve().parent
STEPS = {"gpt-nano": 100, "gpt-124m": 5}  # per run; 10 for other models
# Dropout, precision, and the flags of PyTorch's fastest other form: compiling takes most of the time.
GPU = {
    "gpt-nano": (0.0, "high", ["--compile", "--graphs"]),
    "tiny": (0.3, "high", ["--compile", "--graphs"]),
    "gpt-char": (0.2, "medium", ["--compile", "--graphs"]),
    "base": (0.1, "medium", ["--compile"]),
    "gpt-124m": (0.0, "medium", ["--compile"]),
}


def with_unlocked(sides, folder):
    """The sides, and on CPUs other than Intel's those of PyTorch a second time with all of MKL's kernels."""
    if is_intel():
        return sides
    more = {f"{name} unlocked": (command, unlocked(folder)) for name, (command, _) in sides.items() if name != "tapeformer"}
    return {**sides, **more}


def training_steps(args, folder):
    """(Description of the row, name -> (command, environment)) for each training step to compare."""
    for config, dropout, precision, threads in itertools.product(args.configs, args.dropout, args.precision, args.threads):
        steps = args.steps or STEPS.get(config, 10)
        common = ["--config", config, "--dropout", dropout, "--threads", threads, "--steps", steps, "--precision", precision]
        common = [str(word) for word in common]
        python = [sys.executable, HERE / "pytorch_train_step.py", *common]
        sides = {
            "tapeformer": ([args.command, "bench", "train-step", *common, "--json"], None),
            "eager": (python, None),
            "compiled": ([*python, "--compile"], None),
        }
        row = {"config": config, "dropout": dropout, "precision": precision, "threads": threads}
        yield row, with_unlocked(sides, folder)


def decoding(args, folder):
    """The same for each decoding."""
    for precision, batch, beam, threads in itertools.product(args.precision, args.batch, args.beam, args.threads):
        common = ["--config", "base", "--threads", threads, "--steps", 5, "--batch", batch, "--beam", beam]
        common = [str(word) for word in [*common, "--precision", precision]]
        sides = {
            "tapeformer": ([args.command, "bench", "decode", *common, "--json"], None),
            "generate": ([sys.executable, HERE / "pytorch_decode.py", *common], None),
        }
        row = {"config": "base", "batch": batch, "beams": beam, "precision": precision, "threads": threads}
        yield row, with_unlocked(sides, folder)


def training_steps_on_gpu(args, folder):
    for config in args.configs:
        dropout, precision, fastest = GPU[config]
        common = ["--config", config, "--dropout", dropout, "--steps", args.steps or 20, "--precision", precision, "--device", "cuda"]
        common = [str(word) for word in common]
        python = [sys.executable, HERE / "pytorch_train_step.py", *common]
        sides = {
            "tapeformer": ([args.command, "bench", "train-step", *common, "--warmup", "4", "--json"], {"TAPE_CUDA_GRAPHS": "1"}),
            "eager": (python, None),
            "compiled": ([*python, *fastest], None),
        }
        yield {"config": config, "dropout": dropout, "precision": precision, "graphs": "--graphs" in fastest}, sides


def decoding_on_gpu(args, folder):
    for batch in args.batch:
        common = ["--config", "gpt-124m", "--batch", str(batch), "--steps", "3", "--device", "cuda", "--precision", "medium"]
        sides = {
            "tapeformer": ([args.command, "bench", "decode", *common, "--json"], {"TAPE_CUDA_GRAPHS": "1"}),
            "generate": ([sys.executable, HERE / "pytorch_decode.py", *common], None),
        }
        yield {"config": "gpt-124m", "batch": batch, "precision": "medium"}, sides


WHAT = {"steps": ("Training steps", training_steps), "decoding": ("Decoding", decoding)}
ON_GPU = {"steps": training_steps_on_gpu, "decoding": decoding_on_gpu}


def summary(row, results):
    """The figures of one row: milliseconds and megabytes of each side, and the speedup."""
    sides = {
        name: {"ms": statistics.median(run["min_ms"] for run in runs), "mb": max(run.get("gpu_mb", run["rss_mb"]) for run in runs), "runs": runs}
        for name, runs in results.items()
    }
    best = min(side["ms"] for name, side in sides.items() if name != "tapeformer")
    return {**row, "sides": sides, "times_as_fast": best / sides["tapeformer"]["ms"]}


def heading(row):
    what = [name for name in row if name not in ("sides", "times_as_fast")]
    columns = [*what, *row["sides"], "speedup"]
    return f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}"


def line(row):
    what = [str(row[name]) for name in row if name not in ("sides", "times_as_fast")]
    sides = [f"{side['ms']:,.1f} ms, {side['mb']:,} MB" for side in row["sides"].values()]
    return f"| {' | '.join([*what, *sides, format(row['times_as_fast'], '.2f')])} |"


def table(rows):
    return "\n".join([heading(rows[0]), *map(line, rows)])


def save(out, machine, tables):
    said = "\n".join(f"- {key}: {value}" for key, value in machine.items() if not isinstance(value, dict))
    parts = [f"## {WHAT[what][0]}\n\n{table(rows)}\n" for what, rows in tables.items() if rows]
    pathlib.Path(f"{out}.md").write_text(f"# Tapeformer compared with PyTorch\n\n{said}\n\n" + "\n".join(parts))
    pathlib.Path(f"{out}.json").write_text(json.dumps({"machine": machine, **tables}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=COMMAND, help="path of the built tapeformer (%(default)s)")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--what", nargs="+", choices=sorted(WHAT), default=list(WHAT))
    parser.add_argument("--configs", nargs="+", default=["gpt-nano", "gpt-char", "base", "gpt-124m", "tiny"])
    parser.add_argument("--dropout", type=float, nargs="+", default=[0.0])
    parser.add_argument("--precision", nargs="+", choices=["highest", "high", "medium"], default=["highest", "medium"])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 32], help="sentences decoded at once")
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--steps", type=int, default=0, help="training steps per run; 0: 10, more for small models")
    parser.add_argument("--rounds", type=int, help="3, on a GPU 1")
    parser.add_argument("--out", default="compare", help="path of the output files, without .md and .json")
    args = parser.parse_args()
    args.rounds = args.rounds or (1 if args.device == "cuda" else 3)
    machine = info(args.command)
    print("\n".join(f"{key}: {value}" for key, value in machine.items()), flush=True)
    tables = {what: [] for what in args.what}
    with tempfile.TemporaryDirectory() as folder:
        for what, rows in tables.items():
            title, cases = WHAT[what]
            cases = ON_GPU[what] if args.device == "cuda" else cases
            for row, sides in cases(args, pathlib.Path(folder)):
                rows.append(summary(row, rounds(args.rounds, sides)))
                if len(rows) == 1:
                    print(f"\n{title}\n\n{heading(rows[0])}")
                print(line(rows[-1]), flush=True)
                save(args.out, machine, tables)


if __name__ == "__main__":
    main()
