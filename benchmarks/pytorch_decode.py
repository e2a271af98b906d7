#!/usr/bin/env python3
"""Times generate() of transformers and prints a JSON line with the keys of `tapeformer bench decode`: MarianMTModel, 32 tokens
to 32 tokens, or GPT-2 of 124 million parameters, 128 tokens behind 16.

    python3 benchmarks/pytorch_decode.py --config base --batch 32 --beam 4
    python3 benchmarks/pytorch_decode.py --config gpt-124m --device cuda --precision medium

The weights are random: the time does not depend on the output.
"""

import argparse
import json
import os
import resource
import time

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch  # noqa: E402
import transformers  # noqa: E402

from pytorch_models import TRANSLATORS, starts  # noqa: E402

LENGTH, PADDING, BOS, EOS = 32, 0, 1, 2


def marian(name):
    size = TRANSLATORS[name]
    layers, heads, width = size["layers"], size["heads"], size["d_ff"]
    return transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=size["vocab"],
            d_model=size["d_model"],
            encoder_layers=layers,
            decoder_layers=layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=width,
            decoder_ffn_dim=width,
            activation_function="relu",
            max_position_embeddings=2 * LENGTH + 1,
            scale_embedding=True,
            pad_token_id=PADDING,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    ).eval()


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(bos_token_id=None, eos_token_id=None, pad_token_id=PADDING)).eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="base", choices=[*sorted(TRANSLATORS), "gpt-124m"])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--precision", default="highest", choices=["highest", "high", "medium"], help="medium: bf16 autocast, on a GPU weights in bf16")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--wait", action="store_true", help="print \"ready\" and measure for each line of the input")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    autocast = args.precision == "medium"
    torch.set_float32_matmul_precision("highest" if autocast else args.precision)
    torch.manual_seed(1)
    continues = args.config == "gpt-124m"
    given, made = (16, 128) if continues else (LENGTH, LENGTH)
    model = (gpt2() if continues else marian(args.config)).to(args.device)
    if autocast and args.device == "cuda":
        model, autocast = model.to(torch.bfloat16), False
    ids = torch.randint(3, model.config.vocab_size, (args.batch, given)).to(args.device)
    mask = torch.ones_like(ids)
    never = {} if continues else {"bad_words_ids": [[PADDING]]}
    for _ in starts(args.wait):
        times = []
        with torch.inference_mode(), torch.autocast(args.device, dtype=torch.bfloat16, enabled=autocast):
            for step in range(args.steps + 1):
                start = time.perf_counter()
                # eos is suppressed until there are all tokens, and padding always.
                said = model.generate(input_ids=ids, attention_mask=mask, do_sample=False, num_beams=args.beam,
                                      min_new_tokens=made, max_new_tokens=made, **never)  # fmt: skip
                said = said.cpu()
                assert said.shape == (args.batch, made + (given if continues else 1)), said.shape
                if step > 0:
                    times.append((time.perf_counter() - start) * 1e3)
        times.sort()
        tokens = args.batch * made
        gpu = {"gpu_mb": torch.cuda.max_memory_allocated() >> 20} if args.device == "cuda" else {}
        line = {**gpu, "cfg": args.config, "threads": args.threads, "params": sum(p.numel() for p in model.parameters()),
                "batch": args.batch, "beam": args.beam, "ms": round(times[len(times) // 2], 2),
                "min_ms": round(times[0], 2), "tok_s": round(tokens / times[0] * 1e3),
                "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}  # fmt: skip
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
