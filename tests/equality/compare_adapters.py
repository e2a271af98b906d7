"""Checks that Tapeformer and peft compute the same with adapters of encoders: BERT, RoBERTa, DistilBERT, MPNet, DeBERTa
and ModernBERT, as classifiers of texts and tokens and as plain encoders, on base folders that contain an encoder without
a head.

    python tests/equality/compare_adapters.py --build build/release [--only Bert]

Adapters of a Llama and a GPT-2 with every initialization of peft 0.21 (init_lora_weights), loaded onto an unchanged base
model and merged, must give peft's logits (f32, in which peft initializes), or be refused where peft fails or draws random
numbers.

Compares the outputs of `tapeformer run` on a folder that peft saved (f64), the outputs of peft on one that `tapeformer
train` saved, and the outputs of transformers on the result of `tapeformer merge`, with no missing or unexpected key
(f32). Requires the packages of tests/requirements.txt and is therefore not run by ctest. Prints a line for each class
with the largest error of an output relative to its largest element, and fails above 1e-10 (f64) and 1e-5 (f32).
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import compare_encoders as encoders
import models as equality
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers import models as kinds

TASKS = {
    "ForSequenceClassification": ("SEQ_CLS", "classifier"),
    "ForTokenClassification": ("TOKEN_CLS", "tokens"),
    "Model": ("FEATURE_EXTRACTION", "embedding"),
}
FAMILIES = ["Bert", "Roberta", "DistilBert", "MPNet", "DebertaV2", "ModernBert"]
TARGETS = {"DistilBert": ["q_lin", "lin2"], "MPNet": ["attn.q", "dense"], "DebertaV2": ["query_proj", "dense"],
           "ModernBert": ["Wqkv", "Wo"]}  # fmt: skip
# Modules that the base encoder lacks and peft does not save by itself.
SAVED = {"DebertaV2": ["pooler"], "ModernBert": ["head"]}
LABELS = ["red", "green", "blue"]


def config_of(family, chance):
    config = encoders.FAMILIES[family](chance)
    config.pad_token_id = 1
    for place, name in enumerate(["bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"]):
        if hasattr(config, name):
            setattr(config, name, 2 * (place % 2))
    if hasattr(config, "classifier_pooling"):
        config.classifier_pooling = "cls"
    return config


def add_tokenizer(folder):
    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] + [f"w{i}" for i in range(encoders.VOCAB - 5)]
    tokenizer = Tokenizer(kinds.WordPiece({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 0))
    names = dict(pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>", mask_token="<mask>",
                 cls_token="<s>", sep_token="</s>")  # fmt: skip
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def inputs(generator):
    ids = torch.randint(5, encoders.VOCAB, (3, encoders.LENGTH), generator=generator)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def output_of(model, given):
    model.eval()
    with torch.no_grad():
        return model(**given, return_dict=False)[0]


def run(build, folder, given, place):
    save_file(given, f"{place}/in.safetensors")
    command = [f"{build}/tools/tapeformer", "run", "--model", folder, "--inputs", f"{place}/in.safetensors"]
    subprocess.run(command + ["--out", f"{place}/out.safetensors"], check=True)
    result = load_file(f"{place}/out.safetensors")
    return result["logits"] if "logits" in result else result["last_hidden_state"]


def error(actual, expected):
    return ((actual - expected).abs().max() / expected.abs().max()).item()


def labels_of(head):
    return {} if head == "Model" else {"id2label": dict(enumerate(LABELS)), "label2id": {n: i for i, n in enumerate(LABELS)}}


def from_peft(build, family, head, base, given, place):
    """Errors for a folder that peft saved, with and without the model's configuration in it."""
    task, _ = TASKS[head]
    kind = getattr(transformers, family + head)
    model = kind.from_pretrained(base, dtype=torch.float64, attn_implementation="eager", **labels_of(head))
    saved = SAVED.get(family) if head == "ForSequenceClassification" else None
    if head == "ForTokenClassification" and family == "ModernBert":
        saved = ["head"]
    options = LoraConfig(r=2, target_modules=TARGETS.get(family, ["query", "dense"]), task_type=task, modules_to_save=saved)
    model = equality.randomized(get_peft_model(model, options), 0.15)
    for name, parameter in model.named_parameters():  # the base model comes from the folder
        if "lora_" not in name and "modules_to_save" not in name:
            source = name.removeprefix("base_model.model.").replace("base_layer.", "").replace("original_module.", "")
            state = kind.from_pretrained(base, dtype=torch.float64, **labels_of(head)).state_dict()
            parameter.data.copy_(state[source])
    folder = f"{place}/peft"
    model.save_pretrained(folder)
    config = json.loads(pathlib.Path(f"{folder}/adapter_config.json").read_text())
    config["base_model_name_or_path"] = base
    pathlib.Path(f"{folder}/adapter_config.json").write_text(json.dumps(config))
    expected = output_of(model, given)
    errors = [error(run(build, folder, given, place), expected)]
    if head != "Model":
        model.config.architectures = [family + head]
        model.config.save_pretrained(folder)
        errors.append(error(run(build, folder, given, place), expected))
    return max(errors)


def data_of(head, chance, place):
    word = lambda: f"w{chance.randrange(encoders.VOCAB - 5)}"
    lines = []
    for _ in range(24):
        if head == "ForTokenClassification":
            lines.append("\n".join(f"{word()} {chance.choice(LABELS)}" for _ in range(4)) + "\n")
        else:
            last = chance.choice(LABELS) if head == "ForSequenceClassification" else f"{word()} {word()}"
            lines.append(f"{word()} {word()} {word()}\t{last}")
    path = f"{place}/data.txt"
    pathlib.Path(path).write_text("\n".join(lines) + "\n")
    return path


def from_tapeformer(build, family, head, base, given, place, chance):
    """Errors of peft and transformers on the adapters that Tapeformer trained and merged."""
    _, command = TASKS[head]
    tool, folder, merged = f"{build}/tools/tapeformer", f"{place}/run", f"{place}/merged"
    more = ["--pooling", "first"] if command in ("classifier", "embedding") else []
    said = subprocess.run(
        [tool, "train", command, "--data", data_of(head, chance, place), "--init", base, "--out", folder, "--lora-rank", "2",
         "--lora-targets", "all-linear", "--steps", "3", "--batch", "8", "--lr", "0.01", "--threads", "1", *more],
        capture_output=True, text=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    subprocess.run([tool, "merge", "--adapter", folder, "--out", merged], check=True, capture_output=True)
    kind = getattr(transformers, family + head)
    config = {"config": transformers.AutoConfig.from_pretrained(folder)} if head != "Model" else {}
    below = kind.from_pretrained(base, dtype=torch.float32, attn_implementation="eager", **config)
    model = PeftModel.from_pretrained(below, folder)
    expected = run(build, folder, given, place)
    whole, report = kind.from_pretrained(merged, output_loading_info=True, dtype=torch.float32, attn_implementation="eager")
    for part in ["missing_keys", "unexpected_keys", "mismatched_keys"]:
        left = [key for key in report[part] if head != "Model" or "pooler" not in key]
        assert not left, (part, left)
    if head != "Model":
        assert sorted(whole.config.id2label.values()) == sorted(LABELS), whole.config.id2label
    return max(error(output_of(model, given), expected), error(output_of(whole, given), expected))


def compare(build, family, head, chance):
    torch.manual_seed(1)
    config = config_of(family, chance)
    config._attn_implementation = "eager"
    given = inputs(torch.Generator().manual_seed(2))
    with tempfile.TemporaryDirectory() as place:
        errors = []
        for dtype in (torch.float64, torch.float32):
            base = f"{place}/base{str(dtype)[-2:]}"
            equality.randomized(getattr(transformers, family + "Model")(config), 0.15).to(dtype).save_pretrained(base)
            add_tokenizer(base)
            if dtype == torch.float64:
                with encoders.exact():
                    torch.set_default_dtype(torch.float64)
                    errors.append(from_peft(build, family, head, base, given, place))
                    torch.set_default_dtype(torch.float32)
            else:
                errors.append(from_tapeformer(build, family, head, base, given, place, chance))
    good = errors[0] <= 1e-10 and errors[1] <= 1e-5
    print(f"{'ok  ' if good else 'FAIL'} {family + head:36} peft's {errors[0]:.1e}, Tapeformer's {errors[1]:.1e}", flush=True)
    return good


INITIALIZATIONS = [True, False, "gaussian", "eva", "orthogonal", "mica", "lora_ga", "pissa", "olora", "OLoRA",
                   "pissa_niter_4", "corda", "loftq", "other"]  # fmt: skip
REFUSED = INITIALIZATIONS[-4:]
DECODERS = {
    "Llama": (lambda: transformers.LlamaConfig(vocab_size=encoders.VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                               num_attention_heads=2, num_key_value_heads=1, eos_token_id=1),
              ["q_proj", "v_proj", "down_proj"]),
    "GPT2": (lambda: transformers.GPT2Config(vocab_size=encoders.VOCAB, n_embd=16, n_layer=2, n_head=2, n_positions=32, eos_token_id=1),
             ["c_attn", "mlp.c_proj"]),
    "GPT2, square": (lambda: transformers.GPT2Config(vocab_size=encoders.VOCAB, n_embd=16, n_layer=2, n_head=2, n_positions=32,
                                                     eos_token_id=1), ["attn.c_proj"]),
}  # fmt: skip


@contextlib.contextmanager
def exact_factors():
    """Computes peft's singular vectors and QR factors in f64 and rounds them, instead of in f32."""
    svd, qr = torch.linalg.svd, torch.linalg.qr
    torch.linalg.svd = lambda w, **given: tuple(part.to(w.dtype) for part in svd(w.double(), **given))
    torch.linalg.qr = lambda w, **given: tuple(part.to(w.dtype) for part in qr(w.double(), **given))
    try:
        yield
    finally:
        torch.linalg.svd, torch.linalg.qr = svd, qr


def initialized(build, name, start, **options):
    """Logits of peft and of Tapeformer for a plain adapter with init_lora_weights `start` on a base model."""
    config, targets = DECODERS[name]
    torch.manual_seed(3)
    below = equality.randomized(transformers.AutoModelForCausalLM.from_config(config()), 0.3)
    given = {"input_ids": torch.randint(5, encoders.VOCAB, (2, 7))}
    with tempfile.TemporaryDirectory() as place:
        below.save_pretrained(f"{place}/base")
        add_tokenizer(f"{place}/base")
        model = get_peft_model(below, LoraConfig(r=4, lora_alpha=6, target_modules=targets, **options))
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if "lora_" in key and "magnitude" not in key:
                    parameter.normal_(std=0.2)
        model.save_pretrained(f"{place}/adapter")
        file = pathlib.Path(f"{place}/adapter/adapter_config.json")
        changed = {"init_lora_weights": start, "base_model_name_or_path": f"{place}/base"}
        file.write_text(json.dumps(json.loads(file.read_text()) | changed))
        save_file(given, f"{place}/in.safetensors")
        read = lambda folder: run(build, folder, given, place)
        try:
            base = transformers.AutoModelForCausalLM.from_pretrained(f"{place}/base", dtype=torch.float32)
            with exact_factors():
                expected = output_of(PeftModel.from_pretrained(base, f"{place}/adapter"), given)
        except (ValueError, RuntimeError):
            expected = None
        command = [f"{build}/tools/tapeformer", "merge", "--adapter", f"{place}/adapter", "--out", f"{place}/merged"]
        merged = subprocess.run(command, capture_output=True, text=True)
        if expected is None or start in REFUSED:
            good = merged.returncode == 3 and "init_lora_weights" in merged.stderr
            return "refused" if good else f"NOT REFUSED {merged.stderr}", good
        if merged.returncode != 0:
            return merged.stderr.strip(), False
        whole = transformers.AutoModelForCausalLM.from_pretrained(f"{place}/merged", dtype=torch.float32)
        worst = max(error(read(f"{place}/adapter"), expected), error(output_of(whole, given), expected))
        return f"{worst:.1e}", worst <= 1e-5


def compare_initializations(build):
    all_good = []
    for name in DECODERS:
        for start in INITIALIZATIONS:
            for options in [{}, {"use_rslora": True}, {"use_dora": True}] if start in ("pissa", "olora") else [{}]:
                result, good = initialized(build, name, start, **options)
                print(f"{'ok  ' if good else 'FAIL'} {name}, {start!r} {options or ''}: {result}", flush=True)
                all_good.append(good)
    return all_good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", choices=FAMILIES, help="one family")
    parser.add_argument("--chance", type=int, default=1, help="seed of the configurations")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    all_good = [
        compare(arguments.build, family, head, random.Random(arguments.chance))
        for family in ([arguments.only] if arguments.only else FAMILIES)
        for head in TASKS
    ]
    if not arguments.only:
        all_good += compare_initializations(arguments.build)
    print("all agree" if all(all_good) else f"{all_good.count(False)} of them differ")
    return 0 if all(all_good) else 1


if __name__ == "__main__":
    sys.exit(main())
