#!/usr/bin/env python3
"""Compares elementwise operations, reductions, indexing, losses and convolutions from 10^2 to 10^7 elements with PyTorch, with
the same number of threads:

    python3 benchmarks/operation_sizes.py build/release/benchmarks/bench_operation_sizes [part of a name]

Prints nanoseconds per call, forward and forward with backward, and the speedup over PyTorch; the last line counts the
figures that are at least as fast.
"""

import subprocess
import sys
import time

import torch
from torch.nn import functional as F

THREADS = 2
torch.set_num_threads(THREADS)


class Operands:
    """x [n / 100, 100] and a second operand of that shape, as in operation_sizes.cpp."""

    def __init__(self, n):
        rows = n // 100
        self.x = (torch.rand(rows, 100) * 0.9 + 0.05).requires_grad_()
        self.other = (torch.rand(rows, 100) * 0.9 + 0.05).requires_grad_()
        self.centred = (torch.rand(rows, 100) * 2 - 1).requires_grad_()
        self.mask = torch.rand(rows, 100) > 0.5
        self.row_ids = torch.randint(0, rows, (rows,))
        self.column_ids = torch.randint(0, 100, (rows, 100))


class Images:
    """Images with about n elements and a weight, as in operation_sizes.cpp."""

    SHAPES = {100: (1, 1, 10, 10), 1_000: (1, 10, 10, 10), 10_000: (1, 16, 25, 25), 100_000: (4, 16, 40, 40),
              1_000_000: (4, 64, 62, 62), 10_000_000: (16, 64, 100, 100)}

    def __init__(self, n, weight):
        self.x = torch.randn(self.SHAPES[n]).requires_grad_()
        self.channels = self.x.shape[1]
        self.other = (torch.randn(weight(self.channels)) * 0.1).requires_grad_()


def ctc(o):
    """As in operation_sizes.cpp."""
    sequences = max(1, o.x.numel() // 10000)
    frames = o.x.numel() // sequences // 20
    targets = 1 + torch.arange(sequences * (frames // 4)).mul(7).remainder(19).reshape(sequences, frames // 4)
    lengths = torch.full((sequences,), frames), torch.full((sequences,), frames // 4)
    return F.ctc_loss(o.x.reshape(frames, sequences, 20), targets, *lengths, reduction="none")


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
    "mse_loss": lambda o: F.mse_loss(o.x, o.other, reduction="none"),
    "smooth_l1_loss": lambda o: F.smooth_l1_loss(o.x, o.other, beta=0.3, reduction="none"),
    "huber_loss": lambda o: F.huber_loss(o.x, o.other, delta=0.3, reduction="none"),
    "bce_with_logits": lambda o: F.binary_cross_entropy_with_logits(o.x, o.other, reduction="none"),
    "kl_div": lambda o: F.kl_div(o.x, o.other, reduction="none"),
    "normalize": lambda o: F.normalize(o.x, dim=1),
    "cosine_similarity": lambda o: F.cosine_similarity(o.x, o.other),
    "ctc_loss": ctc,
}

# Each with the shape of its weight for c channels; [1] if it has none.
NONE = lambda c: (1,)  # noqa: E731
CONVOLUTIONS = {
    "conv2d": (lambda o: F.conv2d(o.x, o.other, padding=1), lambda c: (c, c, 3, 3)),
    "conv2d_single": (lambda o: F.conv2d(o.x, o.other), lambda c: (c, c, 1, 1)),
    "conv2d_strided": (lambda o: F.conv2d(o.x, o.other, stride=2, padding=1), lambda c: (c, c, 3, 3)),
    "conv2d_patches": (lambda o: F.conv2d(o.x, o.other, stride=5), lambda c: (c, c, 5, 5)),
    "conv2d_depthwise": (lambda o: F.conv2d(o.x, o.other, padding=1, groups=o.channels), lambda c: (c, 1, 3, 3)),
    "conv1d": (lambda o: F.conv1d(o.x.flatten(2), o.other, padding=1), lambda c: (c, c, 3)),
    "max_pool2d": (lambda o: F.max_pool2d(o.x, 2), NONE),
    "max_pool2d_wide": (lambda o: F.max_pool2d(o.x, 3, 2, 1), NONE),
    "avg_pool2d": (lambda o: F.avg_pool2d(o.x, 2), NONE),
    "group_norm": (lambda o: F.group_norm(o.x, 1), NONE),
    "batch_norm": (lambda o: F.batch_norm(o.x, None, None, training=True), NONE),
}


def nanoseconds(call):
    """The shortest of several measurements, each of as many calls as fill a millisecond."""

    def timed(calls):
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        return (time.perf_counter_ns() - start) / calls

    once = max(1.0, min(timed(1), timed(1)))
    calls = int(min(max(1e6 / once, 1), 1e4))
    return min([once] + [timed(calls) for _ in range(12)])


def pytorch(name, elements):
    if name in CONVOLUTIONS:
        call, weight = CONVOLUTIONS[name]
        operands = Images(elements, weight)
    else:
        operands, call = Operands(elements), OPERATIONS[name]
    seed = torch.ones_like(call(operands).detach())

    def forward():
        with torch.no_grad():
            call(operands)

    def both():
        call(operands).backward(seed)
        for value in vars(operands).values():
            if isinstance(value, torch.Tensor):
                value.grad = None

    return nanoseconds(forward), nanoseconds(both)


def main(program, part=""):
    lines = subprocess.run([program, part], check=True, capture_output=True, text=True,
                           env={"OMP_NUM_THREADS": str(THREADS)}).stdout
    rates = []
    print(f"{'operation':18} {'elements':>9} {'forward':>10} {'PyTorch':>10} {'ratio':>6} {'both':>10} {'PyTorch':>10} {'ratio':>6}")
    for line in lines.splitlines():
        name, elements, forward, both = line.split(",")
        other_forward, other_both = pytorch(name, int(elements))
        pair = other_forward / float(forward), other_both / float(both)
        rates += pair
        print(f"{name:18} {elements:>9} {forward:>10} {other_forward:10.0f} {pair[0]:6.2f} {both:>10} {other_both:10.0f} {pair[1]:6.2f}")
    print(f"{sum(rate >= 1 for rate in rates)} of {len(rates)} are at least as fast, {sum(rate < 0.7 for rate in rates)} below 0.7")


if __name__ == "__main__":
    main(*sys.argv[1:])
