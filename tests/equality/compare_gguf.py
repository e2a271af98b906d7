"""Checks that transformers reads GGUF files written by Tapeformer, and the folders that Tapeformer makes of them.

    python tests/equality/compare_gguf.py --command build/release/tools/tapeformer

Models with random configurations and weights (GPT-2, Llama, Llama 3's rotary scaling, Mistral, Qwen2, Qwen3) and GPT-2's
tokenizer of tests/fixtures are exported as F32, F16, BF16, Q8_0 and Q4_0. Compares every tensor of a file, as decoded by
the package gguf, with the model's folder; and, if transformers supports the architecture, the logits of the model that it
loads from the file. The file is converted back to a folder, which transformers must load without warnings: for F32 it has
the model's own tensors; for all types it gives the logits of the file in transformers, the tokenizer's ids, and as the
model's end tokens eos and eot of the file. Requires the packages of tests/requirements.txt. Prints a line per file with
the largest difference, relative to the largest value, and fails above the type's rounding error.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import gguf
import numpy as np
import torch
import transformers

TOKENIZER = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "tokenizers" / "gpt2"
LOSS = {"f32": 1e-6, "f16": 1e-3, "bf16": 8e-3, "q8_0": 1.2e-2, "q4_0": 0.16}
SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
UNREAD = {"llama3", "mistral"}  # transformers 5.23 ignores rope_freqs and does not know the names of a Mistral's tensors
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16, "rope_theta": 10000.0}


def configurations(vocab):
    common = dict(SIZES, vocab_size=vocab, bos_token_id=0, eos_token_id=[17, 5])
    yield "gpt2", transformers.GPT2Config(vocab_size=vocab, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=[17, 5])
    yield "llama", transformers.LlamaConfig(**common, num_key_value_heads=2)
    yield "llama3", transformers.LlamaConfig(**common, num_key_value_heads=2, rope_parameters=LLAMA3)
    yield "mistral", transformers.MistralConfig(**common, num_key_value_heads=2, sliding_window=None)
    yield "qwen2", transformers.Qwen2Config(**common, num_key_value_heads=2, tie_word_embeddings=True)
    yield "qwen3", transformers.Qwen3Config(**common, num_key_value_heads=2, head_dim=128)  # transformers assumes 128


def to_transformers_order(values, heads):
    """Reorders the rows of a query's or key's weight from GGUF's order to transformers'."""
    rows = values.reshape(heads, values.shape[0] // heads // 2, 2, *values.shape[1:])
    return rows.swapaxes(1, 2).reshape(values.shape)


def their_name(name, kind):
    """The folder's name of a tensor of the file."""
    if kind == "gpt2":
        table = {"token_embd": "transformer.wte", "position_embd": "transformer.wpe", "output_norm": "transformer.ln_f",
                 "output": "transformer.wte", "attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj",
                 "ffn_norm": "ln_2", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}
        block = "transformer.h"
    else:
        table = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
                 "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
                 "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
                 "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj",
                 "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
        block = "model.layers"
    parts = name.split(".")
    if parts[0] == "blk":
        return f"{block}.{parts[1]}.{table[parts[2]]}.{parts[3]}"
    return f"{table[parts[0]]}.{parts[1]}"


def ends_of(file):
    fields = gguf.GGUFReader(file).fields
    return [int(fields[f"tokenizer.ggml.{name}_token_id"].contents()) for name in ("eos", "eot")]


def largest_difference(file, model, kind, config):
    state = model.state_dict()
    worst, seen = 0, set()
    for tensor in gguf.GGUFReader(file).tensors:
        if tensor.name == "rope_freqs.weight":
            continue
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(tuple(reversed(tensor.shape.tolist())))
        name = their_name(tensor.name, kind)
        seen.add(name)
        wanted = state[name].numpy()
        if kind == "gpt2" and wanted.ndim == 2 and ".h." in name:
            wanted = wanted.T
        if kind in ("llama", "llama3", "mistral") and (".q_proj." in name or ".k_proj." in name):
            heads = config.num_attention_heads if ".q_proj." in name else config.num_key_value_heads
            values = to_transformers_order(values, heads)
        assert values.shape == wanted.shape, (tensor.name, values.shape, wanted.shape)
        worst = max(worst, float(np.abs(values - wanted).max() / np.abs(wanted).max()))
    missing = set(dict(model.named_parameters())) - seen
    assert not missing, missing
    return worst


TEXTS = ["It's the 1st of 2,345 lines,\n\n  and none is   lost!", "Größe 漢字 🙂 \t end ", "", " a", "don't   stop\r\n"]


def imported(command, file, folder, model, dtype):
    """The model of the folder that a file is converted to, and whether it and its tokenizer are unchanged."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([command, "import", "--gguf", file, "--out", folder], check=True)
    again, report = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    for part in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[part], (part, report[part])
    if dtype == "f32":
        before, after = model.state_dict(), again.state_dict()
        assert before.keys() == after.keys(), before.keys() ^ after.keys()
        for name, values in before.items():
            assert torch.equal(values, after[name]), name
    ends = again.generation_config.eos_token_id
    # Tokens that llama.cpp recognizes as ends by their text come last.
    assert ends[: len(ends_of(file))] == ends_of(file), ends
    assert set(model.config.eos_token_id) <= set(ends), ends
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    theirs = transformers.GPT2TokenizerFast.from_pretrained(TOKENIZER)
    for text in TEXTS:
        ids = tokenizer(text).input_ids
        assert ids == theirs(text).input_ids, text
        assert tokenizer.decode(ids) == theirs.decode(ids), text
    return again.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True, help="the program tapeformer")
    command = parser.parse_args().command
    vocab = len((TOKENIZER / "vocab.json").read_text().split('":')) - 1
    failed = 0
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as place:
        for kind, config in configurations(vocab):
            torch.manual_seed(1)
            model = transformers.AutoModelForCausalLM.from_config(config).eval()
            folder = pathlib.Path(place) / kind
            model.save_pretrained(folder)
            for name in ("vocab.json", "merges.txt"):
                shutil.copy(TOKENIZER / name, folder)
            (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
            ids = torch.randint(vocab, (2, 20), generator=torch.Generator().manual_seed(2))
            wanted = model(ids).logits
            for dtype, bound in LOSS.items():
                file = pathlib.Path(place) / f"{kind}-{dtype}.gguf"
                subprocess.run([command, "export", "--model", folder, "--out", file, "--dtype", dtype], check=True)
                worst = largest_difference(file, model, kind, config)
                again = imported(command, file, pathlib.Path(place) / f"{kind}-again", model, dtype)(ids).logits
                line = f"{kind} {dtype}: tensors {worst:.1e}"
                if dtype == "f32":
                    worst = max(worst, float((again - wanted).abs().max() / wanted.abs().max()))
                if kind not in UNREAD:
                    read = transformers.AutoModelForCausalLM.from_pretrained(place, gguf_file=file.name, dtype=torch.float32)
                    logits = float((read.eval()(ids).logits - wanted).abs().max() / wanted.abs().max())
                    line += f", logits {logits:.1e}"
                    back = float((read.eval()(ids).logits - again).abs().max() / wanted.abs().max())
                    line += f", of the folder made of it {back:.1e}"
                    worst = max(worst, logits / 8)
                    failed += back > 1e-5
                failed += worst > bound
                print(line + ("" if worst <= bound else "  FAILED"), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
