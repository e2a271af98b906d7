#!/usr/bin/env python3
"""The recipe of `tapeformer train lm --preset nano` in PyTorch, from the start of the process to the validation loss: nanoGPT's
CPU recipe (github.com/karpathy/nanoGPT, README, "I only have a macbook"). Prints a JSON line.

    python3 benchmarks/pytorch_language_model.py --text input.txt [--steps 2000] [--compile]
"""

import argparse
import json
import math
import resource
import time

import torch
from torch.nn import functional as F

from pytorch_models import LANGUAGE_MODELS, Gpt

RATE, WARMUP = 1e-3, 100


def read(path):
    """Ids of the first nine tenths and of the rest, and the number of distinct characters."""
    text = open(path, encoding="utf-8").read()
    ids = {c: i for i, c in enumerate(sorted(set(text)))}
    data = torch.tensor([ids[c] for c in text])
    cut = int(0.9 * len(data))
    return data[:cut], data[cut:], len(ids)


def make_model(vocab):
    size = LANGUAGE_MODELS["gpt-nano"]
    model = Gpt(vocab, size["length"], size["d_model"], size["heads"], size["layers"], 0.0)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0, 0.02)
    model.output.weight = model.token.weight
    return model, size["batch"], size["length"]


def rate(step, steps, highest=RATE, warmup=WARMUP):
    """Warm-up, followed by a cosine down to a tenth."""
    if step < warmup:
        return highest * (step + 1) / warmup
    least = highest / 10
    return least + (highest - least) * (1 + math.cos(math.pi * (step - warmup) / max(steps - warmup, 1))) / 2


def make_adam(parameters, lr, weight_decay):
    """AdamW with weight decay for matrices and tables only."""
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]  # fmt: skip
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.99), fused=True)


@torch.no_grad()
def validate(loss, data, length):
    """The mean over adjacent windows that cover the text."""
    count = (len(data) - 1) // length
    x, y = data[: count * length].view(count, length), data[1 : count * length + 1].view(count, length)
    return sum(loss(a, b).item() * len(a) for a, b in zip(x.split(64), y.split(64))) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    start = time.perf_counter()
    train, valid, vocab = read(args.text)
    model, batch, length = make_model(vocab)
    plain = lambda x, y: F.cross_entropy(model(x).view(-1, vocab), y.reshape(-1))  # noqa: E731
    loss = torch.compile(plain) if args.compile else plain
    adam = make_adam(list(model.parameters()), RATE, 0.1)
    for step in range(args.steps):
        for group in adam.param_groups:
            group["lr"] = rate(step, args.steps)
        starts = torch.randint(len(train) - length, (batch,)).tolist()
        x = torch.stack([train[i : i + length] for i in starts])
        y = torch.stack([train[i + 1 : i + length + 1] for i in starts])
        value = loss(x, y)
        adam.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
    print(json.dumps({"valid_loss": round(validate(plain, valid, length), 4), "steps": args.steps,
                      "train_seconds": round(time.perf_counter() - start, 2),
                      "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))  # fmt: skip


if __name__ == "__main__":
    main()
