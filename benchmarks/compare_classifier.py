#!/usr/bin/env python3
"""Compares fine-tuning a BERT folder on labeled lines in Tapeformer and in PyTorch with transformers, with the same recipe.
Each round runs every side once, alternating, with the round's number as seed; the table has the accuracy of each round and
the shortest time.

    python3 benchmarks/compare_classifier.py --command build/release/tools/tapeformer --init MiniLM \\
        --data train.txt --valid test.txt --format label-first [--lr 2e-4 --epochs 3] [--rounds 3]

Nothing else should run at the same time.
"""

import argparse
import pathlib
import sys
import tempfile

from sides import COMMAND, is_intel, print_machine, run, unlocked

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=COMMAND, help="path of the built tapeformer (%(default)s)")
    for name in ("--init", "--data", "--valid"):
        parser.add_argument(name, required=True)
    parser.add_argument("--format", choices=["tsv", "label-first"], default="tsv")
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    print_machine(args.command)
    common = ["--init", args.init, "--data", args.data, "--valid", args.valid, "--format", args.format,
              "--lr", args.lr, "--epochs", args.epochs, "--threads", args.threads]  # fmt: skip
    common = [str(word) for word in common]
    with tempfile.TemporaryDirectory() as folder:
        python = [sys.executable, str(HERE / "pytorch_classifier.py"), *common]
        ours = [args.command, "train", "classifier", *common, "--pooling", "first", "--json", "--overwrite", "--out",
                f"{folder}/run"]  # fmt: skip
        sides = {"tapeformer": (ours, None), "transformers": (python, None), "transformers compiled": ([*python, "--compile"], None)}
        if not is_intel():
            mkl = unlocked(pathlib.Path(folder))
            sides["transformers unlocked"] = (python, mkl)
            sides["transformers compiled, unlocked"] = ([*python, "--compile"], mkl)
        results = {name: [] for name in sides}
        for seed in range(1, args.rounds + 1):
            for name, (command, environment) in sides.items():
                results[name].append(run([*command, "--seed", str(seed)], environment))
    fastest = min(r["train_seconds"] for r in results["tapeformer"])
    print(f"\n{'':34}{'seconds':>9}{'speedup over it':>16}   accuracy")
    for name, runs in results.items():
        seconds = min(r["train_seconds"] for r in runs)
        accuracies = ", ".join(f"{100 * r['valid_accuracy']:.2f}%" for r in runs)
        ratio = "" if name == "tapeformer" else f"{seconds / fastest:.2f}"
        print(f"{name:34}{seconds:>9.1f}{ratio:>16}   {accuracies}")


if __name__ == "__main__":
    main()
