"""Whether onnxruntime computes from an ONNX file that Tapeformer wrote what Tapeformer computes from the model's folder.

    python tests/equality/compare_onnx.py --build build/release [--chance 1]

Models of random configurations and weights: the Berts, GPT-2, Marian and M2M100 of models.py, the decoder-only ones of
compare_decoders.py (each scaling of the rotation, windows, grouped queries, norms of queries and keys, parallel
residuals), a classifier that pools the mean and a Transformer of Tapeformer's own. Each is exported as f32, f16 and bf16,
with its tensors inside and in a second file, onnx's checker looks at the whole file, and the outputs are compared for
batches and lengths of 1 and more, with padding behind, in front, at both ends and everywhere. Decoder-only models are
exported with past keys and values too: texts that are given piece by piece, and texts with padding in front and positions
of their own, which must give what they give alone. Last a rotation that goes far. Needs the packages of
tests/requirements.txt. Prints the largest difference of each model, relative to the largest value, and fails beyond 1e-4
in f32, 5e-3 in f16 and 4e-2 in bf16.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import compare_decoders as decoders
import models as equality
import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from safetensors.torch import load_file, save_file

BOUND = {"f32": 1e-4, "f16": 5e-3, "bf16": 4e-2}
PADDING = ["none", "behind", "in front", "both ends", "everywhere"]


def mask_of(padding, batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    for row in range(batch):
        hidden = min(1 + row, length - 1)
        if padding in ("behind", "both ends") and hidden:
            mask[row, -hidden:] = 0
        if padding in ("in front", "both ends"):
            mask[row, : hidden // (2 if padding == "both ends" else 1)] = 0
    if padding == "everywhere":
        mask[-1] = 0
    return mask


class Exported:
    """A file of a folder's model, and what onnxruntime makes of it."""

    def __init__(self, command, folder, file, *options):
        subprocess.run([command, "export", "--format", "onnx", "--model", folder, "--out", file, *options], check=True)
        onnx.checker.check_model(str(file), full_check=True)
        self.session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        self.inputs = {given.name: given for given in self.session.get_inputs()}
        self.outputs = [given.name for given in self.session.get_outputs()]

    def __call__(self, given):
        fed = {name: value if isinstance(value, np.ndarray) else value.numpy() for name, value in given.items()}
        return dict(zip(self.outputs, self.session.run(None, fed)))


class Ours:
    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def __call__(self, given):
        with tempfile.TemporaryDirectory() as place:
            save_file({name: value.contiguous() for name, value in given.items()}, f"{place}/in.safetensors")
            command = [self.command, "run", "--model", self.folder, "--inputs", f"{place}/in.safetensors"]
            subprocess.run([*command, "--out", f"{place}/out.safetensors"], check=True)
            return load_file(f"{place}/out.safetensors")


def difference(theirs, ours):
    ours = ours.numpy()
    assert theirs.shape == ours.shape, (theirs.shape, ours.shape)
    assert np.isfinite(theirs).all()
    return float(np.abs(theirs - ours).max() / max(np.abs(ours).max(), 1e-30))


def inputs_of(names, vocab, padding, batch, length, chance):
    def ids(high, count):
        return torch.randint(3, high, (batch, count), generator=chance)

    given = {"input_ids": ids(vocab, length), "attention_mask": mask_of(padding, batch, length)}
    if "token_type_ids" in names:
        given["token_type_ids"] = torch.randint(0, 2, (batch, length), generator=chance)
    if "decoder_input_ids" in names:
        given["decoder_input_ids"] = ids(vocab, max(1, length - 2))
        given["decoder_attention_mask"] = mask_of(padding, batch, max(1, length - 2))
    return given


def compare_calls(exported, ours, vocab, segments):
    worst = 0
    chance = torch.Generator().manual_seed(1)
    for batch, length in [(1, 1), (2, 5), (3, 11)]:
        for padding in PADDING:
            given = inputs_of(exported.inputs, vocab, padding, batch, length, chance)
            if segments == 1 and "token_type_ids" in given:
                given["token_type_ids"].zero_()
            expected = ours(given)
            for name, value in exported(given).items():
                worst = max(worst, difference(value, expected[name]))
    return worst


def empty_past(exported, batch):
    return {name: np.zeros((batch, given.shape[1], 0, given.shape[3]), np.float32)
            for name, given in exported.inputs.items() if name.startswith("past_key_values.")}  # fmt: skip


def in_pieces(exported, ids, mask, positions, cuts):
    """Logits of a text that is given piece by piece."""
    past, logits = empty_past(exported, ids.shape[0]), []
    for begin, end in zip([0, *cuts], [*cuts, ids.shape[1]]):
        given = {"input_ids": ids[:, begin:end], "attention_mask": mask[:, :end], "position_ids": positions[:, begin:end]}
        out = exported(given | past)
        past = {name.replace("present", "past_key_values"): value for name, value in out.items() if name != "logits"}
        logits.append(out["logits"])
    return np.concatenate(logits, axis=1)


def compare_past(exported, ours, vocab, longest):
    worst = 0
    chance = torch.Generator().manual_seed(2)
    for padding in PADDING:
        length = min(9, longest)
        ids = torch.randint(3, vocab, (3, length), generator=chance)
        mask, positions = mask_of(padding, 3, length), torch.arange(length).expand(3, -1)
        expected = ours({"input_ids": ids, "attention_mask": mask})["logits"]
        for cuts in [[], [4], [3, 4, 6]]:
            worst = max(worst, difference(in_pieces(exported, ids, mask, positions, cuts), expected))
    # Padding in front, and positions that begin behind it.
    ids, mask = torch.randint(3, vocab, (2, length), generator=chance), torch.ones(2, length, dtype=torch.int64)
    mask[0, :3] = 0
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    logits = in_pieces(exported, ids, mask, positions, [length - 2])
    alone = ours({"input_ids": ids[:1, 3:], "attention_mask": mask[:1, 3:]})["logits"]
    return max(worst, difference(logits[:1, 3:], alone))


def models(chance):
    """Name, the folder's model and its vocabulary, the kinds of text, and how long a text may be that is cut to pieces."""
    for name, kind, config in equality.models():
        model = equality.randomized(kind(config), 0.15)
        vocab = min(config.vocab_size, getattr(config, "decoder_vocab_size", None) or config.vocab_size) - 1
        yield name, model, vocab, getattr(config, "type_vocab_size", 0), 9
    yield "a Transformer of Tapeformer's own", None, 30, 0, 9
    mean = equality.randomized(transformers.BertForSequenceClassification(equality.bert_config(num_labels=4)), 0.15)
    yield "classifier of the mean", mean, 60, 2, 9
    for name, kind, config in decoders.configurations(chance, 3):
        dynamic = (config.rope_parameters or {}).get("rope_type") == "dynamic"
        yield name, equality.randomized(kind(config), 0.15), decoders.VOCAB, 0, config.max_position_embeddings if dynamic else 9  # fmt: skip


def train_translator(command, place, folder):
    """A Transformer that transformers has no class for: norms in front, sines and cosines in turn."""
    lines = "".join(f"{word} {other}\n" for word in ("one", "two", "three") for other in ("four", "five", "six"))
    for name in ("a.de", "a.en"):
        (place / name).write_text(lines)
    subprocess.run([command, "train", "translation", "--src", place / "a.de", "--tgt", place / "a.en", "--valid-src", place / "a.de",
                    "--valid-tgt", place / "a.en", "--out", folder, "--vocab-size", "30", "--norm", "pre", "--d-model", "24", "--d-ff",
                    "32", "--heads", "4", "--layers", "2", "--steps", "3"], check=True, capture_output=True)  # fmt: skip
    assert "tapeformer-transformer" in (folder / "config.json").read_text()


def pool_the_mean(folder):
    """Makes a classifier's folder one of Tapeformer's, which have no pooler."""
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": ["TapeformerMeanPoolingClassifier"], "model_type": "tapeformer-mean-pooling-classifier"}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = load_file(folder / "model.safetensors")
    tensors = {name: value for name, value in tensors.items() if "pooler" not in name}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def compare(command, place, name, model, vocab, segments, longest):
    folder = place / "model"
    if model is None:
        train_translator(command, place, folder)
    else:
        model.save_pretrained(folder)
    if name == "classifier of the mean":
        pool_the_mean(folder)
    ours, line, good = Ours(command, folder), "", True
    for dtype, bound in BOUND.items():
        worst = 0
        for options in [[], ["--max-inline-bytes", "0"]]:
            exported = Exported(command, folder, place / "a.onnx", "--dtype", dtype, *options)
            worst = max(worst, compare_calls(exported, ours, vocab, segments))
        if {"input_ids", "attention_mask"} == set(exported.inputs):
            past = Exported(command, folder, place / "past.onnx", "--dtype", dtype, "--with-past")
            worst = max(worst, compare_past(past, ours, vocab, longest))
        line += f"  {dtype} {worst:.1e}"
        good = good and worst <= bound
    print(f"{'ok  ' if good else 'FAIL'} {name:42}{line}", flush=True)
    return good


def compare_far(command, place):
    """A rotation over 3,000 positions, whose angles a product in f32 would have lost digits of."""
    config = transformers.LlamaConfig(vocab_size=61, hidden_size=32, intermediate_size=24, num_hidden_layers=1, num_attention_heads=1,
                                      max_position_embeddings=4096)  # fmt: skip
    folder = place / "far"
    equality.randomized(transformers.LlamaForCausalLM(config), 0.15).save_pretrained(folder)
    given = {"input_ids": torch.randint(61, (1, 3000)), "attention_mask": torch.ones(1, 3000, dtype=torch.int64)}
    worst = difference(Exported(command, folder, place / "far.onnx")(given)["logits"], Ours(command, folder)(given)["logits"])
    print(f"{'ok  ' if worst <= 1e-4 else 'FAIL'} {'3,000 positions':42}  f32 {worst:.1e}", flush=True)
    return worst <= 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--chance", type=int, default=1, help="seed of the configurations")
    arguments = parser.parse_args()
    command = f"{arguments.build}/tools/tapeformer"
    torch.manual_seed(arguments.chance)
    torch.set_num_threads(1)
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        good = [compare(command, place, *each) for each in models(random.Random(arguments.chance))]
        good.append(compare_far(command, place))
    print("all agree" if all(good) else f"{good.count(False)} of the models differ")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
