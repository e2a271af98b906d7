"""Checks that Tapeformer either computes what transformers computes, or refuses the configuration by name, for
configurations drawn at random from all keys of a family's config.json. It must never compute something else.

    python tests/equality/compare_random_configs.py --build build/release [--count 20] [--chance 1] [--only Llama]

Compares the logits (or last hidden states of models without a head) at positions that are not masked, with padding
before, inside and after the text, of f32 models as transformers loads them. Requires the packages of
tests/requirements.txt and is therefore not run by ctest. Prints each difference with its configuration, and the messages
of the refusals with their counts, and fails if a value differs by more than 2e-4 of the largest.
"""

import argparse
import collections
import random
import re
import subprocess
import sys
import tempfile

import models as equality
import torch
import transformers
from safetensors.torch import load_file, save_file

VOCAB, POSITIONS = 37, 24
DECODERS = ("llama", "mistral", "qwen2", "qwen3", "gpt_neox", "gpt2")
ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "silu", "swish", "relu", "gelu_fast", "gelu_python",
               "tanh", "sigmoid", "mish", "relu2"]  # fmt: skip


def common(chance):
    heads = chance.choice([2, 4])
    return dict(
        vocab_size=VOCAB,
        hidden_size=heads * chance.choice([4, 6, 8]),
        intermediate_size=chance.choice([12, 15]),
        num_hidden_layers=chance.choice([1, 2, 3]),
        num_attention_heads=heads,
        max_position_embeddings=POSITIONS,
        hidden_act=chance.choice(ACTIVATIONS),
    )


def rope(chance, width):
    """rope_parameters of each type."""
    longer = {"factor": chance.choice([2.0, 4.5]), "original_max_position_embeddings": POSITIONS // 2}
    half = width // 2
    kinds = [
        {"rope_type": "default"},
        {"rope_type": "default", "partial_rotary_factor": 0.5},
        {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **longer},
        {"rope_type": "yarn", "beta_fast": 4.0, **longer},
        {"rope_type": "yarn", "mscale": 0.7, "mscale_all_dim": 0.5, **longer},
        {"rope_type": "dynamic", "factor": 3.0},
        {"rope_type": "linear", "factor": 2.5},
        {"rope_type": "longrope", "short_factor": [1.0 + 0.1 * i for i in range(half)],
         "long_factor": [1.0 + 0.5 * i for i in range(half)], **longer},
        {"rope_type": "proportional", "partial_rotary_factor": 0.5},
    ]  # fmt: skip
    return dict(chance.choice(kinds), rope_theta=chance.choice([100.0, 10000.0]))


def grouped(chance, sizes):
    heads = sizes["num_attention_heads"]
    given = dict(num_key_value_heads=chance.choice([n for n in (1, 2, 4) if heads % n == 0]))
    given["rms_norm_eps"] = chance.choice([1e-6, 1e-5, 1e-2])
    given["tie_word_embeddings"] = chance.random() < 0.5
    given["head_dim"] = chance.choice([None, 4, 8])
    width = given["head_dim"] or sizes["hidden_size"] // heads
    given["rope_parameters"] = rope(chance, width)
    return given


def llama(chance):
    sizes = common(chance)
    more = dict(attention_bias=chance.random() < 0.4, mlp_bias=chance.random() < 0.4)
    return transformers.LlamaForCausalLM, transformers.LlamaConfig(**sizes, **grouped(chance, sizes), **more)


def mistral(chance):
    sizes = common(chance)
    more = dict(sliding_window=chance.choice([None, 1, 2, 5]))
    return transformers.MistralForCausalLM, transformers.MistralConfig(**sizes, **grouped(chance, sizes), **more)


def windows(chance, sizes):
    kinds = ["full_attention", "sliding_attention"]
    layers = [chance.choice(kinds) for _ in range(sizes["num_hidden_layers"])] if chance.random() < 0.4 else None
    return dict(use_sliding_window=chance.random() < 0.5, sliding_window=3, max_window_layers=chance.choice([0, 1, 2]),
                layer_types=layers)  # fmt: skip


def qwen2(chance):
    sizes = common(chance)
    given = grouped(chance, sizes)
    given.pop("head_dim")
    given["rope_parameters"] = rope(chance, sizes["hidden_size"] // sizes["num_attention_heads"])
    return transformers.Qwen2ForCausalLM, transformers.Qwen2Config(**sizes, **given, **windows(chance, sizes))


def qwen3(chance):
    sizes = common(chance)
    given = grouped(chance, sizes)
    given["head_dim"] = chance.choice([4, 8, 12])
    given["rope_parameters"] = rope(chance, given["head_dim"])
    more = dict(attention_bias=chance.random() < 0.4) | windows(chance, sizes)
    return transformers.Qwen3ForCausalLM, transformers.Qwen3Config(**sizes, **given, **more)


def neox(chance):
    sizes = common(chance)
    width = sizes["hidden_size"] // sizes["num_attention_heads"]
    turned = rope(chance, width)
    turned.setdefault("partial_rotary_factor", chance.choice([0.25, 0.5, 1.0]))
    more = dict(use_parallel_residual=chance.random() < 0.6, attention_bias=chance.random() < 0.6)
    more["tie_word_embeddings"] = chance.random() < 0.3
    more["layer_norm_eps"] = chance.choice([1e-5, 1e-2])
    return transformers.GPTNeoXForCausalLM, transformers.GPTNeoXConfig(**sizes, **more, rope_parameters=turned)


def gpt2(chance):
    sizes = common(chance)
    config = transformers.GPT2Config(
        vocab_size=VOCAB,
        n_embd=sizes["hidden_size"],
        n_layer=sizes["num_hidden_layers"],
        n_head=sizes["num_attention_heads"],
        n_inner=chance.choice([None, 15]),
        n_positions=POSITIONS,
        activation_function=sizes["hidden_act"],
        layer_norm_epsilon=chance.choice([1e-5, 1e-2]),
        scale_attn_weights=chance.random() < 0.8,
        scale_attn_by_inverse_layer_idx=chance.random() < 0.2,
        reorder_and_upcast_attn=chance.random() < 0.2,
        tie_word_embeddings=chance.random() < 0.6,
    )
    return transformers.GPT2LMHeadModel, config


def encoder(chance, name):
    sizes = common(chance)
    sizes["layer_norm_eps"] = chance.choice([1e-12, 1e-5, 1e-2])
    sizes["tie_word_embeddings"] = chance.random() < 0.7
    if name == "DistilBert":
        sizes = dict(vocab_size=VOCAB, dim=sizes["hidden_size"], hidden_dim=15, n_layers=sizes["num_hidden_layers"],
                     n_heads=sizes["num_attention_heads"], max_position_embeddings=POSITIONS, pad_token_id=0,
                     activation=sizes["hidden_act"], tie_word_embeddings=sizes["tie_word_embeddings"],
                     sinusoidal_pos_embds=chance.random() < 0.4)  # fmt: skip
    elif name == "DebertaV2":
        sizes |= dict(
            relative_attention=chance.random() < 0.8,
            pos_att_type=chance.choice([["p2c", "c2p"], ["c2p"], ["p2c"], []]),
            position_buckets=chance.choice([-1, 4]),
            max_relative_positions=chance.choice([-1, 9]),
            position_biased_input=chance.random() < 0.4,
            share_att_key=chance.random() < 0.5,
            norm_rel_ebd=chance.choice(["none", "layer_norm"]),
            type_vocab_size=chance.choice([0, 2]),
            legacy=chance.random() < 0.5,
            conv_kernel_size=chance.choice([0, 0, 0, 3]),
            pad_token_id=0,
        )
    elif name == "ModernBert":
        sizes.pop("layer_norm_eps")
        sizes["hidden_activation"] = sizes.pop("hidden_act")
        sizes |= dict(norm_eps=chance.choice([1e-5, 1e-2]), local_attention=chance.choice([2, 4, 7]), pad_token_id=0,
                      global_attn_every_n_layers=chance.choice([1, 2, 3]), attention_bias=chance.random() < 0.4,
                      mlp_bias=chance.random() < 0.4, norm_bias=chance.random() < 0.4, bos_token_id=1, eos_token_id=2,
                      cls_token_id=1, sep_token_id=2, decoder_bias=chance.random() < 0.5)  # fmt: skip
    else:
        sizes["type_vocab_size"] = chance.choice([1, 2])
        sizes["pad_token_id"] = 0 if name == "Bert" else chance.choice([0, 1, 3])
        if name == "Roberta":
            sizes["is_decoder"] = chance.random() < 0.1
        if name == "MPNet":
            sizes.pop("type_vocab_size")
            sizes["relative_attention_num_buckets"] = chance.choice([8, 32])
    head = chance.choice(["Model", "ForMaskedLM"])
    return getattr(transformers, name + head), getattr(transformers, name + "Config")(**sizes)


def fairseq(chance, name):
    width = chance.choice([8, 12, 16])
    config = getattr(transformers, name + "Config")(
        vocab_size=VOCAB,
        d_model=width,
        encoder_layers=chance.choice([1, 2]),
        decoder_layers=chance.choice([1, 2]),
        encoder_attention_heads=2,
        decoder_attention_heads=chance.choice([2, 4]),
        encoder_ffn_dim=15,
        decoder_ffn_dim=chance.choice([12, 15]),
        max_position_embeddings=POSITIONS,
        activation_function=chance.choice(ACTIVATIONS),
        scale_embedding=chance.random() < 0.5,
        tie_word_embeddings=chance.random() < 0.7,
        pad_token_id=chance.choice([0, 1, 3]),
        decoder_start_token_id=2,
        bos_token_id=0,
        eos_token_id=2,
        **(dict(decoder_vocab_size=VOCAB, share_encoder_decoder_embeddings=chance.random() < 0.7) if name == "Marian" else {}),
    )
    return getattr(transformers, "MarianMTModel" if name == "Marian" else name + "ForConditionalGeneration"), config


def t5(chance, name):
    config = getattr(transformers, name + "Config")(
        vocab_size=VOCAB,
        d_model=chance.choice([8, 12]),
        d_kv=chance.choice([3, 4]),
        d_ff=15,
        num_layers=chance.choice([1, 2]),
        num_decoder_layers=chance.choice([1, 2]),
        num_heads=2,
        relative_attention_num_buckets=chance.choice([8, 32]),
        relative_attention_max_distance=chance.choice([20, 128]),
        layer_norm_epsilon=chance.choice([1e-6, 1e-2]),
        feed_forward_proj=chance.choice(["relu", "gated-gelu"] + [f"gated-{a}" for a in ACTIVATIONS] + ACTIVATIONS),
        tie_word_embeddings=chance.random() < 0.5,
        scale_decoder_outputs=chance.choice([None, None, True, False]),
        pad_token_id=chance.choice([0, 1]),
        decoder_start_token_id=0,
    )
    return getattr(transformers, name + "ForConditionalGeneration"), config


FAMILIES = {"Llama": llama, "Mistral": mistral, "Qwen2": qwen2, "Qwen3": qwen3, "GPTNeoX": neox, "GPT2": gpt2}
FAMILIES |= {name: (lambda chance, name=name: encoder(chance, name))
             for name in ["Bert", "Roberta", "XLMRoberta", "DistilBert", "MPNet", "DebertaV2", "ModernBert"]}  # fmt: skip
FAMILIES |= {name: (lambda chance, name=name: fairseq(chance, name)) for name in ["Marian", "M2M100", "Bart", "MBart"]}
FAMILIES |= {name: (lambda chance, name=name: t5(chance, name)) for name in ["T5", "MT5"]}


def inputs_of(chance, model, config):
    """Inputs with masked padding before, inside and after, unmasked padding ids, and sometimes a fully masked row."""
    length = chance.choice([1, 2, 9, 13])
    pad = config.pad_token_id or 0
    ids = torch.tensor([[chance.randrange(VOCAB) for _ in range(length)] for _ in range(4)])
    mask = torch.ones_like(ids)
    if length > 2:
        mask[1, :3] = mask[2, -4:] = mask[3, 4:6] = 0
    if chance.random() < 0.2:
        mask[0] = 0
    given = {"input_ids": ids.masked_fill(mask == 0, pad)}
    if chance.random() < 0.8:
        given["attention_mask"] = mask
    if config.is_encoder_decoder:
        given["decoder_input_ids"] = torch.tensor([[chance.randrange(VOCAB) for _ in range(5)] for _ in range(4)])
        if chance.random() < 0.5:
            given["decoder_attention_mask"] = torch.ones_like(given["decoder_input_ids"])
            given["decoder_attention_mask"][1, 2:] = given["decoder_attention_mask"][2, 1] = 0
    elif chance.random() < 0.3 and "attention_mask" in given and config.model_type in DECODERS:
        given["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
    return given


def logits_of(output):
    return output.logits if "logits" in output else output.last_hidden_state


def compared(build, kind, config, chance):
    """The largest error relative to the largest value, or the refusal; None if transformers rejects the configuration."""
    try:
        model = equality.randomized(kind(config), 0.3).eval()
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(f"{folder}/model")
            model = kind.from_pretrained(f"{folder}/model").eval()
            given = inputs_of(chance, model, config)
            with torch.no_grad():
                expected = logits_of(model(**given))
            save_file(given, f"{folder}/in.safetensors")
            command = [f"{build}/tools/tapeformer", "run", "--model", f"{folder}/model"]
            command += ["--inputs", f"{folder}/in.safetensors", "--out", f"{folder}/out.safetensors"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                return done.stderr.strip().replace(folder, "")
            found = load_file(f"{folder}/out.safetensors")
    except Exception:  # transformers rejects it, possibly with one of huggingface_hub's own exceptions
        return None
    actual = found["logits"] if "logits" in found else found["last_hidden_state"]
    if "attention_mask" in given and not config.is_encoder_decoder:
        shown = given["attention_mask"][:, :, None]
        actual, expected = actual * shown, expected * shown
    return ((actual - expected).abs().max() / expected.abs().max()).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, default=20, help="configurations per family")
    parser.add_argument("--chance", type=int, default=1, help="seed of the configurations")
    parser.add_argument("--only", choices=FAMILIES, help="one family")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    refusals, failed = collections.Counter(), 0
    for name in [arguments.only] if arguments.only else FAMILIES:
        counts = collections.Counter()
        for place in range(arguments.count):
            seed = 1000 * arguments.chance + place
            chance = random.Random(f"{name} {seed}")
            torch.manual_seed(seed)
            try:
                kind, config = FAMILIES[name](chance)
            except Exception:
                counts["rejected by transformers"] += 1
                continue
            result = compared(arguments.build, kind, config, chance)
            if result is None:
                counts["rejected by transformers"] += 1
            elif isinstance(result, str):
                counts["refused"] += 1
                refusals[f"{name}: {re.sub(r'^tapeformer: ', '', result)}"] += 1
            elif not result <= 2e-4:
                counts["DIFFER"] += 1
                print(f"FAIL {name} {seed}: {result:.1e} {kind.__name__} {config.to_diff_dict()}")
            else:
                counts["equal"] += 1
        failed += counts["DIFFER"]
        print(f"{name:12} {dict(counts)}", flush=True)
    for sentence, times in sorted(refusals.items()):
        print(f"  {times:3} refused: {sentence}")
    print(f"{failed} differ" if failed else "none differs")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
