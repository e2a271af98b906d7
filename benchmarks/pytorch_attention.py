#!/usr/bin/env python3
"""The calls of bench_attention in PyTorch, under the same names: the fastest call within a few seconds, in microseconds. A
window is a boolean mask, as transformers passes it to scaled_dot_product_attention; rotary embeddings use transformers'
formula.

    python3 benchmarks/pytorch_attention.py [--threads 2] [--filter rotary]
"""

import torch
from pytorch_calls import report, wanted
from torch.nn import functional as F


def time_call(name, call, leaves, gradients):
    if not wanted(name):
        return

    def step():
        if not gradients:
            with torch.no_grad():
                return call()
        for leaf in leaves:
            leaf.grad = None
        call().sum().backward()

    step()
    report(name, step)


def operand(batch, heads, length, width):
    return torch.randn(batch, length, heads * width, requires_grad=True), (batch, length, heads, width)


def apart(x):
    tensor, shape = x
    return tensor.view(shape).transpose(1, 2)


def attention(name, batch, heads, shared, queries, keys, window, gradients):
    q, k, v = operand(batch, heads, queries, 64), operand(batch, shared, keys, 64), operand(batch, shared, keys, 64)
    distance = torch.arange(keys - queries, keys)[:, None] - torch.arange(keys)
    mask = (distance >= 0) & (distance < window) if window else None

    def call():
        y = F.scaled_dot_product_attention(apart(q), apart(k), apart(v), attn_mask=mask, enable_gqa=shared < heads,
                                           is_causal=not window and queries == keys)
        return y.transpose(1, 2).flatten(2)

    time_call(name, call, [q[0], k[0], v[0]], gradients)


for shared in [8, 2, 1]:
    for window in [0, 256]:
        for gradients in [0, 1]:
            name = f"attention/B:1/H:8/K:{shared}/T:2048/D:64/window:{window}/dropout%:0/gradients:{gradients}"
            attention(name, 1, 8, shared, 2048, 2048, window, gradients)
for batch in [1, 8]:
    for shared in [8, 2]:
        attention(f"next_token/B:{batch}/H:8/K:{shared}/T:2048/window:0", batch, 8, shared, 1, 2048, 0, 0)


def rotate_half(x):
    u, v = x.chunk(2, -1)
    return torch.cat((-v, u), -1)


for batch, length in [(8, 512), (1, 1)]:
    x = operand(batch, 8, length, 64)
    cos, sin = torch.randn(length, 64), torch.randn(length, 64)
    for gradients in [0, 1] if length > 1 else [0]:
        time_call(f"rotary/B:{batch}/T:{length}/interleaved:0/gradients:{gradients}",
                  lambda: apart(x) * cos + rotate_half(apart(x)) * sin, [x[0]], gradients)
