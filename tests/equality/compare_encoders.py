"""Checks that Tapeformer and transformers compute the same with encoder-only models: BERT, RoBERTa, XLM-R, DistilBERT,
MPNet, DeBERTa (v2 and v3) and ModernBERT, with and without each head, with random configurations and weights and padding.

    python tests/equality/compare_encoders.py --build build/release [--configs 3] [--seeds 3] [--only Roberta]

Compares every hidden state, every attention map, the logits, the loss and every parameter's gradient; and the outputs of
transformers on what Tapeformer saves, with no missing or unexpected key. Requires the packages of tests/requirements.txt
and is therefore not run by ctest. Prints a line for each class with its largest relative error (of a tensor's largest
element) and where it occurs, and fails above 1e-9.
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
from torch import nn
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.mistral.modeling_mistral import apply_rotary_pos_emb
from transformers.models.modernbert import modeling_modernbert

VOCAB, LENGTH = 61, 11
HEADS = ["Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"]
PROBLEMS = [None, "single_label_classification", "multi_label_classification", "regression"]
EXACT = [modeling_deberta_v2, modeling_modernbert]


@contextlib.contextmanager
def exact():
    """Like compare_decoders.exact(), for encoders: computations that transformers does in f32 in an f64 model are exact."""
    with decoders.exact():
        for module in EXACT:
            module.torch = decoders.Doubles()
        turned, modeling_modernbert.apply_rotary_pos_emb = modeling_modernbert.apply_rotary_pos_emb, apply_rotary_pos_emb
        softmax, nn.functional.softmax = nn.functional.softmax, equality.softmax_in_its_dtype
        try:
            yield
        finally:
            for module in EXACT:
                module.torch = torch
            modeling_modernbert.apply_rotary_pos_emb, nn.functional.softmax = turned, softmax


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


def distilbert(chance):
    sizes = bert_sizes(chance)
    return transformers.DistilBertConfig(
        vocab_size=VOCAB,
        dim=sizes["hidden_size"],
        hidden_dim=sizes["intermediate_size"],
        n_layers=sizes["num_hidden_layers"],
        n_heads=sizes["num_attention_heads"],
        max_position_embeddings=sizes["max_position_embeddings"],
        activation=sizes["hidden_act"],
        sinusoidal_pos_embds=chance.random() < 0.5,
    )


def mpnet(chance):
    return transformers.MPNetConfig(**bert_sizes(chance))


def deberta(chance):
    buckets = chance.choice([-1, 2, 4, 5])
    more = dict(
        relative_attention=True,
        pos_att_type=chance.choice([["p2c", "c2p"], ["c2p"], "p2c", "c2p|p2c"]),
        position_buckets=buckets,
        max_relative_positions=chance.choice([-1, 5, 9, 30]),
        position_biased_input=chance.random() < 0.3,
        share_att_key=chance.random() < 0.5,
        norm_rel_ebd=chance.choice(["none", "layer_norm"]),
        type_vocab_size=chance.choice([0, 2]),
        pooler_hidden_act=chance.choice(["gelu", "tanh"]),
        legacy=chance.random() < 0.5,
    )
    return transformers.DebertaV2Config(**bert_sizes(chance), **more)


def modern_bert(chance):
    sizes = bert_sizes(chance)
    layers = chance.choice([2, 4])
    rope = {
        "full_attention": {"rope_type": "default", "rope_theta": chance.choice([160000.0, 100.0])},
        "sliding_attention": {"rope_type": "default", "rope_theta": chance.choice([10000.0, 30.0])},
    }
    return transformers.ModernBertConfig(
        vocab_size=VOCAB,
        hidden_size=sizes["hidden_size"],
        intermediate_size=sizes["intermediate_size"],
        num_hidden_layers=layers,
        num_attention_heads=sizes["num_attention_heads"],
        hidden_activation=sizes["hidden_act"],
        classifier_activation=chance.choice(["gelu", "silu"]),
        local_attention=chance.choice([2, 4, 7]),
        layer_types=chance.choice([None, ["sliding_attention"] + ["full_attention"] * (layers - 1)]),
        rope_parameters=rope,
        norm_bias=chance.random() < 0.5,
        attention_bias=chance.random() < 0.5,
        mlp_bias=chance.random() < 0.5,
        decoder_bias=chance.random() < 0.5,
        classifier_bias=chance.random() < 0.5,
        classifier_pooling=chance.choice(["cls", "mean"]),
        pad_token_id=3,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
    )


FAMILIES = {
    "Bert": bert,
    "Roberta": roberta,
    "XLMRoberta": xlm_roberta,
    "DistilBert": distilbert,
    "MPNet": mpnet,
    "DebertaV2": deberta,
    "ModernBert": modern_bert,
}


def configurations(chance, family, head, count):
    """`count` configurations of a class; those of sequence classifiers cycle through the problem types."""
    for place in range(count):
        config = FAMILIES[family](chance)
        if head == "ForSequenceClassification":
            config.problem_type = PROBLEMS[(chance.randrange(4) + place) % 4]
            config.num_labels = 1 if config.problem_type in (None, "regression") and chance.random() < 0.4 else 3
        elif head == "ForTokenClassification":
            config.num_labels = chance.choice([2, 5])
        yield config


def padded_ids(config, generator, padded, batch=3, length=LENGTH):
    """Ids with padding after, inside and before the text, or none; no word has its id. DeBERTa and ModernBERT give other
    results for masked queries in transformers, so their first positions, which heads read, are not masked."""
    pad = config.pad_token_id or 0
    ids = torch.randint(0, VOCAB, (batch, length), generator=generator)
    ids[ids == pad] = pad + 1
    mask = torch.ones_like(ids)
    if padded:
        mask[1, 8:] = 0
        mask[2, 3:] = 0
        mask[0, 4:6] = 0
        mask[1, 0] = 1 if config.model_type in ("deberta-v2", "modernbert") else 0
    return ids.masked_fill(mask == 0, pad), mask


def labels_of(config, generator, batch):
    """Labels of whole texts for the configuration's problem type. DeBERTa without one gets distributions, because it
    computes the cross-entropy of single labels in f32."""
    if config.problem_type is None and config.num_labels > 1 and config.model_type == "deberta-v2":
        return torch.rand((batch, config.num_labels), generator=generator, dtype=torch.float64).softmax(-1)
    if config.problem_type == "single_label_classification" or (config.problem_type is None and config.num_labels > 1):
        return torch.randint(0, config.num_labels, (batch,), generator=generator)
    if config.problem_type == "multi_label_classification":
        return torch.randint(0, 2, (batch, config.num_labels), generator=generator).double()
    shape = (batch,) if config.num_labels == 1 else (batch, config.num_labels)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def inputs_of(head, config, generator):
    # Answers may also lie at masked positions, for which DeBERTa and ModernBERT give other results: a query that sees no
    # key gives zeros here, but the mean of all values in transformers.
    padded = head != "ForQuestionAnswering" or config.model_type not in ("deberta-v2", "modernbert")
    ids, mask = padded_ids(config, generator, padded)
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
        loss = output.loss
        if "labels" in given and output.logits.dim() == 3:  # ModernBERT computes its own loss in f32
            loss = nn.functional.cross_entropy(output.logits.flatten(0, 1), given["labels"].flatten())
            result["loss"] = loss.detach()
        model.zero_grad()
        loss.backward()
        for name, parameter in model.named_parameters(remove_duplicate=False):
            if name in (model._tied_weights_keys or {}):
                continue  # its folder has only the other name
            gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            result[f"grad.{name}"] = gradient
    return result


def seen(result, mask):
    """Zeros masked positions, at which the libraries differ."""
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


def resaved(build, folder, kind, given, expected, shard):
    """Saves the model with Tapeformer; transformers must load it without warnings and compute the same."""
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
                if seed % 3 == 2:
                    equality.rename(place, model, head in ("Model", "ForMaskedLM"))
                save_file(given, f"{folder}/in.safetensors")
                command = [f"{build}/tools/tapeformer", "run", "--model", place]
                command += ["--inputs", f"{folder}/in.safetensors", "--out", f"{folder}/out.safetensors"]
                subprocess.run(command + (["--grads"] if "loss" in expected else []), check=True)
                actual, mask = load_file(f"{folder}/out.safetensors"), given["attention_mask"]
                worst = max(worst, equality.worst_of(seen(actual, mask), seen(expected, mask)))
                shard = ["20000"] if seed % 2 else []
                again = max(again, resaved(build, place, kind, given, expected, shard))
    good = worst[0] <= 1e-9 and again[0] <= 1e-9
    print(
        f"{'ok  ' if good else 'FAIL'} {family + head:40} {worst[0]:.1e} {worst[1]}; re-saved {again[0]:.1e}",
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
