"""Checks that llama.cpp reads GGUF files written by Tapeformer, and tokenizes and continues texts identically.

    npm install --ignore-scripts node-llama-cpp        # in any folder: llama.cpp, compiled
    python tests/equality/compare_llama_cpp.py --command build/release/tools/tapeformer --packages that_folder

Uses models with random weights: those of compare_gguf.py, and a Llama with each tokenizer of
tests/fixtures/tokenizers/families that GGUF has a name for. Requires node and the packages of tests/requirements.txt.
Prints a line per model and fails if the tokens or the twelve likeliest next tokens differ.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import compare_gguf
import models as equality
import torch
import transformers

FAMILIES = compare_gguf.TOKENIZER.parent / "families"
TEXTS = ["It's the 1st of 2,345 lines,\n\n  and none is   lost!", "Größe 漢字 🙂 end", " a", "don't   stop\r\n"]


def described():
    """Name, model, and the folder of its tokenizer."""
    vocab = len((compare_gguf.TOKENIZER / "vocab.json").read_text().split('":')) - 1
    for kind, config in compare_gguf.configurations(vocab):
        yield kind, config, compare_gguf.TOKENIZER
    for family in ("llama2", "llama3", "smollm2", "qwen"):
        size = len(transformers.PreTrainedTokenizerFast(tokenizer_file=str(FAMILIES / family / "tokenizer.json")))
        common = dict(compare_gguf.SIZES, vocab_size=size, num_key_value_heads=2, bos_token_id=0, eos_token_id=1)
        yield f"tokenizer of {family}", transformers.LlamaConfig(**common), FAMILIES / family


def tokens_of(command, folder):
    """Tapeformer's tokens of each text."""
    lines = "".join(json.dumps(text) + "\n" for text in TEXTS)
    out = subprocess.run([command, "tokenize", "--json", "--model", folder], input=lines, check=True, capture_output=True, text=True)
    return [json.loads(line)["ids"] for line in out.stdout.splitlines()]


def continued(model, ids, count):
    """The likeliest tokens after the given ones."""
    ids = list(ids)
    with torch.no_grad():
        for _ in range(count):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[-count:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True, help="path of the program tapeformer")
    parser.add_argument("--packages", required=True, help="folder that contains node_modules/node-llama-cpp")
    arguments = parser.parse_args()
    script = pathlib.Path(__file__).with_name("llama_cpp.mjs")
    shutil.copy(script, arguments.packages)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        for kind, config, tokenizer in described():
            torch.manual_seed(1)
            model = equality.randomized(transformers.AutoModelForCausalLM.from_config(config), 0.15).eval()
            folder = place / kind.replace(" ", "_")
            model.save_pretrained(folder)
            for file in tokenizer.iterdir():
                shutil.copy(file, folder)
            file = folder / "model.gguf"
            subprocess.run([arguments.command, "export", "--model", folder, "--out", file], check=True)
            call = ["node", "llama_cpp.mjs", json.dumps([[str(file), TEXTS]])]
            said = subprocess.run(call, cwd=arguments.packages, check=True, capture_output=True, text=True).stdout
            differ = 0
            for text, ids, line in zip(TEXTS, tokens_of(arguments.command, folder), said.splitlines(), strict=True):
                theirs = json.loads(line)
                next_ids = continued(model, ids, 12)
                if theirs != {"ids": ids, "next": next_ids}:
                    differ += 1
                    print(f"{kind}: {text!r}: {theirs}, not {ids} and {next_ids}")
            failed += differ > 0
            print(f"{'ok  ' if differ == 0 else 'FAIL'} {kind}", flush=True)
    print("all agree" if failed == 0 else f"{failed} of the models differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
