"""Checks that Tapeformer reads the tokenizer entries of GGUF files as llama.cpp does, especially if entries are missing.

    npm install --ignore-scripts node-llama-cpp        # in any folder: llama.cpp, compiled
    python tests/equality/compare_gguf_entries.py --command build/release/tools/tapeformer --packages that_folder

The package gguf writes small files: SentencePiece BPE (model "llama") and byte-level BPE (model "gpt2") under each name
of a pre-tokenizer, with and without add_bos_token, add_eos_token, add_space_prefix, remove_extra_whitespaces and the ids
of special tokens. Each is imported; the folder's tokens of hard texts must equal llama.cpp's. Requires node and the
packages of tests/requirements.txt. Prints a line per file and fails if tokens differ.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import compare_piece_folders
import gguf
import numpy as np
import tokenizers

TEXTS = ["the cat", " the  cat ", "don't STOP'LL", "12345 and 1234567", "a</s>b <s>", "x = y[1]+2; `q`", "Größe naïve 漢字 🙂", "a\n\n b\t\tc \r\n", "", " ", "   ",
         "price: $5.00 <=> ~7|8^9", "it's 3rd, 45th... (ok)?!", "ab\u00a0c\u3000d", "١٢٣٤ ½ Ⅷ", "_under_score__ -- x", "<unk> <0x41> ▁the"]  # fmt: skip
PRE = ["gpt-2", "phi-2", "mpt", "olmo", "jais", "exaone4", "trillion", "granite-docling", "smollm", "starcoder", "refact", "command-r", "codeshell", "minerva-7b",
       "llama-bpe", "llama3", "falcon3", "pixtral", "lfm2", "dbrx", "smaug-bpe", "qwen2", "deepseek-r1-qwen", "megrez", "stablelm2", "hunyuan", "falcon", "default", None]  # fmt: skip


def write(path, describe):
    draw = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    for add, value in (("context_length", 64), ("embedding_length", 32), ("block_count", 1), ("feed_forward_length", 64), ("head_count", 4),
                       ("head_count_kv", 2), ("layer_norm_rms_eps", 1e-5), ("rope_dimension_count", 8)):  # fmt: skip
        getattr(writer, f"add_{add}")(value)
    vocab = describe(writer)
    shapes = {"token_embd": (vocab, 32), "output_norm": (32,), "output": (vocab, 32), "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,), "blk.0.attn_q": (32, 32),
              "blk.0.attn_k": (16, 32), "blk.0.attn_v": (16, 32), "blk.0.attn_output": (32, 32), "blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32),
              "blk.0.ffn_down": (32, 64)}  # fmt: skip
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", draw.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def with_flags(writer, flags):
    for name, value in flags.items():
        getattr(writer, f"add_{name}")(value)


def sentence_piece(model, flags, types=True):
    from sentencepiece import sentencepiece_model_pb2

    pieces = sentencepiece_model_pb2.ModelProto.FromString(pathlib.Path(model).read_bytes()).pieces

    def describe(writer):
        writer.add_tokenizer_model("llama")
        writer.add_token_list([piece.piece for piece in pieces])
        writer.add_token_scores([piece.score for piece in pieces])
        if types:
            writer.add_token_types([piece.type for piece in pieces])
        with_flags(writer, flags)
        return len(pieces)

    return describe


def byte_level(pre, flags):
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=500, special_tokens=["<s>", "</s>"], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
                                             show_progress=False)  # fmt: skip
    backend.train_from_iterator(compare_piece_folders.CORPUS + TEXTS * 3, trainer)
    model = json.loads(backend.to_str())["model"]

    def describe(writer):
        tokens = sorted(model["vocab"], key=model["vocab"].get)
        writer.add_tokenizer_model("gpt2")
        if pre:
            writer.add_tokenizer_pre(pre)
        writer.add_token_list(tokens)
        writer.add_token_types([3, 3] + [1] * (len(tokens) - 2))
        writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]])
        with_flags(writer, flags)
        return len(tokens)

    return describe


def files(place):
    import sentencepiece

    settings = compare_piece_folders.MODELS["bpe"]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(compare_piece_folders.CORPUS), model_prefix=str(place / "bpe"), minloglevel=4, num_threads=1, **settings)
    ids = {"bos_token_id": 1, "eos_token_id": 2, "unk_token_id": 0}
    for flags in ({}, ids, {"add_bos_token": False}, {"add_bos_token": True}, {"add_eos_token": True}, {**ids, "add_bos_token": False, "add_eos_token": True},
                  {"add_space_prefix": False}, {"add_space_prefix": True}, {"remove_extra_whitespaces": True}, {"eos_token_id": 1, "bos_token_id": 2}):  # fmt: skip
        yield f"llama {flags}", sentence_piece(place / "bpe.model", flags)
    yield "llama without types", sentence_piece(place / "bpe.model", {}, types=False)
    ids = {"bos_token_id": 0, "eos_token_id": 1}
    for pre in PRE:
        yield f"gpt2 {pre}", byte_level(pre, ids)
    for pre in ("gpt-2", "llama-bpe", "qwen2", None):
        for flags in ({}, {"add_bos_token": True, **ids}, {"add_bos_token": False, **ids}, {"add_eos_token": True, **ids}):
            yield f"gpt2 {pre} {flags}", byte_level(pre, flags)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True, help="path of the program tapeformer")
    parser.add_argument("--packages", required=True, help="folder that contains node_modules/node-llama-cpp")
    arguments = parser.parse_args()
    shutil.copy(pathlib.Path(__file__).with_name("llama_cpp.mjs"), arguments.packages)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        for number, (kind, describe) in enumerate(files(place)):
            file, folder = place / f"{number}.gguf", place / f"{number}"
            write(file, describe)
            call = ["node", "llama_cpp.mjs", json.dumps([[str(file), TEXTS, True]])]
            run = subprocess.run(call, cwd=arguments.packages, capture_output=True, text=True)
            theirs = [json.loads(line)["ids"] for line in run.stdout.splitlines()]
            told = subprocess.run([arguments.command, "import", "--gguf", file, "--out", folder], capture_output=True, text=True)
            if told.returncode != 0 or len(theirs) != len(TEXTS):
                failed += 1
                print(f"FAIL {kind}: {told.stderr.strip()} {run.stderr.strip()[-300:]}", flush=True)
                continue
            lines = "".join(json.dumps(text) + "\n" for text in TEXTS)
            out = subprocess.run([arguments.command, "tokenize", "--json", "--model", folder], input=lines, check=True, capture_output=True, text=True)
            ours = [json.loads(line)["ids"] for line in out.stdout.splitlines()]
            # The package hides a BOS of type "normal", which llama.cpp nevertheless adds before a text.
            hidden = {"llama without types": [1], "gpt2 llama-bpe {}": [11]}.get(kind, [])
            theirs = [hidden + ids for ids in theirs]
            differ = [(text, want, have) for text, want, have in zip(TEXTS, theirs, ours, strict=True) if want != have]
            if "without types" in kind:  # llama.cpp treats its special tokens, which we name, as ordinary pieces in a text
                differ = [one for one in differ if "<" not in one[0]]
            for text, want, have in differ[:3]:
                print(f"     {text!r}: llama.cpp {want}, Tapeformer {have}")
            failed += bool(differ)
            print(f"{'FAIL' if differ else 'ok  '} {kind}{f': {len(differ)} texts' if differ else ''}", flush=True)
    print("all agree" if failed == 0 else f"{failed} of the files differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
