"""A case for every operation: the call, and the same in NumPy and PyTorch.

Each entry of CASES is (inputs, tape, numpy, torch). `inputs` are arrays; the three functions take them as tensors or
arrays of their library. A reference may be None where the library has no such function; one of the two must be there.
"""

import math

import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = F = None

import tapeformer as tape


def values(*shape, seed=0, low=-2.0, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def positive(*shape, seed=0):
    return values(*shape, seed=seed, low=0.2, high=2.0)


def unit(*shape, seed=0):
    return values(*shape, seed=seed, low=-0.9, high=0.9)


def flags(*shape, seed=0):
    return np.random.default_rng(seed).uniform(size=shape) < 0.5


def ids(high, *shape, seed=0):
    return np.random.default_rng(seed).integers(0, high, shape)


X, Y, ROW = values(3, 4), values(3, 4, seed=1), values(4, seed=2)
CUBE = values(2, 3, 4)
INDEX = np.array([2, 0, 2])

# name -> (values, function of NumPy); the function of PyTorch has the same name.
UNARY = {
    "abs": (X, np.abs), "acos": (unit(3, 4), np.arccos), "asin": (unit(3, 4), np.arcsin), "atan": (X, np.arctan),
    "atanh": (unit(3, 4), np.arctanh), "ceil": (X, np.ceil), "cos": (X, np.cos), "cosh": (X, np.cosh),
    "erf": (X, np.vectorize(math.erf)), "exp": (X, np.exp), "exp2": (X, np.exp2), "expm1": (X, np.expm1),
    "floor": (X, np.floor), "frac": (X, lambda x: x - np.trunc(x)), "isfinite": (X / 0.0 if False else X, np.isfinite),
    "isinf": (np.array([1.0, np.inf, -np.inf]), np.isinf), "isnan": (np.array([1.0, np.nan]), np.isnan),
    "log": (positive(3, 4), np.log), "log10": (positive(3, 4), np.log10), "log1p": (positive(3, 4), np.log1p),
    "log2": (positive(3, 4), np.log2), "logical_not": (flags(3, 4), np.logical_not), "neg": (X, np.negative),
    "reciprocal": (positive(3, 4), np.reciprocal), "relu": (X, lambda x: np.maximum(x, 0)), "round": (X, np.round),
    "rsqrt": (positive(3, 4), lambda x: 1 / np.sqrt(x)), "sigmoid": (X, lambda x: 1 / (1 + np.exp(-x))),
    "sign": (X, np.sign), "sin": (X, np.sin), "sinh": (X, np.sinh), "sqrt": (positive(3, 4), np.sqrt),
    "square": (X, np.square), "tan": (unit(3, 4), np.tan), "tanh": (X, np.tanh), "trunc": (X, np.trunc),
}  # fmt: skip
BINARY = {
    "add": (X, ROW, np.add), "atan2": (X, Y, np.arctan2), "div": (X, positive(4), np.divide), "eq": (X, X, np.equal),
    "ge": (X, Y, np.greater_equal), "gt": (X, Y, np.greater), "le": (X, Y, np.less_equal),
    "logical_and": (flags(4), flags(4, seed=1), np.logical_and), "logical_or": (flags(4), flags(4, seed=1), np.logical_or),
    "logical_xor": (flags(4), flags(4, seed=1), np.logical_xor), "lt": (X, Y, np.less), "matmul": (CUBE, Y.T, np.matmul),
    "maximum": (X, Y, np.maximum), "minimum": (X, Y, np.minimum), "mul": (X, ROW, np.multiply), "ne": (X, Y, np.not_equal),
    "pow": (positive(3, 4), Y, np.power), "remainder": (X, positive(4), np.mod), "sub": (X, ROW, np.subtract),
}  # fmt: skip


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x):
    return np.log(softmax(x))


def layer_norm(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def named(name):
    return getattr(torch, name, None) if torch else None


CASES = {name: ([x], getattr(tape, name), f, named(name)) for name, (x, f) in UNARY.items()}
CASES |= {name: ([a, b], getattr(tape, name), f, named(name)) for name, (a, b, f) in BINARY.items()}

# Activations.
CASES |= {
    "elu": ([X], lambda x: tape.elu(x, 1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)), lambda x: F.elu(x, 1.5)),
    "gelu": ([X], tape.gelu, None, lambda x: F.gelu(x)),
    "gelu_tanh": ([X], tape.gelu_tanh, None, lambda x: F.gelu(x, approximate="tanh")),
    "leaky_relu": (
        [X],
        lambda x: tape.leaky_relu(x, 0.1),
        lambda x: np.where(x > 0, x, 0.1 * x),
        lambda x: F.leaky_relu(x, 0.1),
    ),
    "mish": ([X], tape.mish, None, lambda x: F.mish(x)),
    "silu": ([X], tape.silu, lambda x: x / (1 + np.exp(-x)), lambda x: F.silu(x)),
    "softplus": (
        [X],
        lambda x: tape.softplus(x, beta=2.0),
        lambda x: np.log1p(np.exp(2 * x)) / 2,
        lambda x: F.softplus(x, 2),
    ),
}

# Arithmetic with settings, comparison, selection.
CASES |= {
    "affine": ([X], lambda x: tape.affine(x, 2.0, 1.0), lambda x: 2 * x + 1, lambda x: 2 * x + 1),
    "allclose": ([X], lambda x: tape.tensor(tape.allclose(x, x)), lambda x: np.array(True), None),
    "clamp": ([X], lambda x: tape.clamp(x, -1, 1), lambda x: np.clip(x, -1, 1), lambda x: x.clamp(-1, 1)),
    "clone": ([X], tape.clone, np.copy, lambda x: x.clone()),
    "copy_to": ([X], lambda x: tape.copy_to(x, "cpu"), lambda x: x, lambda x: x.to("cpu")),
    "isclose": ([X], lambda x: tape.isclose(x, x + 1e-7), lambda x: np.isclose(x, x + 1e-7), lambda x: torch.isclose(x, x + 1e-7)),
    "lerp": ([X, Y], lambda a, b: tape.lerp(a, b, 0.3), lambda a, b: a + 0.3 * (b - a), lambda a, b: torch.lerp(a, b, 0.3)),
    "masked_fill": ([X, flags(3, 4)], lambda x, m: tape.masked_fill(x, m, 0.5), lambda x, m: np.where(m, 0.5, x),
                    lambda x, m: x.masked_fill(m, 0.5)),
    "masked_scatter": ([X, flags(3, 4), values(12)], tape.masked_scatter, None, lambda x, m, s: x.masked_scatter(m, s)),
    "masked_select": ([X, flags(3, 4)], tape.masked_select, lambda x, m: x[m], lambda x, m: x[m]),
    "nonzero": ([flags(3, 4)], tape.nonzero, np.argwhere, lambda x: x.nonzero()),
    "flat_nonzero": ([flags(3, 4)], tape.flat_nonzero, np.flatnonzero, None),
    "where": ([flags(3, 4), X, ROW], tape.where, np.where, lambda c, a, b: torch.where(c, a, b)),
}  # fmt: skip

# Reductions, sorting, scans.
CASES |= {
    "all": ([flags(3, 4)], lambda x: tape.all(x, 1), lambda x: x.all(1), lambda x: x.all(1)),
    "any": ([flags(3, 4)], lambda x: tape.any(x, 1), lambda x: x.any(1), lambda x: x.any(1)),
    "argmax": ([X], lambda x: tape.argmax(x, 1), lambda x: x.argmax(1), lambda x: x.argmax(1)),
    "argmin": ([X], lambda x: tape.argmin(x, 0), lambda x: x.argmin(0), lambda x: x.argmin(0)),
    "argsort": ([X], tape.argsort, np.argsort, lambda x: x.argsort()),
    "bincount": ([ids(5, 9)], tape.bincount, np.bincount, lambda x: x.bincount()),
    "cummax": ([X], lambda x: tape.cummax(x, 1)[0], lambda x: np.maximum.accumulate(x, 1), lambda x: x.cummax(1)[0]),
    "cummin": ([X], lambda x: tape.cummin(x, 1)[0], lambda x: np.minimum.accumulate(x, 1), lambda x: x.cummin(1)[0]),
    "cumprod": ([X], lambda x: tape.cumprod(x, 1), lambda x: x.cumprod(1), lambda x: x.cumprod(1)),
    "cumsum": ([X], lambda x: tape.cumsum(x, 1), lambda x: x.cumsum(1), lambda x: x.cumsum(1)),
    "linear_scan": ([unit(3, 4), X], lambda a, b: tape.linear_scan(a, b, 1), lambda a, b: np_scan(a, b), None),
    "logcumsumexp": ([X], lambda x: tape.logcumsumexp(x, 1), lambda x: np.logaddexp.accumulate(x, 1), lambda x: x.logcumsumexp(1)),
    "logsumexp": ([X], lambda x: tape.logsumexp(x, 1), lambda x: np.log(np.exp(x).sum(1)), lambda x: x.logsumexp(1)),
    "max": ([X], lambda x: tape.max(x, 1), lambda x: x.max(1), lambda x: x.amax(1)),
    "max_with_index": ([X], lambda x: tape.max_with_index(x).values, lambda x: x.max(1, keepdims=True), None),
    "mean": ([CUBE], lambda x: tape.mean(x, (0, 2), keepdim=True), lambda x: x.mean((0, 2), keepdims=True), lambda x: x.mean((0, 2), True)),
    "median": ([X], lambda x: tape.median(x, 0)[0], None, lambda x: x.median(0)[0]),
    "min": ([X], lambda x: tape.min(x, 1), lambda x: x.min(1), lambda x: x.amin(1)),
    "nansum": ([np.where(flags(3, 4), np.nan, X)], tape.nansum, np.nansum, lambda x: x.nansum()),
    "norm": ([X], lambda x: tape.norm(x, 2, 1), lambda x: np.linalg.norm(x, axis=1), lambda x: x.norm(2, 1)),
    "prod": ([X], lambda x: tape.prod(x, 1), lambda x: x.prod(1), lambda x: x.prod(1)),
    "quantile": ([X], lambda x: tape.quantile(x, 0.3, 1), lambda x: np.quantile(x, 0.3, 1), lambda x: x.quantile(0.3, 1)),
    "sort": ([X], lambda x: tape.sort(x, 1)[0], lambda x: np.sort(x, 1), lambda x: x.sort(1)[0]),
    "std": ([X], lambda x: tape.std(x, 1), lambda x: x.std(1, ddof=1), lambda x: x.std(1)),
    "sum": ([CUBE], lambda x: tape.sum(x, 1), lambda x: x.sum(1), lambda x: x.sum(1)),
    "topk": ([X], lambda x: tape.topk(x, 2)[0], lambda x: np.sort(x, 1)[:, :-3:-1], lambda x: x.topk(2)[0]),
    "unique": ([ids(4, 9)], lambda x: tape.unique(x).values, np.unique, lambda x: x.unique()),
    "var": ([X], lambda x: tape.var(x, 1, correction=0), lambda x: x.var(1), lambda x: x.var(1, correction=0)),
    "keep_top_k": ([X], lambda x: tape.keep_top_k(x, 2), lambda x: np.where(x >= np.sort(x, 1)[:, -2:-1], x, -np.inf), None),
}  # fmt: skip


def np_scan(a, b):
    """h_t = a_t h_(t-1) + b_t along the last axis."""
    h = np.zeros_like(b)
    for t in range(b.shape[1]):
        h[:, t] = (a[:, t] * h[:, t - 1] if t else 0) + b[:, t]
    return h


# Shapes.
CASES |= {
    "cat": ([X, Y], lambda a, b: tape.cat([a, b], 1), lambda a, b: np.concatenate([a, b], 1), lambda a, b: torch.cat([a, b], 1)),
    "chunk": ([X], lambda x: tape.chunk(x, 2, 1)[1], lambda x: x[:, 2:], lambda x: x.chunk(2, 1)[1]),
    "diag_embed": ([X], tape.diag_embed, None, lambda x: torch.diag_embed(x)),
    "diagonal": ([X], tape.diagonal, np.diagonal, lambda x: x.diagonal()),
    "flatten": ([CUBE], lambda x: tape.flatten(x, 1), lambda x: x.reshape(2, 12), lambda x: x.flatten(1)),
    "flip": ([X], lambda x: tape.flip(x, 1), lambda x: x[:, ::-1], lambda x: x.flip(1)),
    "meshgrid": ([ROW, X[:, 0]], lambda a, b: tape.meshgrid([a, b])[1], lambda a, b: np.meshgrid(a, b, indexing="ij")[1],
                 lambda a, b: torch.meshgrid(a, b, indexing="ij")[1]),
    "movedim": ([CUBE], lambda x: tape.movedim(x, 0, 2), lambda x: np.moveaxis(x, 0, 2), lambda x: x.movedim(0, 2)),
    "pad": ([X], lambda x: tape.pad(x, [(1, 0), (0, 2)], 0.5), lambda x: np.pad(x, [(1, 0), (0, 2)], constant_values=0.5),
            lambda x: F.pad(x, (0, 2, 1, 0), value=0.5)),
    "put_slice": ([X, values(3, 2)], lambda x, p: tape.put_slice(x, 1, 1, p), lambda x, p: np.concatenate([x[:, :1], p, x[:, 3:]], 1), None),
    "put_slice_": ([X, values(3, 2)], lambda x, p: put_slice_in_place(x, p), lambda x, p: np.concatenate([x[:, :1], p, x[:, 3:]], 1), None),
    "repeat": ([X], lambda x: tape.repeat(x, [2, 1]), lambda x: np.tile(x, (2, 1)), lambda x: x.repeat(2, 1)),
    "repeat_interleave": ([X], lambda x: tape.repeat_interleave(x, 2, 1), lambda x: np.repeat(x, 2, 1), lambda x: x.repeat_interleave(2, 1)),
    "roll": ([X], lambda x: tape.roll(x, 1, 1), lambda x: np.roll(x, 1, 1), lambda x: x.roll(1, 1)),
    "select": ([X], lambda x: tape.select(x, 1, 2), lambda x: x[:, 2], lambda x: x.select(1, 2)),
    "slice": ([X], lambda x: tape.slice(x, 1, start=1, step=2), lambda x: x[:, 1::2], lambda x: x[:, 1::2]),
    "split": ([X], lambda x: tape.split(x, 3, 1)[1], lambda x: x[:, 3:], lambda x: x.split(3, 1)[1]),
    "squeeze": ([X[None]], tape.squeeze, np.squeeze, lambda x: x.squeeze()),
    "stack": ([X, Y], lambda a, b: tape.stack([a, b], 1), lambda a, b: np.stack([a, b], 1), lambda a, b: torch.stack([a, b], 1)),
    "transpose": ([CUBE], lambda x: tape.transpose(x, 0, 2), lambda x: x.swapaxes(0, 2), lambda x: x.transpose(0, 2)),
    "tril": ([X], tape.tril, np.tril, lambda x: x.tril()),
    "triu": ([X], lambda x: tape.triu(x, 1), lambda x: np.triu(x, 1), lambda x: x.triu(1)),
    "unbind": ([X], lambda x: tape.unbind(x, 1)[3], lambda x: x[:, 3], lambda x: x.unbind(1)[3]),
    "unfold": ([X], lambda x: tape.unfold(x, 1, 2, 2), lambda x: x.reshape(3, 2, 2), lambda x: x.unfold(1, 2, 2)),
    "unsqueeze": ([X], lambda x: tape.unsqueeze(x, 1), lambda x: x[:, None], lambda x: x.unsqueeze(1)),
}  # fmt: skip


def put_slice_in_place(x, part):
    whole = x.detach().clone()
    tape.put_slice_(whole, 1, 1, part.detach())
    return whole


# Indexing.
CASES |= {
    "embedding": ([X, INDEX], tape.embedding, lambda w, i: w[i], lambda w, i: F.embedding(i, w)),
    "gather": ([X, ids(3, 2, 4)], lambda x, i: tape.gather(x, 0, i), lambda x, i: np.take_along_axis(x, i, 0), lambda x, i: x.gather(0, i)),
    "index_add": ([X, np.array([0, 2]), values(2, 4)], lambda x, i, s: tape.index_add(x, 0, i, s), None, lambda x, i, s: x.index_add(0, i, s)),
    "index_copy": ([X, np.array([0, 2]), values(2, 4)], lambda x, i, s: tape.index_copy(x, 0, i, s), None, lambda x, i, s: x.index_copy(0, i, s)),
    "index_select": ([X, INDEX], lambda x, i: tape.index_select(x, 0, i), lambda x, i: x[i], lambda x, i: x.index_select(0, i)),
    "one_hot": ([INDEX], lambda i: tape.one_hot(i, 4), lambda i: np.eye(4)[i], lambda i: F.one_hot(i, 4)),
    "scatter": ([X, np.array([[0, 1, 2, 0]]), values(1, 4)], lambda x, i, s: tape.scatter(x, 0, i, s), None, lambda x, i, s: x.scatter(0, i, s)),
    "scatter_add": ([X, ids(3, 2, 4), values(2, 4)], lambda x, i, s: tape.scatter_add(x, 0, i, s), None, lambda x, i, s: x.scatter_add(0, i, s)),
    "scatter_reduce": ([X, ids(3, 2, 4), values(2, 4)], lambda x, i, s: tape.scatter_reduce(x, 0, i, s, "mean"), None,
                       lambda x, i, s: x.scatter_reduce(0, i, s, "mean")),
    "take_along_dim": ([X, ids(3, 2, 4)], lambda x, i: tape.take_along_dim(x, i, 0), lambda x, i: np.take_along_axis(x, i, 0),
                       lambda x, i: torch.take_along_dim(x, i, 0)),
    "gather_kv": ([values(2, 3, 4), np.array([[1, 0, 1], [0, 0, 1]])], lambda x, r: tape.gather_kv(x, r, 3),
                  lambda x, r: np.stack([np.stack([x[r[i, j], j] for j in range(3)]) for i in range(2)]), None),
}  # fmt: skip

# Products.
CASES |= {
    "einsum": ([CUBE, Y], lambda a, b: tape.einsum("bij,kj->bik", [a, b]), lambda a, b: np.einsum("bij,kj->bik", a, b),
               lambda a, b: torch.einsum("bij,kj->bik", a, b)),
    "linear": ([CUBE, values(5, 4), values(5)], tape.linear, lambda x, w, b: x @ w.T + b, lambda x, w, b: F.linear(x, w, b)),
    "linear_max": ([X, values(5, 4), values(5)], lambda *a: tape.linear_max(*a).values, lambda x, w, b: (x @ w.T + b).max(-1, keepdims=True), None),
    "linear_top_k": ([X, values(5, 4), values(5)], lambda x, w, b: tape.linear_top_k(x, w, b, 1).max(1),
                     lambda x, w, b: (x @ w.T + b).max(-1), None),
}  # fmt: skip

# Norms and softmax.
CASES |= {
    "batch_norm": ([values(5, 3), np.zeros(3), np.ones(3), values(3), values(3, seed=1)], lambda x, m, v, w, b: tape.batch_norm(x, m, v, w, b, training=True),
                   None, lambda x, m, v, w, b: F.batch_norm(x, None, None, w, b, True)),
    "group_norm": ([values(2, 4, 3), values(4), values(4, seed=1)], lambda x, w, b: tape.group_norm(x, 2, w, b), None, lambda x, w, b: F.group_norm(x, 2, w, b)),
    "layer_norm": ([X, ROW], lambda x, w: tape.layer_norm(x, w), lambda x, w: layer_norm(x) * w, lambda x, w: F.layer_norm(x, (4,), w)),
    "log_softmax": ([X], lambda x: tape.log_softmax(x, -1), log_softmax, lambda x: x.log_softmax(-1)),
    "normalize": ([X], tape.normalize, lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True), lambda x: F.normalize(x, dim=-1)),
    "rms_norm": ([X, ROW], lambda x, w: tape.rms_norm(x, w, 1e-6), lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w,
                 lambda x, w: F.rms_norm(x, (4,), w, 1e-6)),
    "softmax": ([X], lambda x: tape.softmax(x, -1), softmax, lambda x: x.softmax(-1)),
}  # fmt: skip

# Attention.
Q, K, V = values(1, 2, 3, 4), values(1, 2, 3, 4, seed=1), values(1, 2, 3, 4, seed=2)
HEADS = [values(1, 3, 8), values(1, 3, 8, seed=1), values(1, 3, 8, seed=2)]
ANGLES = values(3, 2)


def attention(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / 2) @ v


def split(x):
    return x.reshape(1, 3, 2, 4).swapaxes(1, 2)


def multi_head(q, k, v):
    return attention(split(q), split(k), split(v)).swapaxes(1, 2).reshape(1, 3, 8)


def rotated(x, c, s):
    """Pairs (column i, column i + 2) of one head of four columns."""
    a, b = x[..., :2], x[..., 2:]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def torch_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


CAUSAL = tape.Mask.causal()
CASES |= {
    "masked_scores": ([X], lambda x: tape.masked_scores(x[None, None], CAUSAL).softmax(-1)[0, 0], lambda x: softmax(np.where(np.tri(3, 4) > 0, x, -np.inf)), None),
    "merge_heads": ([Q], tape.merge_heads, lambda x: x.swapaxes(1, 2).reshape(1, 3, 8), None),
    "multi_head_attention": (HEADS, lambda q, k, v: tape.multi_head_attention(q, k, v, 2), multi_head, None),
    "multi_head_attention_with_weights": (HEADS, lambda q, k, v: tape.multi_head_attention_with_weights(q, k, v, 2).output, multi_head, None),
    "rotary_embedding": ([values(1, 3, 4), np.cos(ANGLES), np.sin(ANGLES)], lambda x, c, s: tape.rotary_embedding(x, c, s, num_heads=1), rotated, None),
    "scaled_dot_product_attention": ([Q, K, V], lambda q, k, v: tape.scaled_dot_product_attention(q, k, v, mask=CAUSAL), None, torch_attention),
    "scaled_dot_product_attention_with_weights": ([Q, K, V], lambda q, k, v: tape.scaled_dot_product_attention_with_weights(q, k, v).output, attention, None),
    "split_heads": ([values(1, 3, 8)], lambda x: tape.split_heads(x, 2), split, None),
}  # fmt: skip

# Losses.
P, T = values(4, 5), ids(5, 4)
ONE = np.sign(values(3))
CASES |= {
    "bce_loss": ([softmax(X), flags(3, 4) * 1.0], tape.bce_loss, None, lambda p, t: F.binary_cross_entropy(p, t)),
    "bce_with_logits_loss": ([X, flags(3, 4) * 1.0], tape.bce_with_logits_loss, None, lambda p, t: F.binary_cross_entropy_with_logits(p, t)),
    "cosine_embedding_loss": ([X, Y, ONE], tape.cosine_embedding_loss, None, lambda a, b, t: F.cosine_embedding_loss(a, b, t)),
    "cosine_similarity": ([X, Y], tape.cosine_similarity, lambda a, b: (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1),
                          lambda a, b: F.cosine_similarity(a, b, -1)),
    "cross_entropy": ([P, T], lambda p, t: tape.cross_entropy(p, t, label_smoothing=0.1), None, lambda p, t: F.cross_entropy(p, t, label_smoothing=0.1)),
    "ctc_loss": ([values(6, 2, 5), ids(4, 2, 2) + 1, np.array([6, 5]), np.array([2, 1])],
                 lambda x, t, a, b: tape.ctc_loss(tape.log_softmax(x, -1), t, a, b), None,
                 # PyTorch's gradient of ctc_loss alone is that of its logits.
                 lambda x, t, a, b: F.ctc_loss(x.log_softmax(-1), t, a, b)),
    "gaussian_nll_loss": ([X, Y, positive(3, 4)], tape.gaussian_nll_loss, None, lambda x, t, v: F.gaussian_nll_loss(x, t, v)),
    "huber_loss": ([X, Y], lambda x, t: tape.huber_loss(x, t, delta=0.7), None, lambda x, t: F.huber_loss(x, t, delta=0.7)),
    "info_nce": ([X, Y], lambda a, b: tape.info_nce(a, b, temperature=0.5), None,
                 lambda a, b: F.cross_entropy(F.normalize(a) @ F.normalize(b).T / 0.5, torch.arange(3))),
    "kl_div": ([log_softmax(X), softmax(Y)], lambda x, t: tape.kl_div(x, t, reduction="batchmean"), None, lambda x, t: F.kl_div(x, t, reduction="batchmean")),
    "l1_loss": ([X, Y], tape.l1_loss, lambda x, t: np.abs(x - t).mean(), lambda x, t: F.l1_loss(x, t)),
    "linear_cross_entropy": ([X, values(5, 4), values(5), ids(5, 3)], tape.linear_cross_entropy, None, lambda x, w, b, t: F.cross_entropy(F.linear(x, w, b), t)),
    "mse_loss": ([X, Y], tape.mse_loss, lambda x, t: ((x - t) ** 2).mean(), lambda x, t: F.mse_loss(x, t)),
    "nll_loss": ([log_softmax(P), T], tape.nll_loss, lambda p, t: -p[np.arange(4), t].mean(), lambda p, t: F.nll_loss(p, t)),
    "smooth_l1_loss": ([X, Y], tape.smooth_l1_loss, None, lambda x, t: F.smooth_l1_loss(x, t)),
    "triplet_margin_loss": ([X, Y, values(3, 4, seed=3)], tape.triplet_margin_loss, None, lambda a, p, n: F.triplet_margin_loss(a, p, n)),
}  # fmt: skip

# Convolution and pooling.
IMAGE, SIGNAL = values(2, 3, 6, 6), values(2, 3, 8)
CASES |= {
    "adaptive_avg_pool1d": ([SIGNAL], lambda x: tape.adaptive_avg_pool1d(x, 4), None, lambda x: F.adaptive_avg_pool1d(x, 4)),
    "adaptive_avg_pool2d": ([IMAGE], lambda x: tape.adaptive_avg_pool2d(x, (2, 3)), None, lambda x: F.adaptive_avg_pool2d(x, (2, 3))),
    "avg_pool1d": ([SIGNAL], lambda x: tape.avg_pool1d(x, 2), None, lambda x: F.avg_pool1d(x, 2)),
    "avg_pool2d": ([IMAGE], lambda x: tape.avg_pool2d(x, 3, stride=2, padding=1), None, lambda x: F.avg_pool2d(x, 3, 2, 1)),
    "conv1d": ([SIGNAL, values(4, 3, 3), values(4)], lambda x, w, b: tape.conv1d(x, w, b, padding="same"), None,
               lambda x, w, b: F.conv1d(x, w, b, padding="same")),
    "conv2d": ([IMAGE, values(4, 3, 3, 3), values(4)], lambda x, w, b: tape.conv2d(x, w, b, stride=2, padding=(1, 0)), None,
               lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=(1, 0))),
    "max_pool1d": ([SIGNAL], lambda x: tape.max_pool1d(x, 2), None, lambda x: F.max_pool1d(x, 2)),
    "max_pool1d_with_indices": ([SIGNAL], lambda x: tape.max_pool1d_with_indices(x, 2).values, None, lambda x: F.max_pool1d(x, 2)),
    "max_pool2d": ([IMAGE], lambda x: tape.max_pool2d(x, 3, stride=1, padding=1), None, lambda x: F.max_pool2d(x, 3, 1, 1)),
    "max_pool2d_with_indices": ([IMAGE], lambda x: tape.max_pool2d_with_indices(x, 2).values, None, lambda x: F.max_pool2d(x, 2)),
}  # fmt: skip

# Linear algebra, under "linalg.".
SQUARE = values(3, 3) + 3 * np.eye(3)
SPD = SQUARE @ SQUARE.T
LINALG = {
    "cholesky": ([SPD], np.linalg.cholesky),
    "cross": ([values(4, 3), values(4, 3, seed=1)], np.cross),
    "det": ([SQUARE], np.linalg.det),
    "eigvalsh": ([SPD], np.linalg.eigvalsh),
    "inv": ([SQUARE], np.linalg.inv),
    "matrix_exp": ([SQUARE / 3], None),
    "pinv": ([X], np.linalg.pinv),
    "solve": ([SQUARE, Y], np.linalg.solve),
    "svdvals": ([X], lambda x: np.linalg.svd(x, compute_uv=False)),
}
CASES |= {
    f"linalg.{name}": (x, getattr(tape.linalg, name), f, getattr(torch.linalg, name, None) if torch else None)
    for name, (x, f) in LINALG.items()
}
CASES |= {
    "linalg.eigh": ([SPD], lambda x: tape.linalg.eigh(x).eigenvalues, np.linalg.eigvalsh, lambda x: torch.linalg.eigh(x)[0]),
    "linalg.kron": ([X, Y], tape.linalg.kron, np.kron, lambda a, b: torch.kron(a, b)),
    "linalg.lstsq": ([Y.T, values(4, 2)], lambda a, b: tape.linalg.lstsq(a, b).solution, lambda a, b: np.linalg.lstsq(a, b)[0],
                     lambda a, b: torch.linalg.lstsq(a, b, driver="gelsd")[0]),
    "linalg.matrix_norm": ([X], tape.linalg.matrix_norm, np.linalg.norm, lambda x: torch.linalg.matrix_norm(x)),
    "linalg.matrix_power": ([SQUARE], lambda x: tape.linalg.matrix_power(x, 3), lambda x: np.linalg.matrix_power(x, 3), lambda x: torch.linalg.matrix_power(x, 3)),
    "linalg.outer": ([ROW, X[:, 0]], tape.linalg.outer, np.outer, lambda a, b: torch.outer(a, b)),
    "linalg.qr": ([X.T], lambda x: tape.linalg.qr(x).q @ tape.linalg.qr(x).r, lambda x: x, lambda x: x),
    "linalg.slogdet": ([SQUARE], lambda x: tape.linalg.slogdet(x).logabsdet, lambda x: np.linalg.slogdet(x)[1], lambda x: torch.linalg.slogdet(x)[1]),
    "linalg.solve_triangular": ([np.tril(SQUARE), Y], lambda a, b: tape.linalg.solve_triangular(a, b, upper=False), lambda a, b: np.linalg.solve(a, b),
                                lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)),
    "linalg.svd": ([X], lambda x: tape.linalg.svd(x).s, lambda x: np.linalg.svd(x)[1], lambda x: torch.linalg.svdvals(x)),
    "linalg.trace": ([SQUARE], tape.linalg.trace, np.trace, lambda x: torch.trace(x)),
}  # fmt: skip

# Creation and random numbers, settings, files and transforms of functions are tested by value in the files named here.
ELSEWHERE = {
    "test_create.py": "arange bernoulli empty empty_like exponential eye from_dlpack from_numpy full full_like generator gumbel linspace manual_seed multinomial "
    "ones ones_like rand rand_like randint randn randn_like randperm scalar tensor truncated_normal zeros zeros_like load_npy load_npz load_safetensors save_npy save_npz "
    "save_safetensors",
    "test_autograd.py": "backward checkpoint custom dropout grad gumbel_softmax hessian hvp is_grad_enabled jacobian jvp seeded_dropout vjp",
    "test_settings.py": "can_cast cublaslt describe devices empty_cache memory_stats num_threads printoptions reset_peak_memory result_type "
    "set_memory_limit set_num_threads set_printoptions synchronize",
}
