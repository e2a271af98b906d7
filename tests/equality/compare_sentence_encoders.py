"""Checks that Tapeformer and sentence-transformers 6.2 give texts the same vectors, for small encoders with random weights
and random modules (every pooling mode, alone and combined; Dense, LayerNorm, Dropout, Normalize; prompts), saved by
sentence-transformers in its current layout and in that of older versions.

    python tests/equality/compare_sentence_encoders.py --build build/release [--count 40] [--chance 1]

Compares the vectors of examples/nearest_sentence, and those that sentence-transformers computes from what Tapeformer saves
(examples/hugging_face_folder). Requires the packages of tests/requirements.txt and is therefore not run by ctest. Fails if
a value differs by more than 1e-5 of the largest.
"""

import argparse
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import load_file
from torch import nn

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
logging.disable(logging.CRITICAL)

from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer import modules as parts  # noqa: E402

WORDS = "the cat sat on mat dog ran query passage : to a big red".split()
MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
OLD_KEYS = ["cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
ACTIVATIONS = [nn.Tanh(), nn.Identity(), nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Sigmoid()]


def encoder(chance, vocab):
    """A model of a family that uses BERT's tokenizer."""
    sizes = dict(vocab_size=vocab, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2)
    sizes["max_position_embeddings"] = chance.choice([9, 16])
    kind = chance.choice(["bert", "mpnet", "distilbert", "deberta"])
    if kind == "bert":
        return transformers.BertModel(transformers.BertConfig(**sizes))
    if kind == "mpnet":
        return transformers.MPNetModel(transformers.MPNetConfig(**sizes, pad_token_id=1))
    if kind == "deberta":
        more = dict(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=4, share_att_key=True)
        return transformers.DebertaV2Model(transformers.DebertaV2Config(**sizes, **more, pad_token_id=0))
    return transformers.DistilBertModel(
        transformers.DistilBertConfig(vocab_size=vocab, dim=8, hidden_dim=12, n_layers=2, n_heads=2,
                                      max_position_embeddings=sizes["max_position_embeddings"])
    )  # fmt: skip


def made(chance, folder):
    """Saves a SentenceTransformer and returns its parts."""
    base = f"{folder}/base"
    os.makedirs(base)
    model = encoder(chance, 5 + len(WORDS)).eval()
    special = ["[PAD]", "[UNK]"] if model.config.pad_token_id == 0 else ["[UNK]", "[PAD]"]
    with open(f"{base}/vocab.txt", "w") as file:
        file.write("\n".join([*special, "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(base)
    transformers.BertTokenizerFast(f"{base}/vocab.txt").save_pretrained(base)
    count = chance.choice([1, 1, 2, 3])
    modes, width = tuple(chance.sample(MODES, count)), 8 * count
    after = [parts.Pooling(8, modes, include_prompt=chance.random() < 0.5)]
    for _ in range(chance.choice([0, 0, 1, 2, 3])):
        kind = chance.choice(["dense", "norm", "dropout", "normalize"])
        if kind == "dense":
            out = chance.choice([5, width])
            after.append(parts.Dense(width, out, bias=chance.random() < 0.7, use_residual=chance.random() < 0.4,
                                     activation_function=chance.choice(ACTIVATIONS)))  # fmt: skip
            width = out
        elif kind == "norm":
            after.append(parts.LayerNorm(width))
            with torch.no_grad():
                for parameter in after[-1].parameters():
                    parameter.add_(0.3 * torch.randn_like(parameter))
        else:
            after.append(parts.Dropout(0.4) if kind == "dropout" else parts.Normalize())
    prompts = {}
    if chance.random() < 0.6:
        prompts = dict(prompts={"query": "query : ", "passage": "to "})
        prompts["default_prompt_name"] = chance.choice([None, "query", "passage"])
    # MPNet's positions start at 2, which sentence-transformers does not take into account.
    limited = chance.random() < 0.3 or model.config.model_type == "mpnet"
    limit = dict(max_seq_length=chance.choice([5, 7])) if limited else {}
    SentenceTransformer(modules=[parts.Transformer(base, **limit), *after], **prompts).save(f"{folder}/model")
    return modes


def older(chance, folder, modes):
    """Converts to the layout of versions before 6, with other keys and names and possibly other folder names."""
    in_order = [m for m in MODES if m in modes]
    if list(modes) != in_order:
        return False
    with open(f"{folder}/modules.json") as file:
        listed = json.load(file)
    for module in listed:
        module["type"] = "sentence_transformers.models." + module["type"].rsplit(".", 1)[1]
    listed[1]["path"] = chance.choice(["1_Pooling", "pool"])
    if listed[1]["path"] != "1_Pooling":
        os.rename(f"{folder}/1_Pooling", f"{folder}/{listed[1]['path']}")
    with open(f"{folder}/modules.json", "w") as file:
        json.dump(listed, file)
    path = f"{folder}/{listed[1]['path']}/config.json"
    with open(path) as file:
        config = json.load(file)
    given = {"word_embedding_dimension": 8, "include_prompt": config["include_prompt"]}
    given |= {f"pooling_mode_{key}": mode in modes for mode, key in zip(MODES, OLD_KEYS)}
    with open(path, "w") as file:
        json.dump(given, file)
    return True


def texts_of(chance):
    texts = [" ".join(chance.choices(WORDS + ["unknown"], k=chance.choice([1, 2, 4, 7, 20]))) for _ in range(6)]
    return texts + ["a"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--chance", type=int, default=1, help="seed of the configurations")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    failed = 0
    for place in range(arguments.count):
        chance = random.Random(1000 * arguments.chance + place)
        torch.manual_seed(1000 * arguments.chance + place)
        with tempfile.TemporaryDirectory() as folder:
            modes = made(chance, folder)
            model = f"{folder}/model"
            old = chance.random() < 0.5 and older(chance, model, modes)
            texts = texts_of(chance)
            expected = torch.from_numpy(SentenceTransformer(model, device="cpu").encode(texts))
            out = f"{folder}/out.safetensors"
            command = [f"{arguments.build}/examples/nearest_sentence", model, texts[0], out]
            done = subprocess.run(command, input="\n".join(texts) + "\n", text=True, capture_output=True)
            with open(f"{model}/modules.json") as file:
                named = " ".join(m["type"].rsplit(".", 1)[1] for m in json.load(file)[2:])
            name = f"{arguments.chance}:{place} {' + '.join(modes)} {named}{' (older)' if old else ''}"
            if done.returncode:
                print(f"FAIL {name}: {done.stderr.strip()}")
                failed += 1
                continue
            actual = load_file(out)["embeddings"]
            subprocess.run([f"{arguments.build}/examples/hugging_face_folder", model, f"{folder}/again"], check=True,
                           capture_output=True)  # fmt: skip
            for file in ["tokenizer.json", "tokenizer_config.json"]:
                shutil.copy(f"{model}/{file}", f"{folder}/again/{file}")
            again = torch.from_numpy(SentenceTransformer(f"{folder}/again", device="cpu").encode(texts))
            error, written = (
                ((vectors - expected).abs().max() / expected.abs().max()).item() for vectors in (actual, again)
            )
            if not max(error, written) <= 1e-5:
                print(f"FAIL {name}: {error:.1e}, re-saved {written:.1e}")
                failed += 1
    print(f"{failed} of {arguments.count} differ" if failed else f"all {arguments.count} agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
