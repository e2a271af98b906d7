"""Checks that onnxruntime gives the outputs of Tapeformer for ONNX files that Tapeformer exports.

    python tests/equality/compare_onnx.py --build build/release [--chance 1]

Uses models with random configurations and weights: the BERTs, GPT-2, Marian, M2M100 and vision Transformers of models.py;
the decoder-only models of compare_decoders.py (each rotary scaling, windows, grouped queries, norms of queries and keys,
parallel residuals); the encoders of compare_encoders.py with and without each head; the models of
compare_encoder_decoders.py; a classifier that pools the mean and a Transformer that only Tapeformer has. Each is exported
as f32, f16 and bf16, with its tensors in the file and in a second one. onnx's checker verifies the whole file, and outputs
are compared for batches and lengths of 1 and more, with padding on the right, left, both sides and everywhere.
Decoder-only models are also exported with past keys and values, and fed texts in pieces, and left-padded texts with their
own positions, which must give the same as alone. Encoder-decoder models are also exported in three files, and fed targets
in pieces. The last check is rotary positions far beyond training. Files of f16 and bf16 are compared with a folder whose
matrices are rounded in the same way. Requires the packages of tests/requirements.txt. Prints the largest difference of
each model, relative to the largest value, and for f16 and bf16 the effect of rounding the matrices; fails above 1e-4.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import compare_decoders as decoders
import compare_encoder_decoders as encoder_decoders
import compare_encoders as encoders
import models as equality
import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from safetensors.torch import load_file, save_file

BOUND = 1e-4
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
PADDING = ["none", "right", "left", "both ends", "everywhere"]


def mask_of(padding, batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    for row in range(batch):
        hidden = min(1 + row, length - 1)
        if padding in ("right", "both ends") and hidden:
            mask[row, -hidden:] = 0
        if padding in ("left", "both ends"):
            mask[row, : hidden // (2 if padding == "both ends" else 1)] = 0
    if padding == "everywhere":
        mask[-1] = 0
    return mask


def export(command, folder, out, *options):
    subprocess.run([command, "export", "--format", "onnx", "--model", folder, "--out", out, *options], check=True)
    return out


class Exported:
    """An exported model in onnxruntime."""

    def __init__(self, file):
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


def inputs_of(given_inputs, vocab, padding, batch, length, chance):
    names = set(given_inputs)
    if "pixel_values" in names:
        return {"pixel_values": torch.randn(batch, *given_inputs["pixel_values"].shape[1:], generator=chance)}

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
    """Logits of a text that is fed in pieces."""
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
    # Left padding, and positions that start after it.
    ids, mask = torch.randint(3, vocab, (2, length), generator=chance), torch.ones(2, length, dtype=torch.int64)
    mask[0, :3] = 0
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    logits = in_pieces(exported, ids, mask, positions, [length - 2])
    alone = ours({"input_ids": ids[:1, 3:], "attention_mask": mask[:1, 3:]})["logits"]
    return max(worst, difference(logits[:1, 3:], alone))


def compare_halves(place, ours, vocab):
    """Compares an encoder-decoder model in three files: feeds a target in pieces, of which the first reads the memory."""
    encoder, first, going_on = (Exported(place / f"{name}_model.onnx") for name in ["encoder", "decoder", "decoder_with_past"])
    worst = 0
    chance = torch.Generator().manual_seed(4)
    for padding in PADDING:
        # No padding (up to id 3) in targets: M2M100's positions in later pieces count earlier padding, as in transformers.
        source, target = (torch.randint(4, vocab, (3, length), generator=chance) for length in (7, 6))
        mask, seen = mask_of(padding, 3, 7), torch.ones(3, 6, dtype=torch.int64)
        expected = ours({"input_ids": source, "attention_mask": mask, "decoder_input_ids": target, "decoder_attention_mask": seen})
        memory = encoder({"input_ids": source, "attention_mask": mask})["last_hidden_state"]
        worst = max(worst, difference(memory, expected["encoder_last_hidden_state"]))
        for cuts in [[6], [1, 6], [2, 3, 6]]:
            given, logits = {"encoder_hidden_states": memory}, []
            for begin, end in zip([0, *cuts], cuts):
                given |= {"input_ids": target[:, begin:end], "encoder_attention_mask": mask}
                out = (going_on if begin else first)(given)
                given.pop("encoder_hidden_states", None)
                logits.append(out.pop("logits"))
                given |= {name.replace("present", "past_key_values"): value for name, value in out.items()}
            worst = max(worst, difference(np.concatenate(logits, axis=1), expected["logits"]))
    return worst


def models(chance):
    """Name, model of the folder, vocabulary size, kinds of text, and the maximum length of a text fed in pieces."""
    for name, kind, config in equality.models():
        model = equality.randomized(kind(config), 0.15)
        vocab = getattr(config, "vocab_size", 1)
        vocab = min(vocab, getattr(config, "decoder_vocab_size", None) or vocab) - 1
        yield name, model, vocab, getattr(config, "type_vocab_size", 0), 9
    yield "Transformer, pre-norm", None, 31, 0, 9
    mean = equality.randomized(transformers.BertForSequenceClassification(equality.bert_config(num_labels=4)), 0.15)
    yield "mean-pooling classifier", mean, 60, 2, 9
    for name, kind, config, forced in encoder_decoders.configurations(chance, 1):
        yield name, encoder_decoders.made(kind, config, forced, config.tie_word_embeddings), encoder_decoders.VOCAB - 1, 0, 9
    for family in encoders.FAMILIES:
        for head in encoders.HEADS:
            (config,) = encoders.configurations(chance, family, head, 1)
            model = equality.randomized(getattr(transformers, family + head)(config), 0.15)
            yield family + head, model, encoders.VOCAB, getattr(config, "type_vocab_size", 0), 9
    for name, kind, config in decoders.configurations(chance, 3):
        dynamic = (getattr(config, "rope_parameters", {}) or {}).get("rope_type") == "dynamic"
        yield name, equality.randomized(kind(config), 0.15), decoders.VOCAB, 0, config.max_position_embeddings if dynamic else 9  # fmt: skip


def write_transformer(folder):
    """Writes a Transformer that transformers has no class for: pre-norm, interleaved sinusoids, an untied output."""
    width, inner, vocab = 24, 40, 31
    config = dict(model_type="tapeformer-transformer", src_vocab_size=vocab, tgt_vocab_size=vocab, d_model=width, layers=2, heads=4,
                  d_ff=inner, decoder_layers=1, decoder_heads=2, decoder_d_ff=None, dropout=0.0, attention_dropout=None,
                  activation_dropout=None, activation="silu", norm="pre", norm_eps=1e-6, max_length=20, positions="interleaved",
                  position_offset=None, scale_embedding=True, pad_token_id=0, bos_token_id=1, eos_token_id=2, share_embeddings=False,
                  tie_output=False, output_bias=None, freeze_padding=None)  # fmt: skip
    shapes = {"src_embedding.weight": (vocab, width), "tgt_embedding.weight": (vocab, width)}

    def linear(name, inputs, outputs):
        shapes.update({f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)})

    def norm(name):
        shapes.update({f"{name}.weight": (width,), f"{name}.bias": (width,)})

    for layer, attentions in [("encoder.layers.0", 1), ("encoder.layers.1", 1), ("decoder.layers.0", 2)]:
        for attention in ("self_attention", "cross_attention")[:attentions]:
            for part in ("query", "key", "value", "output"):
                linear(f"{layer}.{attention}.{part}", width, width)
        linear(f"{layer}.feed_forward.linear1", width, inner)
        linear(f"{layer}.feed_forward.linear2", inner, width)
        for i in range(attentions + 1):
            norm(f"{layer}.norm{i + 1}")
    norm("encoder.norm")
    norm("decoder.norm")
    linear("output", width, vocab)
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}, folder / "model.safetensors")


def pool_the_mean(folder):
    """Turns a classifier's folder into Tapeformer's mean-pooling classifier, which has no pooler."""
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": ["TapeformerMeanPoolingClassifier"], "model_type": "tapeformer-mean-pooling-classifier"}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = load_file(folder / "model.safetensors")
    tensors = {name: value for name, value in tensors.items() if "pooler" not in name}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def compare(command, place, name, model, vocab, segments, longest):
    folder = place / "model"
    if model is None:
        write_transformer(folder)
    else:
        model.save_pretrained(folder)
    if name == "mean-pooling classifier":
        pool_the_mean(folder)
    ours, line, good = Ours(command, folder), "", True
    for dtype, stored in DTYPES.items():
        worst, same = 0, Ours(command, rounded(folder, place / dtype, stored))
        for options in [[], ["--max-inline-bytes", "0"]]:
            exported = Exported(export(command, folder, place / "a.onnx", "--dtype", dtype, *options))
            worst = max(worst, compare_calls(exported, same, vocab, segments))
        if type(model).__name__.endswith(("CausalLM", "LMHeadModel")):
            past = Exported(export(command, folder, place / "past.onnx", "--dtype", dtype, "--with-past"))
            worst = max(worst, compare_past(past, same, vocab, longest))
        if "decoder_input_ids" in exported.inputs:
            halves = export(command, folder, place / "halves", "--dtype", dtype, "--with-past", "--overwrite")
            worst = max(worst, compare_halves(halves, same, vocab))
        line += f"  {dtype} {worst:.1e}"
        if dtype != "f32":
            given = inputs_of(exported.inputs, vocab, "none", 2, 5, torch.Generator().manual_seed(3))
            given = {name: value.clamp(max=segments - 1) if name == "token_type_ids" else value for name, value in given.items()}
            output = exported.outputs[0]
            line += f" ({difference(same(given)[output].numpy(), ours(given)[output]):.1e})"
        good = good and worst <= BOUND
    print(f"{'ok  ' if good else 'FAIL'} {name:42}{line}", flush=True)
    return good


def rounded(folder, copy, dtype):
    """A copy of the folder with rounded matrices; vectors are not rounded, nor is Marian's bias, stored as [1, vocab]."""
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    for name, tensor in (tensors := load_file(folder / "model.safetensors")).items():
        if tensor.ndim > 1 and name != "final_logits_bias":
            tensors[name] = tensor.to(dtype).to(tensor.dtype)
    save_file(tensors, copy / "model.safetensors", {"format": "pt"})
    return copy


def compare_far(command, place):
    """Compares 3,000 rotary positions, for whose angles an f32 product would lose digits."""
    config = transformers.LlamaConfig(vocab_size=61, hidden_size=32, intermediate_size=24, num_hidden_layers=1, num_attention_heads=1,
                                      max_position_embeddings=4096)  # fmt: skip
    folder = place / "far"
    equality.randomized(transformers.LlamaForCausalLM(config), 0.15).save_pretrained(folder)
    given = {"input_ids": torch.randint(61, (1, 3000)), "attention_mask": torch.ones(1, 3000, dtype=torch.int64)}
    worst = difference(Exported(export(command, folder, place / "far.onnx"))(given)["logits"], Ours(command, folder)(given)["logits"])
    print(f"{'ok  ' if worst <= BOUND else 'FAIL'} {'3,000 positions':42}  f32 {worst:.1e}", flush=True)
    return worst <= BOUND


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
