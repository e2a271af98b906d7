#!/usr/bin/env python3
"""The calls of bench_linalg in PyTorch, under the same names and sizes: the fastest call within a few seconds, in microseconds.

    python3 benchmarks/pytorch_linalg.py [--threads 2] [--filter cholesky]
"""

import torch
from pytorch_calls import report, wanted

linalg = torch.linalg

CALLS = {  # name -> (call, whether the matrices are symmetric)
    "cholesky": (lambda a: linalg.cholesky(a), True),
    "solve": (lambda a: linalg.solve(a, a), False),
    "solve_triangular": (lambda a: linalg.solve_triangular(a, a, upper=False), False),
    "inv": (linalg.inv, False),
    "slogdet": (lambda a: linalg.slogdet(a).logabsdet, False),
    "qr": (lambda a: linalg.qr(a).R, False),
    "eigh": (lambda a: linalg.eigh(a).eigenvectors ** 2, True),
    "eigvalsh": (linalg.eigvalsh, True),
    "svd": (lambda a: linalg.svd(a).U ** 2, False),
    "svdvals": (linalg.svdvals, False),
    "pinv": (linalg.pinv, False),
    "matrix_exp": (lambda a: linalg.matrix_exp(a * (0.25 / a.shape[-1])), False),
}

for name, (call, symmetric) in CALLS.items():
    for batch, n in [(256, 4), (256, 32), (1, 128), (1, 512)]:
        a = torch.randn(batch, n, n) + 4 * n * torch.eye(n)
        a = a + a.mT if symmetric else a
        for gradients in [0, 1]:
            label = f"{name}/batch:{batch}/n:{n}/gradients:{gradients}"
            if not wanted(label):
                continue
            leaf = a.clone().requires_grad_(bool(gradients))

            def step():
                y = call(leaf)
                if gradients:
                    leaf.grad = None
                    y.sum().backward()

            report(label, step)
