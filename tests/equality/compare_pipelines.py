#!/usr/bin/env python3
"""Compares random tokenizer.json files (pipelines.py) with the package tokenizers: ids, segments, offsets, decoded texts.

    python3 tests/equality/compare_pipelines.py --command build/release/tools/tapeformer [--seed 0] [--count 10000]

Each file has random normalizers, pre-tokenizers (including Split with random expressions), a model, a post-processor, a
decoder and added tokens. Texts are encoded alone and in pairs, and their ids and random ones are decoded. Skips files that
tokenizers rejects, or loads but fails to use. A file that differs is reduced to a minimal one and printed. Exits with 1 if
anything differs.
"""

import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import pipelines  # noqa: E402
import tokenizers  # noqa: E402


class Refused(Exception):
    """One of the two implementations rejects a file."""


def run(folder, lines, *flags):
    found = subprocess.run([ARGS.command, "tokenize", "--model", folder, "--json", *flags], input="".join(lines).encode(), capture_output=True)
    if found.returncode != 0:
        raise Refused(found.stderr.decode(errors="replace").strip().replace(folder, ""))
    return [json.loads(line) for line in found.stdout.decode().split("\n")[:-1]]


def ours(made, texts, pairs, ids, special):
    """Tapeformer's results for texts, pairs and ids."""
    with tempfile.TemporaryDirectory(dir=ARGS.folder) as folder:
        pathlib.Path(folder, "tokenizer.json").write_text(json.dumps(made))
        plain = [] if special else ["--no-special-tokens"]
        out = run(folder, [json.dumps(text) + "\n" for text in texts], *plain)
        if pairs:
            out += run(folder, [json.dumps(pair) + "\n" for pair in pairs], "--pair", *plain)
        lines = [" ".join(map(str, one)) + "\n" for one in ids]
        return [{key: one[key] for key in ("ids", "type_ids", "offsets")} for one in out], run(folder, lines, "--decode") + run(folder, lines, "--decode", "--keep-special-tokens")


def byte_offsets(text, offsets):
    at = [0]
    for character in text:
        at.append(at[-1] + len(character.encode()))
    return [[at[min(place, len(text))] for place in span] for span in offsets]


def theirs(made, texts, pairs, draw, special):
    """The results of tokenizers, and the ids that it decodes."""
    try:
        backend = tokenizers.Tokenizer.from_str(json.dumps(made))
        encoded = [(text, backend.encode(text, add_special_tokens=special)) for text in texts] + [(pair, backend.encode(*pair, add_special_tokens=special)) for pair in pairs]
        size = backend.get_vocab_size()
        ids = [found.ids for _, found in encoded] + [[draw.randrange(size) for _ in range(draw.randrange(12))] for _ in range(4)]
        bytes_of = [i for token, i in backend.get_vocab().items() if token.startswith("<0x")]
        if bytes_of:
            ids += [[draw.choice(bytes_of + [0]) for _ in range(draw.randrange(8))] for _ in range(3)]
        decoded = [backend.decode(one, skip_special_tokens=skip) for skip in (True, False) for one in ids]
    except BaseException as error:  # a panic is not an Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Refused(str(error)) from None
    out = []
    for text, found in encoded:
        offsets = byte_offsets(text, found.offsets) if isinstance(text, str) else None
        if offsets is None:
            offsets = [byte_offsets(text[side], [span])[0] if side in (0, 1) else [0, 0] for side, span in zip(found.sequence_ids, found.offsets)]
        out.append({"ids": found.ids, "type_ids": found.type_ids, "offsets": offsets})
    return out, ids, decoded


def difference(made, texts, pairs, seed):
    """A line that describes the first difference, or ""."""
    draw = random.Random(seed)
    special = draw.random() < 0.8
    encoded, ids, decoded = theirs(made, texts, pairs, draw, special)
    try:
        ours_encoded, ours_decoded = ours(made, texts, pairs, ids, special)
    except Refused as error:
        return "refused: " + str(error)[:300]
    for text, wanted, got in zip(texts + pairs, encoded, ours_encoded):
        for key in ("ids", "type_ids") + (("offsets",) if not ARGS.no_offsets and has_valid_offsets(made["model"]) else ()):
            if wanted[key] != got[key]:
                return f"{key}: of {ascii(text)} expected {wanted[key]}, got {got[key]}"
    for skip, one, wanted, got in zip([True] * len(ids) + [False] * len(ids), ids * 2, decoded, ours_decoded):
        if wanted != got:
            return f"decoded{' without special tokens' if skip else ''}: of {one} expected {ascii(wanted)}, got {ascii(got)}"
    return ""


def has_valid_offsets(model):
    """Whether offsets are valid. If BPE drops characters or writes bytes, tokenizers adds up lengths instead."""
    return model["type"] != "BPE" or (model["unk_token"] and not model["byte_fallback"])


def kind_of(line):
    return line.split(":")[0]


def smaller(made, texts, pairs):
    """Files and texts with one part removed."""
    for key in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        part = made[key]
        if part is None:
            continue
        yield {**made, key: None}, texts, pairs
        for steps in ("normalizers", "pretokenizers", "processors", "decoders"):
            for i in range(len(part.get(steps, []))):
                yield {**made, key: {**part, steps: part[steps][:i] + part[steps][i + 1 :]}}, texts, pairs
                yield {**made, key: part[steps][i]}, texts, pairs
        for end in ("Regex",):
            expression = part.get("pattern", {}).get(end, "")
            for i in range(len(expression)):
                for size in (4, 2, 1):
                    yield {**made, key: {**part, "pattern": {end: expression[:i] + expression[i + size :]}}}, texts, pairs
    for i, token in enumerate(made["added_tokens"]):
        if token == made["added_tokens"][-1] or token["content"] in str(made["model"]["vocab"]):
            yield {**made, "added_tokens": made["added_tokens"][:i] + made["added_tokens"][i + 1 :]}, texts, pairs
        for name in ("single_word", "lstrip", "rstrip", "normalized", "special"):
            if token[name]:
                copied = copy.deepcopy(made)
                copied["added_tokens"][i][name] = False
                yield copied, texts, pairs
    for many, which in ((texts, 0), (pairs, 1)):
        for i in range(len(many)):
            less = many[:i] + many[i + 1 :]
            yield (made, less, pairs) if which == 0 else (made, texts, less)
    for i, text in enumerate(texts):
        for at in range(len(text)):
            for size in (4, 1):
                yield made, texts[:i] + [text[:at] + text[at + size :]] + texts[i + 1 :], pairs


def shrunk(case, line):
    """A smaller case that differs in the same way."""
    tries = 0
    while tries < ARGS.tries:
        for less in smaller(*case[:3]):
            tries += 1
            try:
                found = difference(*less, case[3])
            except Refused:
                continue
            if found and kind_of(found) == kind_of(line):
                case, line = (*less, case[3]), found
                break
            if tries >= ARGS.tries:
                break
        else:
            break
    return case, line


def shown(case):
    made = {key: value for key, value in case[0].items() if value and key not in ("version", "model")}
    model = {key: value for key, value in case[0]["model"].items() if key not in ("vocab", "merges")}
    return f"   {json.dumps(made, ensure_ascii=True)}\n   model {json.dumps(model)}\n   texts {ascii(case[1])} pairs {ascii(case[2])}"


def check(number):
    """The kind of difference of the file with this number, such as "refused"."""
    seed = f"{ARGS.seed} {number}"
    draw = random.Random(seed)
    made, tokens = pipelines.pipeline(draw)
    texts = [pipelines.text(draw, tokens) for _ in range(ARGS.texts)]
    pairs = [[pipelines.text(draw, tokens, 6), pipelines.text(draw, tokens, 6)] for _ in range(2)]
    try:
        line = difference(made, texts, pairs, seed)
    except Refused:
        return number, "skipped", ""
    if not line:
        return number, "equal", ""
    case = (made, texts, pairs, seed)
    if ARGS.tries:
        case, line = shrunk(case, line)
    return number, kind_of(line), f"{number}: {line}\n{shown(case)}"


def without_panics():
    """Hides what tokenizers prints when it panics."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/tools/tapeformer", type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--texts", type=int, default=12, help="texts per file")
    parser.add_argument("--tries", type=int, default=300, help="attempts to reduce a file that differs")
    parser.add_argument("--show", type=int, default=20, help="number of differing files to print")
    parser.add_argument("--no-offsets", action="store_true", help="compare only ids, segments and decoded texts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    ARGS = parser.parse_args()
    kinds = collections.Counter()
    with tempfile.TemporaryDirectory() as ARGS.folder, concurrent.futures.ProcessPoolExecutor(ARGS.jobs, initializer=without_panics) as pool:
        left = ARGS.show
        for number, kind, words in pool.map(check, range(ARGS.first, ARGS.first + ARGS.count), chunksize=10):
            kinds[kind] += 1
            if words and left:
                left -= 1
                print(words, flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    sys.exit(any(kind not in ("equal", "skipped") for kind in kinds))


if __name__ == "__main__":
    main()
