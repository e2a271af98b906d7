#!/usr/bin/env python3
"""The recipes of `tapeformer train lm` (preset nano with other sizes, and preset adapters) in PyTorch with transformers and peft,
for compare_fine_tuning.py, which prepares their input. Each ends with a JSON line.

    pytorch_fine_tuning.py train --like RUN --out DIR [--steps 8000 --batch 1 --precision medium --threads 1]
        trains a model with the sizes and on the documents of RUN, a folder written by `train lm --pack`
    pytorch_fine_tuning.py adapt --init DIR --text requests.jsonl --out DIR [--steps 500 ...]
        trains rank-8 adapters on the queries and values of the model in DIR
"""

import argparse
import contextlib
import json
import pathlib
import shutil
import time

import numpy
import torch
from peft import LoraConfig, get_peft_model
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from pytorch_language_model import make_adam, rate

TOKENIZER = ["vocab.json", "merges.txt", "tokenizer_config.json"]


def precision(args):
    return torch.autocast("cpu", dtype=torch.bfloat16) if args.precision == "medium" else contextlib.nullcontext()


def learn(model, batches, args, weight_decay):
    """The mean seconds per step, without the first two."""
    trained = [p for p in model.parameters() if p.requires_grad]
    adam = make_adam(trained, args.lr, weight_decay)
    model.train()
    for step in range(args.steps):
        if step == 2:
            start = time.perf_counter()
        for group in adam.param_groups:
            group["lr"] = rate(step, args.steps, args.lr, args.warmup)
        inputs, y = batches(step)
        with precision(args):
            logits = model(**inputs).logits
        adam.zero_grad(set_to_none=True)
        F.cross_entropy(logits.float().flatten(0, 1), y.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        adam.step()
        if step % 20 == 19:
            print(f"step {step + 1}  {time.perf_counter() - start:.0f} s", flush=True)
    return (time.perf_counter() - start) / (args.steps - 2)


@torch.no_grad()
def validate(model, batches, args):
    """The mean loss per trained token."""
    model.eval()
    total, count = 0.0, 0
    for inputs, y in batches:
        with precision(args):
            logits = model(**inputs).logits
        total += F.cross_entropy(logits.float().flatten(0, 1), y.flatten(), reduction="sum").item()
        count += int((y != -100).sum())
    return total / count


def train(args):
    folder = pathlib.Path(args.like)
    learned, held = (stored_documents(folder / "tokens", side) for side in ("train", "valid"))
    config = LlamaConfig(**json.loads((folder / "config.json").read_text()))
    length = config.max_position_embeddings
    model = LlamaForCausalLM(config)
    for name, parameter in model.named_parameters():  # initialized as in GPT-2 and Tapeformer
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            torch.nn.init.normal_(parameter, 0, config.initializer_range / (2 * config.num_hidden_layers) ** 0.5)

    rows = filled_rows(learned, length, args.seed)
    seconds = learn(model, lambda step: packed([rows[(step * args.batch + i) % len(rows)] for i in range(args.batch)], length), args, 0.1)
    rows = filled_rows(held, length, args.seed)
    loss = validate(model, (packed(rows[i : i + 32], length) for i in range(0, len(rows), 32)), args)
    model.save_pretrained(args.out)
    for name in TOKENIZER:
        shutil.copy(folder / name, args.out)
    return seconds, loss


def stored_documents(folder, side):
    """Ids of each document, as `train lm` stores them: the end of each, and the part of it to train on, which is all."""
    tokens = torch.from_numpy(numpy.fromfile(folder / f"{side}.bin", numpy.uint16).astype(numpy.int64))
    ends = numpy.fromfile(folder / f"{side}.documents", numpy.int64).reshape(-1, 2)[:, 0].tolist()
    return [tokens[begin:end] for begin, end in zip([0, *ends], ends)]


def filled_rows(documents, length, seed):
    """Lists of documents that share a row: each goes into the fullest of the last rows that has room for it."""
    rows, open_rows = [], []  # open_rows: remaining length, row index
    for i in torch.randperm(len(documents), generator=torch.Generator().manual_seed(seed)).tolist():
        size = min(len(documents[i]) - 1, length)
        fitting = min((o for o in open_rows if o[0] >= size), default=None)
        if fitting is None:
            rows.append([])
            fitting = (length, len(rows) - 1)
        else:
            open_rows.remove(fitting)
        rows[fitting[1]].append(documents[i])
        open_rows = [*open_rows[-99:], (fitting[0] - size, fitting[1])]
    return rows


def packed(rows, length):
    """Rows of documents that do not attend to each other, and the next tokens."""
    x, y = torch.zeros(len(rows), length, dtype=torch.long), torch.full((len(rows), length), -100)
    places, numbers = torch.zeros_like(x), torch.full_like(x, -1)
    for r, documents in enumerate(rows):
        at = 0
        for number, document in enumerate(documents):
            n = min(len(document) - 1, length)
            x[r, at : at + n], y[r, at : at + n] = document[:n], document[1 : n + 1]
            places[r, at : at + n], numbers[r, at : at + n] = torch.arange(n), number
            at += n
    seen = (numbers[:, :, None] == numbers[:, None, :]).tril()
    return {"input_ids": x, "position_ids": places, "attention_mask": seen[:, None]}, y


def documents(args, end):
    """Prompts and completions as ids with labels, of the first nine tenths and of the rest."""
    tokenizer = AutoTokenizer.from_pretrained(args.init)
    found = []
    for line in open(args.text, encoding="utf-8"):
        record = json.loads(line)
        prompt, whole = (tokenizer(t, add_special_tokens=False).input_ids for t in (record["prompt"], record["prompt"] + record["completion"]))
        whole = [*whole, end]
        found.append((whole, [-100] * len(prompt) + whole[len(prompt) :]))
    cut = len(found) * 9 // 10
    return found[:cut], found[cut:]


def padded(rows, length):
    """Rows truncated to `length` and padded to the longest, and the next tokens to train on."""
    width = min(max(len(ids) for ids, _ in rows) - 1, length)
    x, mask, y = torch.zeros(len(rows), width, dtype=torch.long), torch.zeros(len(rows), width, dtype=torch.long), torch.full((len(rows), width), -100)
    for r, (ids, labels) in enumerate(rows):
        n = min(len(ids) - 1, width)
        x[r, :n], mask[r, :n], y[r, :n] = torch.tensor(ids[:n]), 1, torch.tensor(labels[1 : n + 1])
    return {"input_ids": x, "attention_mask": mask}, y


def adapt(args):
    model = AutoModelForCausalLM.from_pretrained(args.init)
    learned, held = documents(args, model.config.eos_token_id)
    length = model.config.max_position_embeddings
    model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    draws = torch.Generator().manual_seed(args.seed)
    order = []

    def batch(_):
        if len(order) < args.batch:
            order.extend(torch.randperm(len(learned), generator=draws).tolist())
        return padded([learned[order.pop()] for _ in range(args.batch)], length)

    seconds = learn(model, batch, args, 0.0)
    loss = validate(model, (padded(held[i : i + 32], length) for i in range(0, len(held), 32)), args)
    model.save_pretrained(args.out)
    for name in TOKENIZER:
        shutil.copy(pathlib.Path(args.init) / name, args.out)
    return seconds, loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "adapt"])
    for name in ("--like", "--init", "--text"):
        parser.add_argument(name)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--precision", choices=["highest", "medium"], default="highest")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    seconds, loss = {"train": train, "adapt": adapt}[args.what](args)
    print(json.dumps({"ms": round(1000 * seconds, 1), "valid_loss": round(loss, 4)}))


if __name__ == "__main__":
    main()
