#!/usr/bin/env python3
"""The chain of additions of bench_operations in PyTorch: the overhead of its autograd per operation.

    python3 benchmarks/pytorch_operations.py
"""

import time

import torch

torch.set_num_threads(2)
x, y = torch.randn(8, requires_grad=True), torch.randn(8)
LENGTH = 1000
best = 1e9
for _ in range(200):
    start = time.perf_counter()
    z = x
    for _ in range(LENGTH):
        z = z + y
    z.sum().backward()
    best = min(best, time.perf_counter() - start)
print(f"chain of additions: {best / LENGTH * 1e9:.0f} ns per operation, forward and backward")
