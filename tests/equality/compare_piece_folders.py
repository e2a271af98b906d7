#!/usr/bin/env python3
"""Compares `tapeformer tokenize` with transformers on folders that have a SentencePiece model but no tokenizer.json.

    python tests/equality/compare_piece_folders.py --command build/release/tools/tapeformer [--only T5Tokenizer ...]

Trains small models with sentencepiece (unigram and BPE; byte fallback, user-defined and control symbols, several
normalizations) and puts each into folders with many variants of tokenizer_config.json, special_tokens_map.json and
added_tokens.json, for each tokenizer class that the project reads. Compares ids, type ids, offsets, pairs, and the texts
decoded from those ids with and without special tokens. Requires the packages of tests/requirements.txt; no network. Exits
with 1 if anything differs.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

sys.dont_write_bytecode = True
import texts  # noqa: E402

CORPUS = ["the cat sat on the mat", "a small sea is far from the hills", "don't stop the music now", "12 cats and 345 dogs ran",
          "naïve café in Köln", "Ünïted ﬁne ½ texts", "\tx := y[1] + 2", "say <sep> twice", "der Hund und die Katze", "one, two; three: four!"] * 60  # fmt: skip
TEXTS = ["", "the cat", " the cat", "  the  cat ", "the cat  ", "don't", "a</s>b", "</s>", "<s> the", "the </s> cat", "x<unk>y", " <pad> ", "12345",
         "café", "cafe\u0301", "中文", "😀 smile", "▁the", "the▁cat", "a\tb", "a\nb\n", " ", "   ", "\t", "<0x41>", "\u00a0x", "ﬁ ½ Ａ", "the\u200bcat",
         "<sep>", "a<sep>b", " <sep> the", "<ctl>", "a<ctl>b", "the <mask> cat", "the<mask>cat", "a  <mask>", "<extra_id_0> a <extra_id_1>b", "a<new>b", "a <new> b",
         " <new>", "a<left>b  <left>  c", "d<right>  e", "word one", "swordy word", "<Norm> <norm>", "<s></s>", "</s> </s>", "<s>the</s>the", "en_XX the de_DE",
         "eng_Latn the", "[CLS] a [SEP]", "<image>", "\u0301", "e\u0301<new>\u0301", "the\x00cat", "\ufeffa", "a\u3000b", "<unk>", "the<unk> <unk>cat", "<mask_1> a <mask_2>"]  # fmt: skip
PAIRS = [("the cat", "a dog"), ("", "the"), ("the", ""), ("</s>", " the "), ("a <new>", "<mask> b")]


def token(content, **flags):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True, **flags}


# Additions to a folder's files besides its tokenizer_class; `size` is the number of pieces.
def variants(size):
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    first = {str(i): token(name) for i, name in enumerate(("<unk>", "<s>", "</s>"))}
    yield "plain", {}
    yield "named", {"config": named}
    yield "bos and eos", {"config": {"add_bos_token": True, "add_eos_token": True}}
    yield "no bos", {"config": {"add_bos_token": False, **named}}
    yield "legacy", {"config": {"legacy": True, **named}}
    yield "not legacy", {"config": {"legacy": False, **named}}
    yield "no prefix space", {"config": {"add_prefix_space": False, "legacy": False}}
    yield "no prefix space, legacy", {"config": {"add_prefix_space": False, "legacy": True}}
    yield "listed", {"config": {"added_tokens_decoder": first, **named}}
    yield "listed with flags", {"config": {"added_tokens_decoder": {
        **first, str(size): token("<new>", special=False), str(size + 1): token("<left>", lstrip=True), str(size + 2): token("<right>", rstrip=True, special=False),
        str(size + 3): token("word", single_word=True, special=False), str(size + 4): token("<norm>", normalized=True, special=False)}}}  # fmt: skip
    yield "listed with other ids", {"config": {"added_tokens_decoder": {"7": token("<new>"), "900": token("the", special=False), "40": token("</s>")}}}
    yield "map", {"map": {"pad_token": "<pad>", "eos_token": token("</s>", rstrip=True)}, "config": named}
    yield "map of another end", {"map": {"eos_token": "<sep>"}, "config": named}
    yield "map and list", {"map": {"eos_token": "<sep>"}, "config": {"added_tokens_decoder": first, **named}}
    yield "map in the config", {"config": {"eos_token": token("<sep>", __type="AddedToken"), "pad_token": "<unk>"}}
    yield "more", {"config": {"additional_special_tokens": ["<new>", "cat"], **named}}
    yield "more in the map", {"map": {"additional_special_tokens": ["<new>", token("<left>", lstrip=True)]}, "config": named}
    yield "extra", {"config": {"extra_special_tokens": ["<new>"], "additional_special_tokens": ["<left>"]}}
    yield "extra by name", {"config": {"extra_special_tokens": {"image_token": "<image>"}, "boi_token": "<new>"}}
    yield "added", {"added": {"<new>": size, "<left>": size + 1}, "config": named}
    yield "added in the middle", {"added": {"<new>": 5}, "config": {"eos_token": "<new>"}}
    yield "pad", {"config": {"pad_token": "<pad>", "mask_token": "<mask>", "sep_token": "</s>", "cls_token": "<s>"}}
    yield "null", {"config": {"bos_token": None, "pad_token": None}}
    yield "cleanup", {"config": {"clean_up_tokenization_spaces": True}}
    yield "few sentinels", {"config": {"extra_ids": 2}}
    yield "no sentinels", {"config": {"extra_ids": 0}}
    yield "no sentinels, more", {"config": {"extra_ids": 0, "additional_special_tokens": ["<new>"]}}
    yield "languages", {"config": {"src_lang": "de_DE", "tgt_lang": "en_XX"}}
    yield "legacy behaviour", {"config": {"legacy_behaviour": True}}
    nllb = {str(size + 1 + i): token(code) for i, code in enumerate(("eng_Latn", "deu_Latn"))}
    yield "nllb", {"config": {"added_tokens_decoder": nllb}}
    yield "nllb legacy", {"config": {"added_tokens_decoder": nllb, "legacy_behaviour": True, "src_lang": "deu_Latn"}}


CLASSES = {"LlamaTokenizer": "tokenizer.model", "T5Tokenizer": "spiece.model", "XLMRobertaTokenizer": "sentencepiece.bpe.model",
           "CamembertTokenizer": "sentencepiece.bpe.model", "MBartTokenizer": "sentencepiece.bpe.model", "MBart50Tokenizer": "sentencepiece.bpe.model",
           "NllbTokenizer": "sentencepiece.bpe.model"}  # fmt: skip
MODELS = {
    "bpe": dict(model_type="bpe", vocab_size=420, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
                allow_whitespace_only_pieces=True, user_defined_symbols=["<sep>"]),
    "plain bpe": dict(model_type="bpe", vocab_size=150),
    "unigram": dict(model_type="unigram", vocab_size=140, control_symbols=["<ctl>"], user_defined_symbols=["<sep>"]),
    "t5": dict(model_type="unigram", vocab_size=140, pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
    "byte unigram": dict(model_type="unigram", vocab_size=400, byte_fallback=True, normalization_rule_name="nfkc", add_dummy_prefix=False),
    "identity": dict(model_type="unigram", vocab_size=140, normalization_rule_name="identity", remove_extra_whitespaces=False, pad_id=3),
    "folded": dict(model_type="unigram", vocab_size=120, normalization_rule_name="nmt_nfkc_cf", treat_whitespace_as_suffix=True),
    "characters": dict(model_type="char", vocab_size=60),
    "words": dict(model_type="word", vocab_size=50),
}  # fmt: skip


def random_texts(count):
    draw = random.Random(3)
    parts = TEXTS + ["the", " ", "  ", "cat", "dog", "é", "½", "<s>", "</s>", "<unk>", "<new>", "\n", "!", "1"]
    return ["".join(draw.choice(parts) for _ in range(draw.randrange(1, 6))) for _ in range(count)]


def called(folder, given, *flags):
    run = subprocess.run([ARGS.command, "tokenize", "--model", folder, "--json", *flags], input=given.encode(), capture_output=True)
    if run.returncode != 0:
        return run.stderr.decode().strip()
    return [json.loads(line) for line in run.stdout.decode().split("\n")[:-1]]


def theirs(tokenizer, inputs):
    if not tokenizer.is_fast:
        return [{"ids": tokenizer(*one if isinstance(one, tuple) else (one,))["input_ids"]} for one in inputs]
    out = []
    for one in inputs:
        found = tokenizer._tokenizer.encode(*one) if isinstance(one, tuple) else tokenizer._tokenizer.encode(one)
        at = [[len(text[:i].encode()) for i in range(len(text) + 1)] for text in (one if isinstance(one, tuple) else (one,))]
        offsets = [[at[s][a], at[s][b]] if s is not None else [0, 0] for s, (a, b) in zip(found.sequence_ids, found.offsets)]
        out.append({"ids": found.ids, "type_ids": found.type_ids, "offsets": offsets})
    return out


def compare(name, folder, tokenizer, with_offsets):
    """Number of inputs that differ."""
    inputs = TEXTS + random_texts(ARGS.random)
    wrong, lines = 0, []
    for kind, given, flags in (("text", inputs, ()), ("pair", PAIRS, ("--pair",))):
        got = called(folder, "".join(json.dumps(one) + "\n" for one in given), *flags)
        if isinstance(got, str):
            return print(f"  {name}: REFUSED {got[:300]}", flush=True) or 1
        for one, want, have in zip(given, theirs(tokenizer, given), got, strict=True):
            differing = [key for key in want if want[key] != have[key] and (with_offsets or key != "offsets")]
            wrong += bool(differing)
            lines += [f"    {kind} {one!r} {key}: {want[key]}, not {have[key]}" for key in differing]
    ids = [one["ids"] for one in theirs(tokenizer, inputs)] + [[i, i + 1, 4, 2, i] for i in range(len(tokenizer) - 1)]
    ids = [[min(i, len(tokenizer) - 1) for i in one] for one in ids]
    for skip in (True, False):
        got = called(folder, "".join(" ".join(map(str, one)) + "\n" for one in ids), "--decode", *([] if skip else ["--keep-special-tokens"]))
        if isinstance(got, str):
            return print(f"  {name}: decode REFUSED {got[:300]}", flush=True) or 1
        for one, have in zip(ids, got, strict=True):
            want = tokenizer.decode(one, skip_special_tokens=skip)
            # Tapeformer keeps bytes that are not UTF-8.
            if want != have and "\ufffd" not in want:
                wrong += 1
                lines.append(f"    ids {one} skip {skip}: {want!r}, not {have!r}")
    if wrong:
        print(f"  {name}: {wrong} differ", *lines[: ARGS.show], sep="\n", flush=True)
    return wrong


def offsets_agree(kind, model):
    """Not if tokenizers drops characters but counts them, nor for mBART-50's mask, which takes one space of two."""
    return (kind != "LlamaTokenizer" or "byte" in str(MODELS[model])) and kind != "MBart50Tokenizer"


def is_valid_combination(kind, model, variant):
    """Whether the combination is valid: each class expects its own first pieces, and NLLB its languages by name."""
    if kind in ("LlamaTokenizer", "T5Tokenizer"):
        return True
    if model in ("t5", "identity") or variant in ("null", "map of another end", "map in the config", "added in the middle"):
        return False
    if kind == "CamembertTokenizer" and MODELS[model]["model_type"] != "unigram":
        return False
    return (kind == "NllbTokenizer") == (variant in ("nllb", "nllb legacy"))


def write(folder, kind, model, files):
    folder.mkdir()
    shutil.copy(model, folder / CLASSES[kind])
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **files.get("config", {})}))
    for key, name in (("map", "special_tokens_map.json"), ("added", "added_tokens.json")):
        if key in files:
            (folder / name).write_text(json.dumps(files[key]))


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/tools/tapeformer")
    parser.add_argument("--only", nargs="*", choices=CLASSES)
    parser.add_argument("--models", nargs="*", choices=MODELS)
    parser.add_argument("--variants", nargs="*")
    parser.add_argument("--random", type=int, default=60)
    parser.add_argument("--show", type=int, default=4)
    ARGS = parser.parse_args()
    ARGS.command = str(pathlib.Path(ARGS.command).resolve())
    import sentencepiece
    import transformers

    transformers.logging.set_verbosity(50)
    warnings.simplefilter("ignore")
    failed = folders = 0
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        for model, settings in MODELS.items():
            if ARGS.models and model not in ARGS.models:
                continue
            sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_prefix=str(place / model), minloglevel=4, num_threads=1,
                                                     hard_vocab_limit=False, **settings)  # fmt: skip
            file = place / f"{model}.model"
            size = len(sentencepiece.SentencePieceProcessor(model_file=str(file)))
            for kind in ARGS.only or CLASSES:
                for variant, files in variants(size):
                    if (ARGS.variants and variant not in ARGS.variants) or not is_valid_combination(kind, model, variant):
                        continue
                    folder = place / f"{kind} {model} {variant}".replace(" ", "_")
                    write(folder, kind, file, files)
                    try:
                        tokenizer = getattr(transformers, kind).from_pretrained(folder)
                    except Exception as error:  # Tapeformer need not read what transformers rejects
                        print(f"  {kind}, {model}, {variant}: transformers: {type(error).__name__} {str(error)[:100]}", flush=True)
                        continue
                    folders += 1
                    failed += compare(f"{kind}, {model}, {variant}", folder, tokenizer, offsets_agree(kind, model)) > 0
                    shutil.rmtree(folder)
    print(f"{folders - failed} of {folders} folders read alike")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
