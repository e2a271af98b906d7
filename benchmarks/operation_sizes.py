#!/usr/bin/env python3
"""Elementwise operations, reductions and indexing from 10^2 to 10^7 elements, beside PyTorch with as many threads:

    python3 benchmarks/operation_sizes.py build/release/benchmarks/bench_operation_sizes [part of a name]

Prints nanoseconds a call, forward and forward with backward, and how many times as fast as PyTorch Tapeformer is; the
last lines count the rows that are at least as fast.
"""

import subprocess
import sys
import time

import torch
from torch.nn import functional as F

THREADS = 2
torch.set_num_threads(THREADS)


class Operands:
    """x [n / 100, 100] and a second operand like it, as operation_sizes.cpp has them."""

    def __init__(self, n):
        rows = n // 100
        self.x = (torch.rand(rows, 100) * 0.9 + 0.05).requires_grad_()
        self.other = (torch.rand(rows, 100) * 0.9 + 0.05).requires_grad_()
        self.centred = (torch.rand(rows, 100) * 2 - 1).requires_grad_()
        self.mask = torch.rand(rows, 100) > 0.5
        self.row_ids = torch.randint(0, rows, (rows,))
        self.column_ids = torch.randint(0, 100, (rows, 100))


UNARY = "exp log sqrt square log1p expm1 log2 log10 exp2 sinh cosh atanh tan asin acos atan round floor ceil trunc frac".split()
OPERATIONS = {name: lambda o, f=getattr(torch, name): f(o.x) for name in UNARY} | {
    "mish": lambda o: F.mish(o.centred),
    "softplus": lambda o: F.softplus(o.centred),
    "leaky_relu": lambda o: F.leaky_relu(o.centred),
    "elu": lambda o: F.elu(o.centred),
    "relu": lambda o: F.relu(o.centred),
    "tanh": lambda o: torch.tanh(o.centred),
    "sigmoid": lambda o: torch.sigmoid(o.centred),
    "gelu": lambda o: F.gelu(o.centred),
    "add": lambda o: o.x + o.other,
    "mul": lambda o: o.x * o.other,
    "div": lambda o: o.x / o.other,
    "sum": lambda o: torch.sum(o.x),
    "sum_rows": lambda o: torch.sum(o.x, 1),
    "sum_columns": lambda o: torch.sum(o.x, 0),
    "mean": lambda o: torch.mean(o.x, 1),
    "max": lambda o: torch.amax(o.x, 1),
    "softmax": lambda o: torch.softmax(o.x, 1),
    "atan2": lambda o: torch.atan2(o.x, o.other),
    "remainder": lambda o: torch.remainder(o.x, o.other),
    "lerp": lambda o: torch.lerp(o.x, o.other, 0.3),
    "prod": lambda o: torch.prod(o.x, 1),
    "var": lambda o: torch.var(o.x, 1),
    "std": lambda o: torch.std(o.x, 1),
    "norm": lambda o: torch.linalg.vector_norm(o.x, 2, 1),
    "norm_all": lambda o: torch.linalg.vector_norm(o.x),
    "nansum": lambda o: torch.nansum(o.x, 0),
    "median": lambda o: torch.median(o.x, 1).values,
    "quantile": lambda o: torch.quantile(o.x, 0.3, 1),
    "cumprod": lambda o: torch.cumprod(o.x, 1),
    "logcumsumexp": lambda o: torch.logcumsumexp(o.x, 1),
    "cummax": lambda o: torch.cummax(o.x, 1).values,
    "index": lambda o: o.x[o.row_ids],
    "index_put": lambda o: o.x.index_put((o.row_ids,), o.other),
    "masked_select": lambda o: torch.masked_select(o.x, o.mask),
    "masked_scatter": lambda o: torch.masked_scatter(o.x, o.mask, o.other),
    "gather": lambda o: torch.gather(o.x, 1, o.column_ids),
    "scatter": lambda o: torch.scatter(o.x, 1, o.column_ids, o.other),
    "scatter_amax": lambda o: torch.scatter_reduce(o.x, 1, o.column_ids, o.other, "amax"),
    "scatter_sum": lambda o: torch.scatter_add(o.x, 1, o.column_ids, o.other),
    "roll": lambda o: torch.roll(o.x, 7, 1),
    "unfold": lambda o: o.x.unfold(1, 4, 4).clone(),
    "repeat_interleave": lambda o: torch.repeat_interleave(o.x, 2, 1),
}


def nanoseconds(call):
    """The shortest of several times, each of as many calls as fill a millisecond."""

    def timed(calls):
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        return (time.perf_counter_ns() - start) / calls

    once = max(1.0, min(timed(1), timed(1)))
    calls = int(min(max(1e6 / once, 1), 1e4))
    return min([once] + [timed(calls) for _ in range(12)])


def pytorch(name, elements):
    operands, call = Operands(elements), OPERATIONS[name]
    seed = torch.ones_like(call(operands).detach())

    def forward():
        with torch.no_grad():
            call(operands)

    def both():
        call(operands).backward(seed)
        operands.x.grad = operands.other.grad = operands.centred.grad = None

    return nanoseconds(forward), nanoseconds(both)


def main(program, part=""):
    lines = subprocess.run([program, part], check=True, capture_output=True, text=True,
                           env={"OMP_NUM_THREADS": str(THREADS)}).stdout
    rates = []
    print(f"{'operation':18} {'elements':>9} {'forward':>10} {'PyTorch':>10} {'times':>6} {'both':>10} {'PyTorch':>10} {'times':>6}")
    for line in lines.splitlines():
        name, elements, forward, both = line.split(",")
        other_forward, other_both = pytorch(name, int(elements))
        pair = other_forward / float(forward), other_both / float(both)
        rates += pair
        print(f"{name:18} {elements:>9} {forward:>10} {other_forward:10.0f} {pair[0]:6.2f} {both:>10} {other_both:10.0f} {pair[1]:6.2f}")
    print(f"{sum(rate >= 1 for rate in rates)} of {len(rates)} are at least as fast, {sum(rate < 0.7 for rate in rates)} slower than 0.7")


if __name__ == "__main__":
    main(*sys.argv[1:])
