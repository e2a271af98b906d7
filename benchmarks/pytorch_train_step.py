#!/usr/bin/env python3
"""Times training steps of a benchmark model in PyTorch and prints a JSON line with the keys of `tapeformer bench`.

    python3 benchmarks/pytorch_train_step.py --config gpt-nano [--compile] [--precision medium]
    python3 -m torch.distributed.run --nproc-per-node 2 benchmarks/pytorch_train_step.py --config gpt-nano --threads 1

Under torch.distributed.run the processes share the batch, with DistributedDataParallel and gloo.
"""

import argparse
import json
import os
import resource
import time

import torch

from pytorch_models import make, starts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="gpt-nano")
    parser.add_argument("--dropout", type=float, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--graphs", action="store_true", help="with --compile: CUDA graphs")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="on a GPU, high is TF32, and each of the --steps is five")
    parser.add_argument("--step-in-backward", action="store_true", help="one Adam per parameter, in a hook after its gradient is accumulated")
    parser.add_argument("--wait", action="store_true", help="compile, print \"ready\", and measure for each line of the input")
    parser.add_argument("--precision", default="highest", choices=["highest", "high", "medium"], help="medium: bf16 autocast")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    autocast = args.precision == "medium"
    torch.set_float32_matmul_precision("highest" if autocast else args.precision)
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if ranks > 1:
        torch.distributed.init_process_group("gloo")
    wrap = torch.nn.parallel.DistributedDataParallel if ranks > 1 else lambda model: model
    model, loss, tokens = make(args.config, args.dropout, rank, ranks, wrap, args.device)
    if args.compile:
        loss = torch.compile(loss, mode="reduce-overhead" if args.graphs else None)
    if args.step_in_backward:
        each = {p: torch.optim.Adam([p], lr=1e-4, fused=True) for p in model.parameters()}

        def update(parameter):
            each[parameter].step()
            parameter.grad = None

        for parameter in each:
            parameter.register_post_accumulate_grad_hook(update)
    else:
        adam = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True, capturable=args.graphs)
    between_waits = 5 if args.device == "cuda" else 1

    def step():
        if not args.step_in_backward:
            adam.zero_grad(set_to_none=True)
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=autocast):
            value = loss()
        value.backward()
        if not args.step_in_backward:
            adam.step()
        return value

    if args.wait and args.compile:
        step().item()
        if args.device == "cuda":
            torch.cuda.empty_cache()  # others prepare, too
    for _ in starts(args.wait):
        times = []
        for number in range(args.warm_up + args.steps):
            start = time.perf_counter()
            for _ in range(between_waits):
                value = step()
            value.item()
            if number >= args.warm_up:
                times.append((time.perf_counter() - start) * 1e3 / between_waits)
        if rank > 0:
            continue
        times.sort()
        gpu = {"gpu_mb": torch.cuda.max_memory_allocated() >> 20} if args.device == "cuda" else {}
        line = {**gpu, "cfg": args.config, "threads": args.threads, "params": sum(p.numel() for p in model.parameters()),
                "ms": round(times[len(times) // 2], 2), "min_ms": round(times[0], 2), "tok_s": round(tokens / times[0] * 1e3),
                "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "dropout": args.dropout}  # fmt: skip
        print(json.dumps(line), flush=True)
    if ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
