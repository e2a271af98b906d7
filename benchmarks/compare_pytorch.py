#!/usr/bin/env python3
"""Training steps of Tapeformer and PyTorch side by side: each round runs every side once, in turn; the table has the
medians over the rounds of each run's fastest step, and how many times as fast Tapeformer is.

    python3 benchmarks/compare_pytorch.py --command build/release/tools/tapeformer [--configs gpt-nano base] [--rounds 3]

PyTorch runs eager and compiled; on a CPU that is not Intel's also with MKL's AVX-512 kernels, which MKL keeps for Intel's
CPUs unless a function of its own says otherwise (columns "unlocked"; needs gcc). Nothing else should run meanwhile.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

from sides import is_intel, print_machine, rounds, unlocked

HERE = pathlib.Path(__file__).resolve().parent
STEPS = {"gpt-nano": 100, "gpt-124m": 5}


def sides(args, config, dropout, folder):
    """Name -> (command, environment) of everything that is compared."""
    steps = str(args.steps or STEPS.get(config, 10))
    common = ["--config", config, "--dropout", str(dropout), "--threads", str(args.threads), "--steps", steps]
    python = [sys.executable, HERE / "pytorch_train_step.py", *common]
    tapeformer = [args.command, "bench", "train-step", *common, "--json"]
    if args.bf16:
        return {"tapeformer": ([*tapeformer, "--precision", "medium"], None), "eager bf16": ([*python, "--bf16"], None),
                "compiled bf16": ([*python, "--bf16", "--compile"], None)}  # fmt: skip
    found = {"tapeformer": (tapeformer, None), "eager": (python, None), "compiled": ([*python, "--compile"], None)}
    if not is_intel():
        found["eager unlocked"] = (python, unlocked(folder))
        found["compiled unlocked"] = ([*python, "--compile"], unlocked(folder))
    return {name: side for name, side in found.items() if not args.only or name == "tapeformer" or name in args.only}


def compare(args, config, dropout, folder):
    results = rounds(args.rounds, sides(args, config, dropout, folder))
    ours = results["tapeformer"]
    median = {name: statistics.median(r["min_ms"] for r in runs) for name, runs in results.items()}
    print(f"\n{config}, dropout {dropout}, {args.threads} threads, {ours[0]['params']:,} parameters "
          f"(kernels {ours[0]['isa']}, BLAS core {ours[0]['blas_core']})")  # fmt: skip
    print(f"{'':20}{'ms/step':>10}{'tokens/s':>10}{'peak MB':>9}{'tapeformer is':>18}")
    for name, runs in results.items():
        ratio = "" if name == "tapeformer" else f"{median[name] / median['tapeformer']:.2f} times"
        best = max(r["tok_s"] for r in runs)
        print(f"{name:20}{median[name]:>10.2f}{best:>10}{max(r['rss_mb'] for r in runs):>9}{ratio:>18}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/tools/tapeformer")
    parser.add_argument("--configs", nargs="+", default=["gpt-nano", "gpt-char", "base", "gpt-124m", "tiny"])
    parser.add_argument("--dropout", type=float, nargs="+", default=[0.0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=0, help="steps a run; by default 10, more for small models")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="the sides to compare with")
    parser.add_argument("--bf16", action="store_true", help="bf16 on both sides")
    args = parser.parse_args()
    print_machine(args.command)
    with tempfile.TemporaryDirectory() as folder:
        for config in args.configs:
            for dropout in args.dropout:
                compare(args, config, dropout, pathlib.Path(folder))


if __name__ == "__main__":
    main()
