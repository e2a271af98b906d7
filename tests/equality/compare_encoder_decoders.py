"""Checks that Tapeformer and transformers compute and generate the same with encoder-decoder models: Marian, M2M100
(NLLB), BART, mBART, T5 (1.0, and 1.1 as in Flan-T5) and mT5, with random configurations and weights, and padding before,
after and inside sources.

    python tests/equality/compare_encoder_decoders.py --build build/release [--configs 3] [--seeds 3]

Compares logits, every hidden state, every attention map, the loss and every parameter's gradient; greedy, sampled and
beam search texts with their scores, for several sources in a batch and one on its own, with the settings of
generation_config.json (no_repeat_ngram_size, min_length, forced_eos_token_id, early_stopping); and the outputs of
transformers on what Tapeformer saves, with no missing or unexpected key. Requires the packages of tests/requirements.txt
and is therefore not run by ctest. Prints a line for each configuration with its largest relative error (of a tensor's
largest element) and where it occurs, and fails above 1e-9; generated texts must be equal.

In an f64 model transformers computes T5's norms in f32; here they are exact, as in compare_decoders.py. It sums the scores
of its beams in f32, so these may differ by 1e-5.
"""

import json
import subprocess
import sys
import tempfile

import compare_decoders as decoders
import models as equality
import torch
import transformers
from transformers.generation import logits_process as processors
from transformers.models.mt5 import modeling_mt5
from transformers.models.t5 import modeling_t5

VOCAB = decoders.VOCAB
EXACT = [modeling_t5, modeling_mt5]
# Search settings in generation_config.json, by seed.
SEARCHES = [
    dict(),
    dict(no_repeat_ngram_size=2, forced_eos_token_id=True),
    dict(no_repeat_ngram_size=3, min_length=6, early_stopping=True, num_beams=4),
]


def fairseq_sizes(chance):
    width = chance.choice([16, 24, 40])
    return dict(
        vocab_size=VOCAB,
        d_model=width,
        encoder_layers=chance.choice([1, 2]),
        decoder_layers=chance.choice([2, 3]),
        encoder_attention_heads=chance.choice([2, 4]),
        decoder_attention_heads=chance.choice([2, 4, 8]),
        encoder_ffn_dim=chance.choice([24, 31]),
        decoder_ffn_dim=chance.choice([24, 37]),
        encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
        max_position_embeddings=40,
        activation_function=chance.choice(["gelu", "relu", "gelu_new", "silu"]),
        scale_embedding=chance.random() < 0.5,
        forced_eos_token_id=None,
    )


def t5_sizes(chance):
    return dict(
        vocab_size=VOCAB,
        d_model=chance.choice([16, 24, 40]),
        d_kv=chance.choice([3, 4, 10]),
        d_ff=chance.choice([24, 31]),
        num_layers=chance.choice([2, 3]),
        num_decoder_layers=chance.choice([1, 2]),  # no more, because transformers sizes its cache by num_layers
        num_heads=chance.choice([2, 3]),
        relative_attention_num_buckets=chance.choice([4, 8, 32]),
        relative_attention_max_distance=chance.choice([17, 20, 128]),
        layer_norm_epsilon=chance.choice([1e-6, 1e-5]),
        decoder_start_token_id=0,
    )


def configurations(chance, count):
    """A description, class, configuration and forced first token of each: `count` per class."""
    for _ in range(count):
        more = dict(decoder_vocab_size=VOCAB, pad_token_id=VOCAB - 1, decoder_start_token_id=VOCAB - 1, eos_token_id=0)
        config = transformers.MarianConfig(**(fairseq_sizes(chance) | more))
        yield "Marian", transformers.MarianMTModel, config, None
    for forced in chance.sample([None, None, 9, 17], count):
        more = dict(pad_token_id=1, decoder_start_token_id=2, eos_token_id=2)
        config = transformers.M2M100Config(**(fairseq_sizes(chance) | more))
        yield f"M2M100, forced_bos {forced}", transformers.M2M100ForConditionalGeneration, config, forced
    for forced in chance.sample([None, None, 0, 17], count):
        config = transformers.BartConfig(**fairseq_sizes(chance))
        yield f"BART, forced_bos {forced}", transformers.BartForConditionalGeneration, config, forced
    for forced in chance.sample([None, None, 9, 17], count):
        config = transformers.MBartConfig(**fairseq_sizes(chance), decoder_start_token_id=chance.choice([2, 30]))
        yield f"mBART, forced_bos {forced}", transformers.MBartForConditionalGeneration, config, forced
    for projection in chance.sample(["relu", "relu", "gelu_new", "silu"], count):
        config = transformers.T5Config(**t5_sizes(chance), feed_forward_proj=projection)
        yield f"T5 1.0, {projection}", transformers.T5ForConditionalGeneration, config, None
    for projection in chance.sample(["gated-gelu", "gated-gelu", "gated-silu", "gated-relu"], count):
        config = transformers.T5Config(**t5_sizes(chance), feed_forward_proj=projection, tie_word_embeddings=False)
        yield f"T5 1.1, {projection}", transformers.T5ForConditionalGeneration, config, None
    for tied in [False, False, True][:count]:
        config = transformers.MT5Config(**t5_sizes(chance), tie_word_embeddings=tied)
        yield f"mT5{', tied' if tied else ''}", transformers.MT5ForConditionalGeneration, config, None


def made(kind, config, forced, tied, deviation=0.15):
    """A model with random weights and, if not tied, a separate last matrix; transformers 5 initially ties all of them."""
    config._attn_implementation = "eager"
    model = kind(config)
    model.generation_config.forced_bos_token_id = forced
    if not tied:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
        model._tied_weights_keys = {k: v for k, v in model._tied_weights_keys.items() if not k.startswith("lm_head")}
        model.all_tied_weights_keys.pop("lm_head.weight", None)
    equality.randomized(model, deviation)
    with torch.no_grad():
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
        if isinstance(model, (transformers.BartForConditionalGeneration, transformers.MBartForConditionalGeneration)):
            for part in [model.model.encoder, model.model.decoder]:
                part.embed_positions.weight.copy_(0.3 * torch.randn_like(part.embed_positions.weight))
    if isinstance(model, equality.TRANSLATORS):
        equality.exact_sinusoids(model)
    return model


def inputs_of(config, generator, batch=3, length=13, target_length=9):
    """Ids with padding before, after and inside, most of it masked. For a T5 one source may consist of masked padding, to
    which it attends uniformly. For such a row the other models give zeros here and with transformers' "sdpa", but the
    mean with its "eager", which is used here because it returns attention maps."""
    pad = config.pad_token_id

    def ids(*shape):
        drawn = torch.randint(3, VOCAB - 1, shape, generator=generator)
        return drawn.masked_fill(torch.rand(shape, generator=generator) < 0.1, pad)  # padding that is not masked

    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, :3] = 0
    mask[1, -4:] = 0
    mask[2, 4:6] = 0
    if generator.initial_seed() % 3 == 2 and config.model_type in ("t5", "mt5"):
        mask[2] = 0
    given = {"input_ids": ids(batch, length).masked_fill(mask == 0, pad), "attention_mask": mask}
    labels = ids(batch, target_length)
    labels[1, -1] = -100
    given["labels"] = labels
    if generator.initial_seed() % 2:
        given["decoder_input_ids"] = ids(batch, target_length)
        given["decoder_attention_mask"] = torch.ones_like(labels)
        given["decoder_attention_mask"][1, -2:] = given["decoder_attention_mask"][2, 3] = 0
        given["decoder_input_ids"].masked_fill_(given["decoder_attention_mask"] == 0, pad)
        labels[1, -2:] = -100
    return given


def written_expectation(model, given):
    """Outputs of a model loaded from what Tapeformer saved."""
    if isinstance(model, equality.TRANSLATORS):
        equality.exact_sinusoids(model)
    return equality.expected_of(model, given)


# ---- generated texts


def told(build, command, folder, sources, *options):
    """Output lines of `tapeformer translate` or `generate`, one letter per id."""
    lines = "".join("".join(decoders.letters()[i] for i in source) + "\n" for source in sources)
    command = [f"{build}/tools/tapeformer", command, "--model", folder, "--json", *map(str, options)]
    out = subprocess.run(command, input=lines, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def beams_of(build, folder, sources, most, beams, penalty):
    place = {letter: i for i, letter in enumerate(decoders.letters())}
    options = ["--beam", beams, "--n-best", beams, "--length-penalty", penalty, "--max-length", most]
    found = told(build, "translate", folder, sources, *options)
    return [[([place[t] for t in h["tokens"]], h["score"]) for h in line.get("n_best", [line])] for line in found]


def without_ends(row, config):
    """The tokens of a row of generate(), without its start token and up to its end."""
    row = row[1:]
    return row[: row.index(config.eos_token_id)] if config.eos_token_id in row else row


def searched(model, sources, most, beams, penalty, **settings):
    """transformers' own generate(), with the model's generation_config and `settings`, padded on the right and never
    generating padding."""
    pad, length = model.config.pad_token_id, max(map(len, sources))
    ids = torch.tensor([s + [pad] * (length - len(s)) for s in sources])
    given = dict(num_beams=beams, num_return_sequences=beams, length_penalty=float(penalty), max_new_tokens=most) | settings
    found = model.generate(
        ids, attention_mask=(ids != pad).long(), do_sample=False, suppress_tokens=[pad],
        decoder_start_token_id=model.config.decoder_start_token_id, return_dict_in_generate=True, output_scores=True,
        **given)  # fmt: skip
    rows = [without_ends(row, model.config) for row in found.sequences.tolist()]
    scores = found.sequences_scores.tolist() if beams > 1 else [0.0] * len(rows)
    return [list(zip(rows[i : i + beams], scores[i : i + beams])) for i in range(0, len(rows), beams)]


def drawn(model, source, most, temperature, top_k, top_p, seed):
    """Text sampled for a single source, with a cache: the token that the draw of (seed, step) hits."""
    config, wanted, said = model.config, model.generation_config, [model.config.decoder_start_token_id]
    forced = wanted.forced_bos_token_id
    with torch.no_grad():
        memory, cache, draw = model.get_encoder()(torch.tensor([source])), None, 0
        for step in range(most):
            output = model(encoder_outputs=memory, decoder_input_ids=torch.tensor([said[-1:]]), past_key_values=cache,
                           use_cache=True)  # fmt: skip
            cache, scores = output.past_key_values, output.logits[:, -1]
            if step == most - 1 and wanted.forced_eos_token_id is not None:
                token = wanted.forced_eos_token_id
            elif step == 0 and forced is not None:
                token = forced
            else:
                scores[:, config.pad_token_id] = -torch.inf
                given = torch.tensor([said])
                if wanted.no_repeat_ngram_size:
                    scores = processors.NoRepeatNGramLogitsProcessor(wanted.no_repeat_ngram_size)(given, scores)
                if wanted.min_length:
                    scores = processors.MinLengthLogitsProcessor(wanted.min_length, config.eos_token_id)(given, scores)
                scores = processors.TemperatureLogitsWarper(temperature)(given, scores)
                scores = processors.TopKLogitsWarper(top_k)(given, scores)
                scores = processors.TopPLogitsWarper(top_p)(given, scores)
                below = scores.softmax(-1)[0].cumsum(0)
                token = int((below <= decoders.uniform(seed, draw) * below[-1]).sum())
                draw += 1
            if token == config.eos_token_id:
                break
            said.append(token)
    return said[1:]


def differing_texts(build, folder, model, generator):
    """Number of differing texts, searched and sampled, in a batch and alone; and their total number."""
    sources = [torch.randint(3, VOCAB - 1, (n,), generator=generator).tolist() for n in (2, 7, 4, 11)]
    most, pairs = 12, []
    for beams, penalty in [(1, 1.0), (4, 1.0), (3, 0.4)]:
        wanted = searched(model, sources, most, beams, penalty)
        for found in [
            beams_of(build, folder, sources, most, beams, penalty),
            [beams_of(build, folder, [source], most, beams, penalty)[0] for source in sources],
        ]:
            for ours, theirs in zip(found, wanted):
                same = [a for a, _ in ours] == [a for a, _ in theirs]
                if beams > 1:
                    same = same and all(abs(a - b) < 1e-5 for (_, a), (_, b) in zip(ours, theirs))
                pairs.append((same, True))
    sampling = dict(temperature=1.5, top_k=20, top_p=0.9)
    alone = [drawn(model, source, most, seed=5 + row, **sampling) for row, source in enumerate(sources)]
    options = ["--temperature", 1.5, "--top-k", 20, "--top-p", 0.9, "--seed", 5, "--max-new-tokens", most]
    greedy = [rows[0][0] for rows in searched(model, sources, most, 1, 1.0)]
    for batch in [1, 4]:
        found = told(build, "generate", folder, sources, *options, "--batch", batch)
        pairs += zip([line["ids"] for line in found], alone)
        found = told(build, "generate", folder, sources, "--temperature", 0, "--max-new-tokens", most, "--batch", batch)
        pairs += zip([line["ids"] for line in found], greedy)
    return sum(a != b for a, b in pairs), len(pairs)


def compare(build, name, kind, config, forced, seeds):
    worst = again = (0.0, "")
    differ = texts = 0
    tied = "1.1" not in name and name != "mT5"
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = made(kind, config, forced, tied)
        for key, value in SEARCHES[seed % len(SEARCHES)].items():
            setattr(model.generation_config, key, value if key != "forced_eos_token_id" else config.eos_token_id)
        given = inputs_of(config, torch.Generator().manual_seed(seed))
        expected = equality.expected_of(model, given)
        with tempfile.TemporaryDirectory() as folder:
            place = f"{folder}/model"
            model.save_pretrained(place, max_shard_size="20KB" if seed % 2 else "5GB")
            if seed % 3 == 2:
                equality.rename(place, model)
            decoders.write_letters(place)
            worst = max(worst, equality.worst_of(decoders.computed(build, place, folder, given), expected))
            shard = ["20000"] if seed % 2 else []
            again_of = decoders.resaved(build, place, kind, lambda m: written_expectation(m, given), expected, shard)
            again = max(again, again_of)
            wrong, count = differing_texts(build, place, model.eval(), torch.Generator().manual_seed(seed))
            differ, texts = differ + wrong, texts + count
    return decoders.shown(name, worst, again, differ, texts)


if __name__ == "__main__":
    sys.exit(decoders.compared(__doc__, configurations, compare, EXACT))
