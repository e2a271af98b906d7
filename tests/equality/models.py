"""Checks that Tapeformer and transformers compute the same logits, hidden states, attention maps, loss and gradients of
all parameters, on models that transformers initializes at random; and that transformers loads what Tapeformer saves, with
no missing or unexpected key.

    python tests/equality/models.py --build build/release [--seeds 3]

Requires the packages of tests/requirements.txt and is therefore not run by ctest. Prints a line for each model with its
largest relative error (of a tensor's largest element) and where it occurs, and fails above 1e-4 in f32 and 1e-9 in f64.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch.nn import functional as F
from transformers.core_model_loading import revert_weight_conversion

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


TRANSLATORS = (transformers.MarianMTModel, transformers.M2M100ForConditionalGeneration)


def softmax_in_its_dtype(scores, dim, dtype=None):
    """An exact softmax; transformers computes some in f32 even in an f64 model."""
    return scores.softmax(dim)


def randomized(model, deviation=0.3):
    """Changes biases and norms from their initial values and makes weights large enough to matter."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name:
                continue
            norm = "norm" in name.lower() or ".ln_" in name
            around = 1.0 if norm and name.endswith("weight") else 0.0
            parameter.copy_(around + deviation * torch.randn_like(parameter))
    return model


def rename(folder, model, type_alone=True):
    """Renames a folder's tensors to another form that transformers reads: without the base model's prefix in a model with
    a head, or with it in a base model; and removes "architectures" if "model_type" determines the class."""
    prefix = f"{model.base_model_prefix}."
    headed = any(name.startswith(prefix) for name in model.state_dict())
    other = lambda name: name.removeprefix(prefix) if headed else prefix + name
    for file in pathlib.Path(folder).glob("*.safetensors"):
        save_file({other(name): tensor for name, tensor in load_file(file).items()}, file, metadata={"format": "pt"})
    for file in pathlib.Path(folder).glob("*.index.json"):
        index = json.loads(file.read_text())
        index["weight_map"] = {other(name): at for name, at in index["weight_map"].items()}
        file.write_text(json.dumps(index))
    if type_alone:
        config = json.loads(pathlib.Path(f"{folder}/config.json").read_text())
        del config["architectures"]
        pathlib.Path(f"{folder}/config.json").write_text(json.dumps(config))


def exact_sinusoids(model):
    """Makes position tables exact; Marian and M2M100 round them to f32 even in an f64 model."""
    for part in [model.model.encoder, model.model.decoder]:
        if isinstance(model, transformers.M2M100ForConditionalGeneration):
            table = part.embed_positions.weights
            count, width = table.shape
            angle = np.arange(count)[:, None] * np.power(10000, -np.arange(width // 2) / (width // 2 - 1))[None, :]
            exact = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
            exact[part.embed_positions.padding_idx] = 0
            table.copy_(torch.from_numpy(exact).to(table.dtype))
            continue
        weight = part.embed_positions.weight
        count, width = weight.shape
        angle = np.arange(count)[:, None] / np.power(10000, 2 * np.arange((width + 1) // 2)[None, :] / width)
        table = np.concatenate([np.sin(angle), np.cos(angle)[:, : width // 2]], axis=1)
        with torch.no_grad():
            weight.copy_(torch.from_numpy(table).to(weight.dtype))


def bert_config(**more):
    return transformers.BertConfig(
        vocab_size=61,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
        max_position_embeddings=17,
        **more,
    )


def marian_config(**more):
    sizes = dict(
        vocab_size=61,
        decoder_vocab_size=61,
        d_model=24,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=2,
        encoder_ffn_dim=40,
        decoder_ffn_dim=36,
        max_position_embeddings=17,
        pad_token_id=60,
        decoder_start_token_id=60,
        eos_token_id=0,
        forced_eos_token_id=0,
        bos_token_id=None,
    )
    return transformers.MarianConfig(**(sizes | more))


def m2m100_config(**more):
    sizes = dict(
        vocab_size=61,
        d_model=24,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=2,
        encoder_ffn_dim=40,
        decoder_ffn_dim=36,
        encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
        max_position_embeddings=17,
        pad_token_id=1,
        decoder_start_token_id=0,
        eos_token_id=0,
        bos_token_id=None,
    )
    return transformers.M2M100Config(**(sizes | more))


def vit_config(**more):
    sizes = dict(
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
        image_size=12,
        patch_size=3,
        num_channels=2,
    )
    return transformers.ViTConfig(**(sizes | more))


def models():
    yield "BertModel", transformers.BertModel, bert_config()
    yield "BertModel, one segment, tanh gelu", transformers.BertModel, bert_config(type_vocab_size=1, hidden_act="gelu_new")
    yield "BertForMaskedLM", transformers.BertForMaskedLM, bert_config()
    yield "BertForSequenceClassification", transformers.BertForSequenceClassification, bert_config(num_labels=5)
    yield "GPT2LMHeadModel", transformers.GPT2LMHeadModel, transformers.GPT2Config(
        vocab_size=61, n_embd=24, n_layer=3, n_head=4, n_positions=17
    )
    yield "GPT2LMHeadModel, untied, own inner width", transformers.GPT2LMHeadModel, transformers.GPT2Config(
        vocab_size=61, n_embd=24, n_layer=2, n_head=2, n_inner=31, n_positions=17, activation_function="relu",
        tie_word_embeddings=False,
    )
    yield "MarianMTModel", transformers.MarianMTModel, marian_config(scale_embedding=True, activation_function="swish")
    yield "MarianMTModel, separate and untied", transformers.MarianMTModel, marian_config(
        share_encoder_decoder_embeddings=False, decoder_vocab_size=45, pad_token_id=44, decoder_start_token_id=44,
        tie_word_embeddings=False, vocab_size=50,
    )
    yield "M2M100", transformers.M2M100ForConditionalGeneration, m2m100_config()
    yield "M2M100, plain embeddings, gelu", transformers.M2M100ForConditionalGeneration, m2m100_config(
        scale_embedding=False, activation_function="gelu", pad_token_id=3
    )


    yield "ViTModel", transformers.ViTModel, vit_config()
    yield "ViTForImageClassification", transformers.ViTForImageClassification, vit_config(num_labels=5)
    for problem in "multi_label_classification", "regression":
        yield f"ViTForImageClassification, {problem}", transformers.ViTForImageClassification, vit_config(
            num_labels=3, problem_type=problem
        )
    yield "ViTForImageClassification, oblong", transformers.ViTForImageClassification, vit_config(
        image_size=(6, 12), patch_size=(2, 4), qkv_bias=False, hidden_act="relu"
    )


def pixels_of(model, config, generator):
    """Inputs of a vision model, in its dtype."""
    height, width = config.image_size if not isinstance(config.image_size, int) else [config.image_size] * 2
    shape = (3, config.num_channels, height, width)
    given = {"pixel_values": torch.randn(shape, generator=generator, dtype=torch.float64).to(model.dtype)}
    if isinstance(model, transformers.ViTForImageClassification):
        if config.problem_type in (None, "single_label_classification"):
            given["labels"] = torch.randint(0, config.num_labels, (3,), generator=generator)
        else:
            given["labels"] = torch.rand(3, config.num_labels, generator=generator, dtype=torch.float64).to(model.dtype)
    return given


def inputs_of(model, config, generator):
    def ids(low, high, *shape):
        return torch.randint(low, high, shape, generator=generator)

    batch, length, target_length = 3, 11, 7
    kind = type(model).__name__
    if kind.startswith("ViT"):
        return pixels_of(model, config, generator)
    vocab = config.vocab_size
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[1, 8:] = 0
    mask[2, 3:] = 0
    given = {"input_ids": ids(0, vocab, batch, length), "attention_mask": mask}
    if kind.startswith("Bert") and config.type_vocab_size > 1:
        given["token_type_ids"] = ids(0, config.type_vocab_size, batch, length)
    if kind == "BertForSequenceClassification":
        given["labels"] = ids(0, config.num_labels, batch)
    elif kind in ("BertForMaskedLM", "GPT2LMHeadModel"):
        labels = ids(0, vocab, batch, length)
        labels[mask == 0] = -100
        labels[0, 2] = -100
        given["labels"] = labels
    elif kind == "M2M100ForConditionalGeneration":
        # A padding id has no position there, wherever it occurs.
        given["input_ids"] = ids(0, vocab, batch, length).masked_fill(mask == 0, config.pad_token_id)
        labels = ids(0, vocab, batch, target_length)
        labels[1, -1] = -100
        given["labels"] = labels
    elif kind == "MarianMTModel":
        target_vocab = config.vocab_size if config.share_encoder_decoder_embeddings else config.decoder_vocab_size
        labels = ids(0, target_vocab, batch, target_length)
        labels[1, 5:] = -100
        given["labels"] = labels
        if generator.initial_seed() % 2:
            given["decoder_input_ids"] = ids(0, target_vocab, batch, target_length)
    return given


def flat(output):
    """The outputs of transformers under the names of `tapeformer run`."""
    result = {}
    for name, value in output.items():
        if name == "past_key_values":
            continue
        if isinstance(value, tuple):
            result |= {f"{name}.{i}": part for i, part in enumerate(value)}
        else:
            result[name] = value
    return result


def expected_of(model, given):
    model.eval()
    output = model(**given, output_hidden_states=True, output_attentions=True, return_dict=True)
    result = {name: value.detach() for name, value in flat(output).items()}
    if "loss" in result:
        loss = output.loss
        if isinstance(model, transformers.GPT2LMHeadModel):
            # The model computes its own loss in f32, even if it is f64.
            loss = F.cross_entropy(output.logits[:, :-1].flatten(0, 1), given["labels"][:, 1:].flatten())
            result["loss"] = loss.detach()
        model.zero_grad()
        loss.backward()
        gradients = {}
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and "embed_positions" not in name:
                gradients[name] = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
        # Under the folder's names, which may differ from those of the modules.
        result |= {f"grad.{name}": gradient for name, gradient in revert_weight_conversion(model, gradients).items()}
    return result


def worst_of(actual, expected):
    """The largest error and its tensor. A constant added to all keys, or to all scores of an answer, has no effect, so its
    gradient is measured relative to that of its weight."""
    worst = (0.0, "")
    for name, value in expected.items():
        if name not in actual:
            return (float("inf"), f"{name} is missing")
        if actual[name].shape != value.shape:
            return (float("inf"), f"{name} is {list(actual[name].shape)}, not {list(value.shape)}")
        scale = value.abs().max().item()
        for key in ["key.bias", "k_proj.bias"]:
            if name.endswith(key):
                scale = expected[name.removesuffix("bias") + "weight"].abs().max().item()
        beside = expected.get(name.removesuffix("bias") + "weight")
        if name.endswith(".bias") and beside is not None and scale < 1e-12 * beside.abs().max().item():
            scale = beside.abs().max().item()
        error = (actual[name].double() - value.double()).abs().max().item() / max(scale, 1e-30)
        if not error <= worst[0]:
            worst = (error, name)
    return worst


def resaved(build, folder, kind, given, expected, shard):
    """Saves the model with Tapeformer; transformers must load it without warnings and compute the same."""
    copy = folder + "-copy"
    subprocess.run([f"{build}/examples/hugging_face_folder", folder, copy, *shard], check=True, capture_output=True)
    if shard:
        assert os.path.exists(f"{copy}/model.safetensors.index.json")
    model, report = kind.from_pretrained(copy, output_loading_info=True, attn_implementation="eager")
    for part in ["missing_keys", "unexpected_keys", "mismatched_keys"]:
        assert not report[part], (part, report[part])
    if isinstance(model, TRANSLATORS) and model.dtype == torch.float64:
        exact_sinusoids(model)
    again = expected_of(model, given)
    shutil.rmtree(copy)
    assert again.keys() == expected.keys(), again.keys() ^ expected.keys()
    return worst_of(again, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    F.softmax = softmax_in_its_dtype
    failed = 0
    for dtype, allowed in [(torch.float32, 1e-4), (torch.float64, 1e-9)]:
        torch.set_default_dtype(dtype)
        for name, kind, config in models():
            worst = again = (0.0, "")
            for seed in range(arguments.seeds):
                torch.manual_seed(seed)
                config._attn_implementation = "eager"
                # Much larger weights saturate the softmax, whose small gradients then lose f32 digits in both libraries.
                model = randomized(kind(config), 0.15).to(dtype)
                if kind is transformers.MarianMTModel:
                    with torch.no_grad():
                        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
                if kind in TRANSLATORS:
                    exact_sinusoids(model)
                given = inputs_of(model, config, torch.Generator().manual_seed(seed))
                expected = expected_of(model, given)
                with tempfile.TemporaryDirectory() as folder:
                    place = f"{folder}/model"
                    model.save_pretrained(place, max_shard_size="20KB" if seed % 2 else "5GB")
                    save_file(given, f"{folder}/in.safetensors")
                    command = [f"{arguments.build}/tools/tapeformer", "run", "--model", place]
                    command += ["--inputs", f"{folder}/in.safetensors", "--out", f"{folder}/out.safetensors"]
                    subprocess.run(command + (["--grads"] if "loss" in expected else []), check=True)
                    worst = max(worst, worst_of(load_file(f"{folder}/out.safetensors"), expected))
                    shard = ["20000"] if seed % 2 else []
                    again = max(again, resaved(arguments.build, place, kind, given, expected, shard))
            good = worst[0] <= allowed and again[0] <= allowed
            failed += not good
            print(
                f"{'ok  ' if good else 'FAIL'} {str(dtype)[6:]:8} {name:42} {worst[0]:.1e} {worst[1]}"
                f"; re-saved {again[0]:.1e}"
            )
    print(f"{failed} of the models differ" if failed else "all agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
