"""The benchmark models as usually written in PyTorch: torch.nn.Transformer for translation, a pre-LN GPT with
scaled_dot_product_attention for language models. Sizes as in tools/bench/bench_model.cpp."""

import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

TRANSLATORS = {
    "base": dict(vocab=10000, batch=32, length=32, d_model=512, heads=8, layers=6, d_ff=2048, tied=False),
    "tiny": dict(vocab=10000, batch=256, length=16, d_model=128, heads=4, layers=4, d_ff=256, tied=True),
}
LANGUAGE_MODELS = {
    "gpt-char": dict(vocab=65, batch=16, length=256, d_model=384, heads=6, layers=6),
    "gpt-nano": dict(vocab=65, batch=12, length=64, d_model=128, heads=4, layers=4),
    "gpt-124m": dict(vocab=50257, batch=2, length=256, d_model=768, heads=12, layers=12),
    "gpt-300m": dict(vocab=8192, batch=4, length=64, d_model=1024, heads=16, layers=24),
}

# What is larger on a GPU.
GPU = {
    "gpt-char": dict(batch=64),
    "base": dict(batch=128, length=64),
    "gpt-124m": dict(vocab=50304, batch=32, length=1024, tied=True),
}


def starts(wait):
    """Yields once for each measurement: one, or with `wait`, one for each line of the input, after "ready" was printed."""
    if not wait:
        yield
        return
    print("ready", flush=True)
    for _ in sys.stdin:
        yield


class Translator(nn.Module):
    def __init__(self, vocab, d_model, heads, layers, d_ff, tied, dropout, **_):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(d_model, heads, layers, layers, d_ff, dropout, batch_first=True)
        self.output = nn.Linear(d_model, vocab, bias=not tied)
        self.scale = math.sqrt(d_model)
        if tied:
            nn.init.normal_(self.embedding.weight, 0, d_model**-0.5)
            self.output.weight = self.embedding.weight

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], device=tgt.device)
        embed = lambda ids: self.dropout(self.embedding(ids) * self.scale)  # noqa: E731
        return self.output(self.transformer(embed(src), embed(tgt), tgt_mask=mask, tgt_is_causal=True))


class Block(nn.Module):
    def __init__(self, d_model, heads, dropout):
        super().__init__()
        self.heads, self.p = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.up, self.down = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.p if self.training else 0.0)
        x = x + self.dropout(self.out(heads.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))


class Gpt(nn.Module):
    def __init__(self, vocab, length, d_model, heads, layers, dropout, tied=False, **_):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab, d_model), nn.Embedding(length, d_model)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(d_model, heads, dropout) for _ in range(layers))
        self.norm, self.output = nn.LayerNorm(d_model), nn.Linear(d_model, vocab, bias=False)
        if tied:
            nn.init.normal_(self.token.weight, 0, 0.02)
            self.output.weight = self.token.weight

    def forward(self, ids):
        x = self.dropout(self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x))


def make(name, dropout, rank=0, ranks=1, wrap=lambda model: model, device="cpu"):
    """Returns the model, a function that computes the loss of a fixed batch, and the tokens per step. With several ranks each has
    every ranks-th row of the batch, and the loss is computed by `wrap(model)`."""
    larger = GPU.get(name, {}) if device == "cuda" else {}
    if name in TRANSLATORS:
        size = {**TRANSLATORS[name], **larger}
        vocab, batch, length = size["vocab"], size["batch"], size["length"]
        model = Translator(dropout=dropout, **size).to(device)
        src, tgt = torch.randint(3, vocab, (batch, length)), torch.randint(3, vocab, (batch, length + 1))
        src, tgt, called = src[rank::ranks].to(device), tgt[rank::ranks].to(device), wrap(model)
        loss = lambda: F.cross_entropy(called(src, tgt[:, :-1]).view(-1, vocab), tgt[:, 1:].reshape(-1), label_smoothing=0.1)  # noqa: E731
        return model, loss, 2 * batch * length
    size = {**LANGUAGE_MODELS[name], **larger}
    vocab, batch, length = size["vocab"], size["batch"], size["length"]
    model = Gpt(dropout=dropout, **size).to(device)
    ids, called = torch.randint(0, vocab, (batch, length + 1))[rank::ranks].to(device), wrap(model)
    return model, lambda: F.cross_entropy(called(ids[:, :-1]).view(-1, vocab), ids[:, 1:].reshape(-1)), batch * length
