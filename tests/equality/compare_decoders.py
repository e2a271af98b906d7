"""Checks that Tapeformer and transformers compute and generate the same with decoder-only models: Llama (each rotary
scaling; SmolLM2), Mistral, Qwen2, Qwen3, GPT-NeoX (Pythia), GPT-2, with random configurations and weights, padded on the
left and right.

    python tests/equality/compare_decoders.py --build build/release [--configs 3] [--seeds 3]

Compares logits, every hidden state, every attention map, the loss and every parameter's gradient; greedy and sampled
texts, for several prompts in a batch and one on its own, with the end tokens of generation_config.json; folders without
"architectures" and without the base model's prefix in tensor names (every third seed); and the outputs of transformers on
what Tapeformer saves, with no missing or unexpected key. Requires the packages of tests/requirements.txt and is therefore
not run by ctest. Prints a line for each configuration with its largest relative error (of a tensor's largest element) and
where it occurs, and fails above 1e-9; generated texts must be equal.

In an f64 model transformers computes norms, angles and softmax in f32; here they are exact (see exact()).
"""

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile

import models as equality
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch.nn import functional as F
from transformers import modeling_rope_utils
from transformers.generation import logits_process as processors
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.qwen2 import modeling_qwen2
from transformers.models.qwen3 import modeling_qwen3

VOCAB = 61
EXACT = [modeling_rope_utils, modeling_llama, modeling_mistral, modeling_qwen2, modeling_qwen3, modeling_gpt_neox]


class Doubles:
    """The module torch with f32 replaced by f64."""

    float = float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def exact(modules=EXACT):
    """In this context, models compute norms, angles and softmax in f64."""
    torch.set_default_dtype(torch.float64)
    for module in modules:
        module.torch = Doubles()
    try:
        yield
    finally:
        for module in modules:
            module.torch = torch
        torch.set_default_dtype(torch.float32)


def scalings(chance, most):
    """rope_parameters of each type, and none."""
    longer = {"factor": chance.choice([2.0, 4.5]), "original_max_position_embeddings": most // 2}
    yield {"rope_type": "default"}
    yield {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **longer}
    yield {"rope_type": "yarn", "beta_fast": 4.0, **longer}
    yield {"rope_type": "dynamic", "factor": 3.0}
    yield {"rope_type": "linear", "factor": 2.5}
    yield {"rope_type": "yarn", "attention_factor": 1.3, "truncate": False, **longer}


def sizes(chance):
    heads = chance.choice([2, 4])
    return dict(
        vocab_size=VOCAB,
        hidden_size=heads * chance.choice([4, 6, 10]),
        intermediate_size=chance.choice([24, 31]),
        num_hidden_layers=chance.choice([2, 3]),
        num_attention_heads=heads,
        tie_word_embeddings=chance.random() < 0.5,
        pad_token_id=chance.choice([None, 7]),
        bos_token_id=1,
        eos_token_id=chance.choice([2, [2, 40]]),
        max_position_embeddings=64,
    )


def llama_sizes(chance):
    given = sizes(chance)
    given["num_key_value_heads"] = chance.choice([n for n in (1, 2, 4) if given["num_attention_heads"] % n == 0])
    given["rms_norm_eps"] = chance.choice([1e-6, 1e-5])
    return given


def configurations(chance, count):
    """A description, class and configuration of each: `count` per class, and one per rotary scaling for Llama."""
    for scaling in scalings(chance, 64):
        rope = dict(scaling, rope_theta=chance.choice([100.0, 10000.0]))
        more = dict(attention_bias=chance.random() < 0.5, mlp_bias=chance.random() < 0.5)
        given = llama_sizes(chance) | more | dict(rope_parameters=rope)
        if scaling["rope_type"] == "dynamic":
            given["max_position_embeddings"] = 8  # shorter than the texts
        if chance.random() < 0.5:
            given["head_dim"] = chance.choice([4, 8])
        yield f"Llama, {scaling['rope_type']}", transformers.LlamaForCausalLM, transformers.LlamaConfig(**given)
    # Not 1: transformers caches the last window - 1 positions, and takes [-0:] as none.
    for window in chance.sample([None, 2, 3, 5, 40], count):
        given = llama_sizes(chance) | dict(sliding_window=window, head_dim=chance.choice([None, 6]))
        yield f"Mistral, window {window}", transformers.MistralForCausalLM, transformers.MistralConfig(**given)
    for first in chance.sample([None, 0, 1, 2], count):
        given = llama_sizes(chance) | dict(use_sliding_window=first is not None, sliding_window=4)
        given |= dict(max_window_layers=first or 0)
        yield f"Qwen2, windows from layer {first}", transformers.Qwen2ForCausalLM, transformers.Qwen2Config(**given)
    for first in chance.sample([None, 0, 1, 2], count):
        given = llama_sizes(chance) | dict(head_dim=chance.choice([4, 8, 12]), attention_bias=chance.random() < 0.5)
        given |= dict(use_sliding_window=first is not None, sliding_window=3, max_window_layers=first or 0)
        yield f"Qwen3, windows from layer {first}", transformers.Qwen3ForCausalLM, transformers.Qwen3Config(**given)
    for part in chance.sample([0.25, 0.5, 1.0, 0.25], count):
        given = sizes(chance) | dict(use_parallel_residual=chance.random() < 0.7, attention_bias=chance.random() < 0.7)
        given.pop("pad_token_id")
        given["hidden_size"] = given["num_attention_heads"] * chance.choice([8, 16])
        rope = dict(rope_type="default", rope_theta=chance.choice([100.0, 10000.0]), partial_rotary_factor=part)
        config = transformers.GPTNeoXConfig(**given, rope_parameters=rope)
        yield f"GPT-NeoX, {part} turned", transformers.GPTNeoXForCausalLM, config
    for inner in chance.sample([None, 31, 24], count):
        given = sizes(chance)
        config = transformers.GPT2Config(
            vocab_size=VOCAB,
            n_embd=given["hidden_size"],
            n_layer=given["num_hidden_layers"],
            n_head=given["num_attention_heads"],
            n_inner=inner,
            n_positions=64,
            activation_function=chance.choice(["gelu_new", "gelu", "relu", "silu"]),
            tie_word_embeddings=given["tie_word_embeddings"],
            bos_token_id=1,
            eos_token_id=2,
        )
        yield f"GPT-2, inner {inner}", transformers.GPT2LMHeadModel, config


def inputs_of(generator, batch=3, length=13):
    """Ids and labels with padding on the left, on the right, on both sides and in between."""
    ids = torch.randint(0, VOCAB, (batch, length), generator=generator)
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    mask[1, -4:] = 0
    mask[2, :2] = mask[2, -1:] = mask[1, 4:6] = 0
    labels = torch.randint(0, VOCAB, (batch, length), generator=generator)
    labels[mask == 0] = -100
    labels[:, 1:][mask[:, :-1] == 0] = -100  # nothing is predicted from the padding before the first word
    labels[1, 5] = -100
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def expected_of(model, given):
    """Outputs of an f64 model; the model itself computes its loss in f32."""
    model.eval()
    names = {name: given[name] for name in ("input_ids", "attention_mask")}
    output = model(**names, output_hidden_states=True, output_attentions=True, use_cache=False, return_dict=True)
    result = {name: value.detach() for name, value in equality.flat(output).items()}
    result["last_hidden_state"] = output.hidden_states[-1].detach()
    loss = F.cross_entropy(output.logits[:, :-1].flatten(0, 1), given["labels"][:, 1:].flatten())
    result["loss"] = loss.detach()
    model.zero_grad()
    loss.backward()
    for name, parameter in model.named_parameters():
        if isinstance(model, transformers.GPTNeoXForCausalLM):
            name = name.replace("lm_head.", "embed_out.")  # the name in its folders
        result[f"grad.{name}"] = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
    return result


def seen(result, mask):
    """Zeros masked positions: a query that sees no key gives zeros here, but the mean of all values in transformers."""
    shown = {}
    for name, value in result.items():
        if name.startswith("attentions."):
            value = value * mask[:, None, :, None]
        elif name == "logits" or "hidden_state" in name:
            value = value * mask[:, :, None]
        shown[name] = value
    return shown


def resaved(build, folder, kind, expected_of, expected, shard):
    """Saves the model with Tapeformer; transformers must load it without warnings and compute the same."""
    copy = folder + "-copy"
    subprocess.run([f"{build}/examples/hugging_face_folder", folder, copy, *shard], check=True, capture_output=True)
    model, report = kind.from_pretrained(copy, output_loading_info=True, attn_implementation="eager")
    for part in ["missing_keys", "unexpected_keys", "mismatched_keys"]:
        assert not report[part], (part, report[part])
    return equality.worst_of(expected_of(model), expected)


def computed(build, place, folder, given):
    """All outputs of `tapeformer run`."""
    save_file(given, f"{folder}/in.safetensors")
    command = [f"{build}/tools/tapeformer", "run", "--model", place, "--grads"]
    command += ["--inputs", f"{folder}/in.safetensors", "--out", f"{folder}/out.safetensors"]
    subprocess.run(command, check=True)
    return load_file(f"{folder}/out.safetensors")


def shown(name, worst, again, differ, texts):
    """Prints the line of a configuration and returns whether it passed."""
    good = worst[0] <= 1e-9 and again[0] <= 1e-9 and differ == 0
    print(
        f"{'ok  ' if good else 'FAIL'} {name:32} {worst[0]:.1e} {worst[1]}; re-saved {again[0]:.1e}; "
        f"{differ} of {texts} texts differ",
        flush=True,
    )
    return good


def compared(description, configurations, compare, modules):
    """Main function of a script: compares `count` configurations of each class and prints the results."""
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--configs", type=int, default=3, choices=[1, 2, 3])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--chance", type=int, default=1, help="seed of the configurations")
    parser.add_argument("--only", default="", help="only configurations whose name starts with this")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with exact(modules):
        all_good = [
            compare(arguments.build, name, *model, arguments.seeds)
            for name, *model in configurations(random.Random(arguments.chance), arguments.configs)
            if name.startswith(arguments.only)
        ]
    print("all agree" if all(all_good) else f"{all_good.count(False)} of the configurations differ")
    return 0 if all(all_good) else 1


# ---- generated texts


def uniform(seed, counter):
    """Draw `counter` of a tape::Generator stream: Philox4x32-10 (Salmon et al. 2011), 53 bits."""
    low = 0xFFFFFFFF
    c = [(counter >> 1) & low, counter >> 33, 0, 0]
    k = [seed & low, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & low, (p >> 32) ^ c[3] ^ k[1], p & low]
        k = [(k[0] + 0x9E3779B9) & low, (k[1] + 0xBB67AE85) & low]
    half = c[2 * (counter & 1) :]
    return ((half[0] | half[1] << 32) >> 11) * 2.0**-53


def ends_of(model):
    ends = model.generation_config.eos_token_id
    return ends if isinstance(ends, list) else [] if ends is None else [ends]


def with_other_ends(folder, model, seed):
    """Writes a generation_config.json whose end tokens differ from those of config.json: a token that the model
    generates, a list, or none."""
    free = said(model, [3, 4, 5], 8)
    ends = [[VOCAB + 5, free[-1]], free[-1], None][seed % 3] if free else [2]
    with open(f"{folder}/generation_config.json", "w") as file:
        json.dump({"bos_token_id": 1} | ({} if ends is None else {"eos_token_id": ends}), file)


def said(model, prompt, most, temperature=0.0, top_k=0, top_p=1.0, seed=0):
    """Continuation of a single prompt, with a cache: the likeliest token, or the one that the draw of (seed, step) hits."""
    ids, cache, step = list(prompt), None, list(prompt)
    with torch.no_grad():
        model(torch.tensor([[0]]))  # dynamic scaling keeps the angles of the longest text until a short one follows
        for draw in range(most):
            output = model(torch.tensor([step]), past_key_values=cache, use_cache=True)
            cache, scores = output.past_key_values, output.logits[:, -1]
            if temperature == 0:
                token = int(scores.argmax())
            else:
                given = torch.tensor([ids])
                scores = processors.TemperatureLogitsWarper(temperature)(given, scores)
                scores = processors.TopKLogitsWarper(top_k)(given, scores) if top_k else scores
                scores = processors.TopPLogitsWarper(top_p)(given, scores) if top_p < 1 else scores
                below = scores.softmax(-1)[0].cumsum(0)
                token = int((below <= uniform(seed, draw) * below[-1]).sum())
            if token in ends_of(model):
                break
            ids.append(token)
            step = [token]
    return ids[len(prompt) :]


def generated_in_batch(model, prompts, most):
    """transformers' own generate() for several prompts, padded on the left."""
    length = max(map(len, prompts))
    ids = torch.tensor([[0] * (length - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (length - len(p)) + [1] * len(p) for p in prompts])
    found = model.generate(ids, attention_mask=mask, max_new_tokens=most, do_sample=False, pad_token_id=0)
    texts = []
    for row in found[:, length:].tolist():
        ends = [row.index(end) for end in ends_of(model) if end in row]
        texts.append(row[: min(ends, default=len(row))])
    return texts


def letters():
    """One character per id, except the last, which is the token that GPT-2's tokenizer requires."""
    return [chr(33 + i) for i in range(VOCAB - 1)] + ["<|endoftext|>"]


def write_letters(folder):
    """Writes a tokenizer in which each id is a letter."""
    with open(f"{folder}/vocab.json", "w") as file:
        json.dump({letter: i for i, letter in enumerate(letters())}, file)
    with open(f"{folder}/merges.txt", "w") as file:
        file.write("#version: 0.2\n")


def generated(build, folder, prompts, *options):
    lines = "".join("".join(letters()[i] for i in prompt) + "\n" for prompt in prompts)
    command = [f"{build}/tools/tapeformer", "generate", "--model", folder, "--json", *map(str, options)]
    out = subprocess.run(command, input=lines, check=True, capture_output=True, text=True).stdout
    return [json.loads(line)["ids"] for line in out.splitlines()]


def differing_texts(build, folder, model, generator):
    """Number of differing texts, greedy and sampled, in a batch and alone; and their total number."""
    prompts = [torch.randint(3, VOCAB - 1, (n,), generator=generator).tolist() for n in (1, 6, 3, 9)]
    most, alone = 20, [[], []]
    sampling = dict(temperature=1.5, top_k=20, top_p=0.9)
    options = ["--temperature", 1.5, "--top-k", 20, "--top-p", 0.9, "--seed", 5]
    alone[0] = [said(model, prompt, most) for prompt in prompts]
    alone[1] = [said(model, prompt, most, seed=5 + row, **sampling) for row, prompt in enumerate(prompts)]
    # With dynamic scaling the longest text of a batch affects all, in either library, so generate these one by one.
    dynamic = (getattr(model.config, "rope_parameters", None) or {}).get("rope_type") == "dynamic"
    pairs = []
    for batch in [1] if dynamic else [1, 4]:
        common = ["--max-new-tokens", most, "--batch", batch]
        pairs += zip(generated(build, folder, prompts, "--temperature", 0, *common), alone[0])
        pairs += zip(generated(build, folder, prompts, *options, *common), alone[1])
    if not dynamic:
        pairs += zip(generated_in_batch(model, prompts, most), alone[0])
    return sum(a != b for a, b in pairs), len(pairs)


def compare(build, name, kind, config, seeds):
    worst = again = (0.0, "")
    differ = texts = 0
    for seed in range(seeds):
        torch.manual_seed(seed)
        config._attn_implementation = "eager"
        model = equality.randomized(kind(config), 0.15)
        given = inputs_of(torch.Generator().manual_seed(seed))
        expected = expected_of(model, given)
        with tempfile.TemporaryDirectory() as folder:
            place = f"{folder}/model"
            model.save_pretrained(place, max_shard_size="20KB" if seed % 2 else "5GB")
            write_letters(place)
            with_other_ends(place, model, seed)
            if seed % 3 == 2:
                equality.rename(place, model)
            actual = computed(build, place, folder, given)
            mask = given["attention_mask"]
            worst = max(worst, equality.worst_of(seen(actual, mask), seen(expected, mask)))
            shard = ["20000"] if seed % 2 else []
            again = max(again, resaved(build, place, kind, lambda m: expected_of(m, given), expected, shard))
            fresh = kind.from_pretrained(place, attn_implementation="eager")  # without angles of longer texts
            wrong, count = differing_texts(build, place, fresh.eval(), torch.Generator().manual_seed(seed))
            differ, texts = differ + wrong, texts + count
    return shown(name, worst, again, differ, texts)


if __name__ == "__main__":
    sys.exit(compared(__doc__, configurations, compare, EXACT))
