#!/usr/bin/env python3
"""Compares a whole training run in Tapeformer and in PyTorch: nanoGPT's CPU recipe on a text file, from the start of the process
to its end, including reading, validation and (Tapeformer) checkpoints, log and report.

    python3 benchmarks/compare_language_model.py --text input.txt --command build/release/tools/tapeformer [--steps 500]

On CPUs other than Intel's also with MKL's AVX-512 kernels (rows "unlocked"; see compare.py). Nothing else should run at
the same time.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

from sides import COMMAND, is_intel, print_machine, rounds, unlocked

HERE = pathlib.Path(__file__).resolve().parent


def sides(args, folder):
    """Name -> (command, environment) of every side."""
    common = ["--text", args.text, "--steps", str(args.steps), "--threads", str(args.threads)]
    ours = [args.command, "train", "lm", *common, "--evaluate-every", str(args.steps), "--json", "--overwrite"]
    python = [sys.executable, HERE / "pytorch_language_model.py", *common]
    found = {"tapeformer": ([*ours, "--out", folder / "run"], None), "eager": (python, None),
             "compiled": ([*python, "--compile"], None)}  # fmt: skip
    if not is_intel():
        found["eager unlocked"] = (python, unlocked(folder))
        found["compiled unlocked"] = ([*python, "--compile"], unlocked(folder))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--command", default=COMMAND, help="path of the built tapeformer (%(default)s)")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print_machine(args.command)
    with tempfile.TemporaryDirectory() as folder:
        results = rounds(args.rounds, sides(args, pathlib.Path(folder)))
    median = {name: statistics.median(r["wall_seconds"] for r in runs) for name, runs in results.items()}
    print(f"\n{'':20}{'seconds':>10}{'valid loss':>12}{'speedup over it':>18}")
    for name, runs in results.items():
        ratio = "" if name == "tapeformer" else f"{median[name] / median['tapeformer']:.2f}"
        print(f"{name:20}{median[name]:>10.2f}{runs[0]['valid_loss']:>12.4f}{ratio:>18}")


if __name__ == "__main__":
    main()
