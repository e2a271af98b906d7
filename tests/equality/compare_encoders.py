"""Whether Tapeformer and transformers compute the same with encoder-only models: BERT, RoBERTa and XLM-R, without and
with each head, of random configurations and weights, with padding.

    python tests/equality/compare_encoders.py --build build/release [--configs 3] [--seeds 3] [--only Roberta]

Compared are every hidden state, every attention map, the logits, the loss and every parameter's gradient; and what
transformers computes from what Tapeformer writes, with no missing or unexpected key. Needs the packages of
tests/requirements.txt, and is therefore not one of the tests that ctest runs. Prints a line for each class, its largest
relative error (of a tensor's largest element) and where it stands, and fails beyond 1e-9.
"""

import argparse
import contextlib
import random
import subprocess
import sys
import tempfile

import compare_decoders as decoders
import models as equality
import torch
import transformers
from safetensors.torch import load_file, save_file

VOCAB, LENGTH = 61, 11
HEADS = ["Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"]
PROBLEMS = [None, "single_label_classification", "multi_label_classification", "regression"]
EXACT = []


@contextlib.contextmanager
def exact():
    """As compare_decoders.exact(), for encoders."""
    with decoders.exact():
        for module in EXACT:
            module.torch = decoders.Doubles()
        try:
            yield
        finally:
            for module in EXACT:
                module.torch = torch


def bert_sizes(chance, **more):
    heads = chance.choice([2, 4])
    return dict(
        vocab_size=VOCAB,
        hidden_size=heads * chance.choice([4, 6]),
        intermediate_size=chance.choice([24, 31]),
        num_hidden_layers=chance.choice([2, 3]),
        num_attention_heads=heads,
        max_position_embeddings=chance.choice([17, 40]),
        hidden_act=chance.choice(["gelu", "gelu_new", "relu", "silu"]),
        layer_norm_eps=chance.choice([1e-12, 1e-5]),
    ) | more


def bert(chance):
    return transformers.BertConfig(**bert_sizes(chance, type_vocab_size=chance.choice([1, 2])))


def roberta(chance):
    sizes = bert_sizes(chance, type_vocab_size=chance.choice([1, 2]), pad_token_id=chance.choice([0, 1, 3]))
    return transformers.RobertaConfig(**sizes)


def xlm_roberta(chance):
    return transformers.XLMRobertaConfig(**bert_sizes(chance, type_vocab_size=1, pad_token_id=1))


FAMILIES = {"Bert": bert, "Roberta": roberta, "XLMRoberta": xlm_roberta}


def configurations(chance, family, head, count):
    """`count` configurations of a class; those of sequences by turns of each problem type."""
    for place in range(count):
        config = FAMILIES[family](chance)
        if head == "ForSequenceClassification":
            config.problem_type = PROBLEMS[(chance.randrange(4) + place) % 4]
            config.num_labels = 1 if config.problem_type in (None, "regression") and chance.random() < 0.4 else 3
        elif head == "ForTokenClassification":
            config.num_labels = chance.choice([2, 5])
        yield config


def padded_ids(config, generator, batch=3, length=LENGTH):
    """Ids with padding behind, whose id no word has."""
    pad = config.pad_token_id or 0
    ids = torch.randint(0, VOCAB, (batch, length), generator=generator)
    ids[ids == pad] = pad + 1
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0
    mask[2, 3:] = 0
    return ids.masked_fill(mask == 0, pad), mask


def labels_of(config, generator, batch):
    """Labels of whole texts, as the configuration's problem needs them."""
    if config.problem_type == "single_label_classification" or (config.problem_type is None and config.num_labels > 1):
        return torch.randint(0, config.num_labels, (batch,), generator=generator)
    if config.problem_type == "multi_label_classification":
        return torch.randint(0, 2, (batch, config.num_labels), generator=generator).double()
    shape = (batch,) if config.num_labels == 1 else (batch, config.num_labels)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def inputs_of(head, config, generator):
    ids, mask = padded_ids(config, generator)
    given = {"input_ids": ids, "attention_mask": mask}
    if getattr(config, "type_vocab_size", 0) > 1:
        given["token_type_ids"] = torch.randint(0, config.type_vocab_size, ids.shape, generator=generator)
    if head == "ForSequenceClassification":
        given["labels"] = labels_of(config, generator, len(ids))
    elif head in ("ForMaskedLM", "ForTokenClassification"):
        classes = VOCAB if head == "ForMaskedLM" else config.num_labels
        labels = torch.randint(0, classes, ids.shape, generator=generator).masked_fill(mask == 0, -100)
        labels[0, 2] = -100
        given["labels"] = labels
    elif head == "ForQuestionAnswering":
        given["start_positions"] = torch.tensor([2, 7, LENGTH + 3])
        given["end_positions"] = torch.tensor([5, 7, 0])
    return given


def expected_of(model, given):
    model.eval()
    output = model(**given, output_hidden_states=True, output_attentions=True, return_dict=True)
    result = {name: value.detach() for name, value in equality.flat(output).items()}
    result["last_hidden_state"] = output.hidden_states[-1].detach()
    if "loss" in result:
        model.zero_grad()
        output.loss.backward()
        for name, parameter in model.named_parameters(remove_duplicate=False):
            if name in (model._tied_weights_keys or {}):
                continue  # in its folder it has the other's name
            gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            result[f"grad.{name}"] = gradient
    return result


def seen(result, mask):
    """Without the positions that are hidden, of which each library says something else."""
    shown = {}
    for name, value in result.items():
        if name.startswith("attentions."):
            value = value * mask[:, None, :, None]
        elif "hidden_state" in name or (name == "logits" and value.dim() == 3):
            value = value * mask[:, :, None]
        elif name in ("start_logits", "end_logits"):
            value = value * mask
        shown[name] = value
    return shown


def written_again(build, folder, kind, given, expected, shard):
    """Tapeformer writes the model; transformers must read it without a word and compute the same."""
    copy = folder + "-copy"
    subprocess.run([f"{build}/examples/hugging_face_folder", folder, copy, *shard], check=True, capture_output=True)
    model, report = kind.from_pretrained(copy, output_loading_info=True, attn_implementation="eager")
    for part in ["missing_keys", "unexpected_keys", "mismatched_keys"]:
        assert not report[part], (part, report[part])
    return equality.worst_of(expected_of(model, given), expected)


def compare(build, family, head, chance, configs, seeds):
    kind = getattr(transformers, family + head)
    worst = again = (0.0, "")
    for config in configurations(chance, family, head, configs):
        for seed in range(seeds):
            torch.manual_seed(seed)
            config._attn_implementation = "eager"
            model = equality.randomized(kind(config), 0.15)
            given = inputs_of(head, config, torch.Generator().manual_seed(seed))
            expected = expected_of(model, given)
            with tempfile.TemporaryDirectory() as folder:
                place = f"{folder}/model"
                model.save_pretrained(place, max_shard_size="20KB" if seed % 2 else "5GB")
                save_file(given, f"{folder}/in.safetensors")
                command = [f"{build}/tools/tapeformer", "run", "--model", place]
                command += ["--inputs", f"{folder}/in.safetensors", "--out", f"{folder}/out.safetensors"]
                subprocess.run(command + (["--grads"] if "loss" in expected else []), check=True)
                actual, mask = load_file(f"{folder}/out.safetensors"), given["attention_mask"]
                worst = max(worst, equality.worst_of(seen(actual, mask), seen(expected, mask)))
                shard = ["20000"] if seed % 2 else []
                again = max(again, written_again(build, place, kind, given, expected, shard))
    good = worst[0] <= 1e-9 and again[0] <= 1e-9
    print(
        f"{'ok  ' if good else 'FAIL'} {family + head:40} {worst[0]:.1e} {worst[1]}; written again {again[0]:.1e}",
        flush=True,
    )
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--configs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=FAMILIES, help="one family")
    parser.add_argument("--chance", type=int, default=1, help="seed of the configurations")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with exact():
        all_good = [
            compare(arguments.build, family, head, random.Random(arguments.chance), arguments.configs, arguments.seeds)
            for family in ([arguments.only] if arguments.only else FAMILIES)
            for head in HEADS
        ]
    print("all agree" if all(all_good) else f"{all_good.count(False)} of the classes differ")
    return 0 if all(all_good) else 1


if __name__ == "__main__":
    sys.exit(main())
