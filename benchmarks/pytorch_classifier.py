#!/usr/bin/env python3
"""Fine-tunes a BERT folder on labeled lines with PyTorch and transformers, by the recipe of `tapeformer train
classifier`: AdamW, a learning rate that rises over a tenth of the steps and falls linearly to 0, batches of lines of similar
length, gradients clipped to norm 1, the best epoch by accuracy. Ends with a JSON line with that command's keys;
train_seconds covers training and validation, without reading, tokenizing and, with --compile, compilation in the first steps.

    python3 benchmarks/pytorch_classifier.py --data train.tsv --valid dev.tsv --init MiniLM [--compile] [--bf16]
"""

import argparse
import json
import math
import random
import time

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup


def read(path, label_first):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip()]
    if label_first:
        return [tuple(reversed(line.split(" ", 1))) for line in lines]
    return [tuple(line.rsplit("\t", 1)) for line in lines]


def batches_by_length(encoded, batch):
    """Shuffled, sorted by length, and the batches shuffled again, similar to transformers' group_by_length."""
    order = random.sample(range(len(encoded)), len(encoded))
    order.sort(key=lambda i: len(encoded[i]))
    batches = [order[i : i + batch] for i in range(0, len(order), batch)]
    random.shuffle(batches)
    return batches


def padded(encoded, which, padding):
    length = max(len(encoded[i]) for i in which)
    ids = torch.tensor([encoded[i] + [padding] * (length - len(encoded[i])) for i in which])
    return {"input_ids": ids, "attention_mask": (ids != padding).long()}


@torch.inference_mode()
def evaluate(model, encoded, labels, padding):
    model.eval()
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
    said, loss = [0] * len(encoded), 0.0
    for first in range(0, len(order), 64):
        which = order[first : first + 64]
        logits = model(**padded(encoded, which, padding)).logits
        loss += torch.nn.functional.cross_entropy(logits, torch.tensor([labels[i] for i in which]), reduction="sum").item()
        for i, label in zip(which, logits.argmax(-1).tolist()):
            said[i] = label
    model.train()
    return loss / len(encoded), sum(a == b for a, b in zip(said, labels)) / len(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--valid", required=True)
    parser.add_argument("--format", choices=["tsv", "label-first"], default="tsv")
    parser.add_argument("--init", required=True)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    random.seed(args.seed)

    train, valid = (read(path, args.format == "label-first") for path in (args.data, args.valid))
    names = sorted({label for _, label in train})
    tokenizer = AutoTokenizer.from_pretrained(args.init)
    sides = [([tokenizer(text, truncation=True, max_length=512)["input_ids"] for text, _ in lines],
              [names.index(label) for _, label in lines]) for lines in (train, valid)]  # fmt: skip
    (train_ids, train_labels), (valid_ids, valid_labels) = sides
    model = AutoModelForSequenceClassification.from_pretrained(args.init, num_labels=len(names)).train()
    step_model = torch.compile(model, dynamic=True) if args.compile else model

    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    adam = torch.optim.AdamW([{"params": decayed}, {"params": others, "weight_decay": 0}], lr=args.lr, weight_decay=0.01, fused=True)
    total = args.epochs * math.ceil(len(train) / args.batch)
    schedule = get_linear_schedule_with_warmup(adam, total // 10, total)

    def forward_backward(which):
        batch = padded(train_ids, which, tokenizer.pad_token_id)
        labels = torch.tensor([train_labels[i] for i in which])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.bf16):
            loss = step_model(**batch, labels=labels).loss
        loss.backward()

    if args.compile:
        for which in batches_by_length(train_ids, args.batch)[:6]:
            forward_backward(which)
        adam.zero_grad(set_to_none=True)
    start = time.perf_counter()
    best = (-1.0, 0.0)
    for _ in range(args.epochs):
        for which in batches_by_length(train_ids, args.batch):
            adam.zero_grad(set_to_none=True)
            forward_backward(which)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
            schedule.step()
        loss, accuracy = evaluate(model, valid_ids, valid_labels, tokenizer.pad_token_id)
        best = max(best, (accuracy, -loss))
    print(json.dumps({"valid_loss": -best[1], "valid_accuracy": best[0], "train_seconds": time.perf_counter() - start, "steps": total}))


if __name__ == "__main__":
    main()
