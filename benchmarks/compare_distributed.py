#!/usr/bin/env python3
"""Compares training steps of several processes on this machine: Tapeformer with MPI, one process with as many threads, and
PyTorch's DistributedDataParallel with gloo.

    python3 benchmarks/compare_distributed.py --command build/mpi/tools/tapeformer [--configs base gpt-char] [--ranks 2] [--rounds 3]

Each round runs every side once, alternating. The output has the medians over the rounds of each side's fastest step, and the
speed of RANKS processes with one thread each relative to one process with RANKS threads and to DistributedDataParallel.
Nothing else should run at the same time. Needs a Tapeformer built with TAPEFORMER_MPI.
"""

import argparse
import pathlib
import statistics
import sys

from sides import print_machine, rounds

HERE = pathlib.Path(__file__).resolve().parent
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def sides_of(args, config):
    """Name -> (command, environment)."""
    common = ["--config", config, "--steps", str(args.steps)]
    ours = [args.command, "bench", "train-step", *common, "--json", "--threads"]
    together = ["mpirun", "-n", str(args.ranks), *ours, "1"]
    torch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(args.ranks), HERE / "pytorch_train_step.py"]
    return {
        "processes": (together, AS_ROOT),
        "threads": ([*ours, str(args.ranks)], None),
        "processes, bf16 gradients": ([*together, "--bf16-gradients"], AS_ROOT),
        "DistributedDataParallel": ([*torch, *common, "--threads", "1"], None),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/mpi/tools/tapeformer")
    parser.add_argument("--configs", nargs="+", default=["base", "gpt-char"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    print_machine(args.command)
    for config in args.configs:
        results = rounds(args.rounds, sides_of(args, config))
        ms = {name: statistics.median(run["min_ms"] for run in runs) for name, runs in results.items()}
        exchange = results["processes"][-1]
        print(f"\n{config}, {args.ranks} processes with one thread each")
        for name, figure in ms.items():
            print(f"  {name:26} {figure:9.1f} ms")
        print(f"  speed relative to threads: {ms['threads'] / ms['processes']:.3f}; "
              f"relative to DistributedDataParallel: {ms['DistributedDataParallel'] / ms['processes']:.3f}")
        print(f"  sent {exchange['sent_mb']:.1f} MB per step and process; {exchange['hidden_ms']:.1f} ms overlapped with the "
              f"backward, {exchange['waited_ms']:.1f} ms waited for")
    return 0


if __name__ == "__main__":
    sys.exit(main())
