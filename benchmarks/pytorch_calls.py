"""Shared by the scripts that time single calls of PyTorch: --threads, --filter, and the fastest call within a few seconds."""

import argparse
import re
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--filter", default="")
args = parser.parse_args()
torch.set_num_threads(args.threads)


def wanted(name):
    return re.search(args.filter, name)


def fastest(step, seconds=0.5):
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - start)
    return best


def report(name, step):
    print(f"{name}: {fastest(step) * 1e6:,.1f} us", flush=True)
