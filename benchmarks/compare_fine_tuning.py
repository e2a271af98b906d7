#!/usr/bin/env python3
"""Compares training a small Llama from scratch, and adapters on it, in Tapeformer and in PyTorch with transformers and peft:
the same sizes, tokens, learning rates and batches, both at the same time, on one core each.

    python3 benchmarks/compare_fine_tuning.py --out runs/stories [--build build/release] [--steps 8000 --adapter-steps 300]

Generates stories (examples/2_training/stories.cpp), trains a tokenizer on them, both models, and adapters for requests on each,
and answers 200 requests from every folder with `tapeformer generate`. Ends with a table; everything is kept in --out.
Nothing else should run at the same time.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

from sides import CLEAN, is_intel, print_machine, unlocked

HERE = pathlib.Path(__file__).resolve().parent


def side_by_side(commands, out):
    """Runs name -> (command, environment) in parallel, the i-th on the i-th core. Returns name -> its JSON line, with the
    "seconds" and "peak_mb" of the process."""
    names, running, results = list(commands), {}, {}
    start = time.perf_counter()
    for core, name in enumerate(names):
        command, environment = commands[name]
        log = open(out / f"{name.replace(' ', '_')}.log", "w+", encoding="utf-8")
        process = subprocess.Popen(["taskset", "-c", str(core), *map(str, command)], stdout=log, stderr=subprocess.STDOUT,
                                   env={**CLEAN, "OMP_NUM_THREADS": "1", **(environment or {})})  # fmt: skip
        running[process.pid] = (name, log)
    while running:
        pid, status, usage = os.wait4(-1, 0)
        name, log = running.pop(pid)
        log.seek(0)
        lines = log.read().splitlines()
        if status != 0:
            sys.exit(f"{name} failed:\n" + "\n".join(lines[-20:]))
        last = next(line for line in reversed(lines) if line.startswith("{"))
        results[name] = {**json.loads(last), "seconds": time.perf_counter() - start, "peak_mb": usage.ru_maxrss // 1024}
    return results


def answers(tapeformer, stories, model, out):
    """How many of the unseen requests are answered correctly."""
    with open(out / "stories" / "unseen.txt", encoding="utf-8") as unseen:
        done = subprocess.run([tapeformer, "generate", "--model", model, "--temperature", "0", "--max-new-tokens", "200", "--json"],
                              stdin=unseen, capture_output=True, text=True, env=CLEAN, check=True)  # fmt: skip
    replies = out / f"{pathlib.Path(model).name}.jsonl"
    replies.write_text(done.stdout)
    said = subprocess.run([stories, "--check", replies], capture_output=True, text=True, check=True).stdout
    return said.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--adapter-steps", type=int, default=300)
    parser.add_argument("--adapter-batch", type=int, default=8)
    parser.add_argument("--precision", choices=["highest", "medium"], default="medium")
    args = parser.parse_args()
    tapeformer, stories = args.build / "tools" / "tapeformer", args.build / "examples" / "stories"
    print_machine(tapeformer)
    out = args.out
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([stories, out / "stories"], check=True)
    common = ["--precision", args.precision, "--threads", 1]
    valid = ["--valid-fraction", "0.01"]
    schedule = ["--batch", args.batch, "--steps", args.steps, "--lr", 1e-3, "--warmup", 200]
    adapters = ["--batch", args.adapter_batch, "--steps", args.adapter_steps]
    ours = [tapeformer, "train", "lm", *common, "--overwrite", "--json"]
    sizes = ["--text", out / "stories" / "stories.jsonl", "--pack", *valid, "--architecture", "llama", "--level", "bpe", "--vocab-size", 2000,
             "--layers", 8, "--width", 384, "--heads", 6, "--context", 256]  # fmt: skip
    subprocess.run([*map(str, [*ours, *sizes, "--batch", args.batch, "--steps", 1, "--out", out / "sizes"])], check=True, env=CLEAN, capture_output=True)
    python = [sys.executable, HERE / "pytorch_fine_tuning.py"]
    environment = None if is_intel() else unlocked(out)
    requests = out / "stories" / "requests.jsonl"
    trained = side_by_side({
        "tapeformer train": ([*ours, *sizes, *schedule, "--evaluate-every", args.steps, "--out",
                              out / "tapeformer-base"], None),
        "pytorch train": ([*python, "train", *common, "--like", out / "sizes", *schedule, "--out",
                           out / "pytorch-base"], environment)}, out)  # fmt: skip
    adapted = side_by_side({
        "tapeformer adapt": ([*ours, "--init", out / "tapeformer-base", "--text", requests, "--lora-rank", 8,
                              *adapters, "--evaluate-every", args.adapter_steps, "--out", out / "tapeformer-adapters"], None),
        "pytorch adapt": ([*python, "adapt", *common, "--init", out / "pytorch-base", "--text", requests, *adapters,
                           "--out", out / "pytorch-adapters"], environment)}, out)  # fmt: skip
    print(f"\n{'':20}{'seconds':>9}{'peak MB':>9}{'valid loss':>12}")
    for name, result in {**trained, **adapted}.items():
        print(f"{name:20}{result['seconds']:>9.0f}{result['peak_mb']:>9}{result['valid_loss']:>12.4f}")
    for name in ("tapeformer-base", "tapeformer-adapters", "pytorch-base", "pytorch-adapters"):
        print(f"{name}: {answers(tapeformer, stories, out / name, out)}", flush=True)


if __name__ == "__main__":
    main()
