"""Checks that transformers continues a text like Tapeformer after Tapeformer has trained on it: for each architecture of
`tapeformer train lm`, a tiny model is trained on this file's own text, AutoModelForCausalLM and AutoTokenizer load its
folder, and both continue the same prompts greedily.

    python tests/equality/trained_decoders.py --build build/release [--steps 300]

Requires the packages of tests/requirements.txt and is therefore not run by ctest.
"""

import argparse
import os
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

SIZES = {
    "gpt2": [],
    "llama": ["--kv-heads", "2"],
    "qwen3": ["--kv-heads", "1", "--window", "40"],
    "gpt_neox": [],
}
PROMPTS = ["import ", "def main", "The same text", "    for "]
NEW_TOKENS = 40


def said_by_transformers(folder, prompt):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, report = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    for part in ["missing_keys", "unexpected_keys", "mismatched_keys"]:
        assert not report[part], (part, report[part])
    given = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
    found = model.generate(**given, max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0)
    return tokenizer.decode(found[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    command, differ = f"{arguments.build}/tools/tapeformer", 0
    for name, more in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            place = f"{folder}/{name}"
            train = [command, "train", "lm", "--text", __file__, "--out", place, "--architecture", name, *more]
            train += ["--level", "bpe", "--vocab-size", "400", "--layers", "2", "--width", "64", "--heads", "4"]
            train += ["--context", "96", "--batch", "8", "--steps", str(arguments.steps), "--lr", "3e-3"]
            subprocess.run(train, check=True, capture_output=True)
            for prompt in PROMPTS:
                generate = [command, "generate", "--model", place, "--prompt", prompt, "--temperature", "0"]
                generate += ["--max-new-tokens", str(NEW_TOKENS)]
                ours = subprocess.run(generate, check=True, capture_output=True, text=True).stdout
                theirs = said_by_transformers(place, prompt)
                same = ours.removesuffix("\n") == theirs
                differ += not same
                print(f"{'ok  ' if same else 'FAIL'} {name:9} {ours.strip()!r}", flush=True)
                if not same:
                    print(f"     transformers generates {theirs!r}")
    print(f"{differ} texts differ" if differ else "all agree")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
