"""Writes reference.h: values and gradients of operations by PyTorch in f64, which the tests compare with.

    python3 tests/autograd/ops/reference.py > tests/autograd/ops/reference.h
"""

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def braces(values):
    return "{" + ", ".join(f"{float(v):.17g}" if abs(float(v)) < 1e300 else ("INFINITY" if v > 0 else "-INFINITY")
                           for v in values.detach().flatten()) + "}"


def unary(name, function, points):
    x = torch.tensor(points, requires_grad=True)
    y = function(x)
    y.sum().backward()
    print(f'    {{"{name}", {braces(x)},\n     {braces(y)},\n     {braces(x.grad)}}},')


def grid(*shape):
    """Values that need no generator: element i is sin(i + 1) * 2."""
    count = 1
    for size in shape:
        count *= size
    return (torch.sin(torch.arange(1, count + 1, dtype=torch.float64)) * 2).reshape(shape)


def case(name, function, *shapes):
    inputs = [grid(*shape).requires_grad_() for shape in shapes]
    y = function(*inputs)
    (y * torch.cos(torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape)).sum().backward()
    gradients = ", ".join(braces(x.grad) for x in inputs)
    print(f"inline const Case {name}{{\n    {braces(y)},\n    {{{gradients}}}}};")


print("""#pragma once

// Written by reference.py with PyTorch; not edited by hand.

#include <cmath>
#include <vector>

namespace tape::reference {

/// y and dy/dx of a function at the points x.
struct Unary {
  const char* name;
  std::vector<double> x, y, slope;
};

/// The output y for inputs whose element i is 2 sin(i + 1), and the inputs' gradients of sum(y[i] cos(i)).
struct Case {
  std::vector<double> y;
  std::vector<std::vector<double>> gradients;
};

inline const std::vector<Unary> unary{""")
wide = [-30.0, -3.0, -1.0, -0.1, 0.0, 0.2, 1.5, 4.0, 30.0]
positive = [1e-4, 0.3, 1.0, 2.5, 900.0]
unary("neg", torch.neg, wide)
unary("abs", torch.abs, wide)
unary("sign", torch.sign, wide)
unary("square", torch.square, wide)
unary("reciprocal", torch.reciprocal, [-4.0, -0.5, 0.25, 3.0])
unary("exp", torch.exp, wide)
unary("log", torch.log, positive)
unary("sqrt", torch.sqrt, positive)
unary("rsqrt", torch.rsqrt, positive)
unary("sin", torch.sin, wide)
unary("cos", torch.cos, wide)
unary("tanh", torch.tanh, wide)
unary("sigmoid", torch.sigmoid, wide)
unary("erf", torch.erf, wide)
unary("relu", torch.relu, wide)
unary("gelu", F.gelu, wide)
unary("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), wide)
unary("silu", F.silu, wide)
inside = [-0.9375, -0.5, -0.25, 0.0, 0.625, 0.875]
unary("expm1", torch.expm1, wide)
unary("log1p", torch.log1p, [-0.75, -0.25, 0.0, 1e-9, 0.5, 4.0, 900.0])
unary("exp2", torch.exp2, wide)
unary("log2", torch.log2, positive)
unary("log10", torch.log10, positive)
unary("sinh", torch.sinh, wide)
unary("cosh", torch.cosh, wide)
unary("atanh", torch.atanh, inside)
unary("tan", torch.tan, wide)
unary("asin", torch.asin, inside)
unary("acos", torch.acos, inside)
unary("atan", torch.atan, wide)
unary("mish", F.mish, wide)
steps = [-2.5, -1.5, -1.25, -0.5, 0.5, 1.75, 2.5, 3.0, 1e6]
unary("round", torch.round, steps)
unary("floor", torch.floor, steps)
unary("ceil", torch.ceil, steps)
unary("trunc", torch.trunc, steps)
unary("frac", torch.frac, steps)
unary("clamp", lambda x: torch.clamp(x, -1, 1.5), wide)
print("};\n")
case("matmul_batch", torch.matmul, (2, 1, 2, 3), (3, 3, 2))
case("linear", F.linear, (2, 2, 3), (4, 3), (4,))
case("softmax_last", lambda x: F.softmax(x, -1), (2, 4))
case("softmax_first", lambda x: F.softmax(x, 0), (3, 2))
case("log_softmax_last", lambda x: F.log_softmax(x, -1), (2, 4))
case("layer_norm", lambda x, w, b: F.layer_norm(x, (5,), w, b, 1e-5), (3, 5), (5,), (5,))
case("logsumexp_middle", lambda x: torch.logsumexp(x, 1), (2, 3, 2))
case("var_unbiased", lambda x: torch.var(x, -1), (2, 4))
case("var_biased", lambda x: torch.var(x, -1, correction=0), (2, 4))
case("maximum_rows", lambda x: torch.amax(x, 1), (3, 4))
case("cumsum_rows", lambda x: torch.cumsum(x, 1), (2, 4))
case("topk_rows", lambda x: torch.topk(x, 2, 1).values, (2, 5))
case("sort_rows", lambda x: torch.sort(x, 1, descending=True).values, (2, 5))
case("einsum_attention", lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k), (2, 2, 3, 2), (2, 2, 2, 2))
case("einsum_bilinear", lambda x, a, y: torch.einsum("bi,oij,bj->bo", x, a, y), (2, 3), (2, 3, 2), (2, 2))
case("einsum_ellipsis", lambda a, b: torch.einsum("...ij,...jk->...ik", a, b), (2, 1, 2, 3), (3, 3, 2))
case("attention_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
     (2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 2))
case("attention_additive", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
     (2, 3, 4), (2, 5, 4), (2, 5, 2), (3, 5))
TARGET = torch.tensor([1, 0, 3])
case("cross_entropy", lambda x: F.cross_entropy(x, TARGET), (3, 4))
case("cross_entropy_full", lambda x: F.cross_entropy(x, TARGET, ignore_index=0, label_smoothing=0.1,
                                                     weight=torch.tensor([1.0, 0.5, 2.0, 1.5])), (3, 4))
case("linear_cross_entropy", lambda x, w, b: F.linear_cross_entropy(x, w, TARGET, linear_bias=b), (3, 5), (4, 5), (4,))
case("linear_cross_entropy_full", lambda x, w, b: F.linear_cross_entropy(
    x, w, TARGET, linear_bias=b, ignore_index=0, label_smoothing=0.1,
    weight=torch.tensor([1.0, 0.5, 2.0, 1.5])), (3, 5), (4, 5), (4,))
case("nll_loss", lambda x: F.nll_loss(x, TARGET, reduction="sum"), (3, 4))
case("bce_with_logits_loss", lambda x: F.binary_cross_entropy_with_logits(
    x, torch.tensor([[0.0, 1.0, 0.25], [1.0, 0.5, 0.0]])), (2, 3))
print("\n}  // namespace tape::reference")
