#!/usr/bin/env python3
"""Decoding by Tapeformer and by transformers' generate() side by side, 32 tokens to 32 tokens: each round runs every side
once, in turn; the table has the medians over the rounds of each run's fastest decoding, and how many times as fast
Tapeformer is.

    python3 benchmarks/compare_decoding.py --command build/release/tools/tapeformer [--batch 1 32] [--beam 1 4]

On a CPU that is not Intel's also with MKL's AVX-512 kernels, which MKL keeps for Intel's CPUs unless a function of its own
says otherwise (row "unlocked"; needs gcc). Nothing else should run meanwhile.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

from sides import is_intel, print_machine, rounds, unlocked

HERE = pathlib.Path(__file__).resolve().parent


def sides(args, batch, beam, folder):
    """Name -> (command, environment) of everything that is compared."""
    common = ["--config", args.config, "--threads", args.threads, "--steps", args.steps, "--batch", batch, "--beam", beam]
    common = [str(word) for word in common]
    python = [sys.executable, HERE / "pytorch_decode.py", *common]
    found = {"tapeformer": ([args.command, "bench", "decode", *common, "--json"], None), "transformers": (python, None)}
    if not is_intel():
        found["transformers unlocked"] = (python, unlocked(folder))
    return found


def compare(args, batch, beam, folder):
    results = rounds(args.rounds, sides(args, batch, beam, folder))
    median = {name: statistics.median(r["min_ms"] for r in runs) for name, runs in results.items()}
    ours = results["tapeformer"][0]
    print(f"\n{args.config}, batch {batch}, {'greedy' if beam == 1 else f'{beam} beams'}, {args.threads} threads "
          f"(kernels {ours['isa']}, BLAS core {ours['blas_core']})")  # fmt: skip
    print(f"{'':22}{'ms':>10}{'tokens/s':>10}{'peak MB':>9}{'tapeformer is':>18}")
    for name, runs in results.items():
        ratio = "" if name == "tapeformer" else f"{median[name] / median['tapeformer']:.2f} times"
        best = max(r["tok_s"] for r in runs)
        print(f"{name:22}{median[name]:>10.1f}{best:>10.0f}{max(r['rss_mb'] for r in runs):>9}{ratio:>18}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/tools/tapeformer")
    parser.add_argument("--config", default="base")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5, help="decodings a run")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print_machine(args.command)
    with tempfile.TemporaryDirectory() as folder:
        for batch in args.batch:
            for beam in args.beam:
                compare(args, batch, beam, pathlib.Path(folder))


if __name__ == "__main__":
    main()
