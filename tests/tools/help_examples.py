#!/usr/bin/env python3
"""Runs the examples in the help texts of all commands, in a folder with small files of the names that they use.

    help_examples.py --command build/release/tools/tapeformer --folder /tmp/examples --fixtures tests/fixtures

Options appended to the examples make training short. Fails if an example ends with a nonzero exit code or if the help of a
command has no example.
"""

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

SHORT = "--steps 2 --threads 1"
MODEL = "--layers 1 --width 16 --heads 2"
# Options appended to the examples of a command.
MORE = {
    "demo": "--steps 2 --batch-tokens 40 --pairs 200 --held-out 2 --seconds 0 --threads 1",
    "train lm": f"{SHORT} --batch 2 --context 16",
    "train translation": f"{SHORT} {MODEL} --vocab-size 40",
    "train classifier": SHORT,
    "train embedding": f"{SHORT} --batch 2",
    "train mlm": f"{SHORT} --batch 2",
    "train tokens": SHORT,
    "generate": "--max-new-tokens 4",
    "translate": "--max-length 4",
}
# Commands in the order in which they depend on each other's files. bench is left out because it takes long.
ORDER = ["info", "demo", "train", "train lm", "export", "import", "train translation", "train classifier", "train embedding",
         "train mlm", "train tokens", "merge", "generate", "translate", "classify", "tokenize", "score", "run", "report",
         "inspect"]


def copy(fixtures: Path, to: Path, *folders: str) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for folder in folders:
        for file in (fixtures / folder).iterdir():
            if file.is_file():
                shutil.copy(file, to / file.name)


def write_inputs(file: Path) -> None:
    """Writes a safetensors file with input_ids [1, 4] and labels [1]."""
    header = json.dumps({"input_ids": {"dtype": "I64", "shape": [1, 4], "data_offsets": [0, 32]},
                         "labels": {"dtype": "I64", "shape": [1], "data_offsets": [32, 40]}}).encode()
    file.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<5q", 1, 2, 3, 4, 1))


def write_files(folder: Path, fixtures: Path) -> None:
    words = ["one", "two", "three", "four", "five", "six"]
    sentences = [f"{a} {b} {c}" for a in words for b in words for c in words]
    lines = "\n".join(sentences) + "\n"
    for name in ["book.txt", "letters.txt", "test.de", "translated.de", "german.txt", "reviews.txt"]:
        (folder / name).write_text(lines[:2000] if name.startswith("ger") or name.startswith("rev") else lines)
    for name in ["train.de", "train.en", "val.de", "val.en"]:
        (folder / name).write_text(lines)
    labelled = "".join(f"{s}\t{'glad' if i % 2 else 'sad'}\n" for i, s in enumerate(sentences))
    for name in ["train.tsv", "dev.tsv"]:
        (folder / name).write_text(labelled)
    conll = "".join("".join(f"{w} {'B-NUM' if w == 'one' else 'O'}\n" for w in s.split()) + "\n" for s in sentences)
    for name in ["train.conll", "dev.conll"]:
        (folder / name).write_text(conll)
    with open(folder / "questions.jsonl", "w") as file:
        for i, s in enumerate(sentences):
            # Prompts and completions for train lm, pairs for train embedding.
            file.write(json.dumps({"prompt": s, "completion": s[::-1], "anchor": s, "positive": s[::-1] + str(i)}) + "\n")
    write_inputs(folder / "in.safetensors")
    for name in ["MiniLM", "bert-base-uncased", "bert-base-cased", "sst2", "bert"]:
        copy(fixtures, folder / name, "commands/classifier", "tokenizers/bert")
    copy(fixtures, folder / "gpt2", "commands/writer", "tokenizers/gpt2")
    copy(fixtures, folder / "opus-mt-de-en", "commands/translator", "tokenizers/marian")


def examples_of(text: str) -> list[str]:
    """Returns the commands after "Example:" or "Examples:" and in the lines below."""
    found: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        if match := re.match(r"(?:Examples?: )?(.*\btapeformer .*)", line):
            if line.startswith("Example") or (found and line.startswith("tapeformer ")):
                found.append(match[1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ["command", "folder", "fixtures"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    arguments = parser.parse_args()
    command, folder = arguments.command.resolve(), arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/tapeformer").symlink_to(command)
    write_files(folder, arguments.fixtures.resolve())
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def run(line: str) -> subprocess.CompletedProcess:
        return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False)

    def must(line: str) -> None:
        if (done := run(line)).returncode != 0:
            sys.exit(f"{line}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")

    count = 0
    for name in ORDER:
        examples = examples_of(run(f"tapeformer {name} --help").stdout)
        if not examples:
            sys.exit(f"tapeformer {name} --help has no example")
        if name == "import":
            must("tapeformer export --model runs/book --out smollm2-135m-q8_0.gguf --dtype q8_0")
        if name == "merge":
            must(f"tapeformer train lm --text book.txt --init gpt2 --lora-rank 2 --out runs/style {MORE['train lm']}")
        if name == "report":
            must("cp -r runs/de-en runs/german")
        if name == "inspect":
            must("cp -r runs/words runs/number-words")
        for example in examples:
            more = MORE.get("train lm" if name == "train" else name, "")
            line = re.sub(r"(tapeformer [^<>|]*)", lambda m: f"{m[1].rstrip()} {more} ", example, count=1)
            if name == "train lm" and "--init" not in line or name == "train":
                line += f" {MODEL}"
            # The examples of train and of train lm write the same folder.
            if (folder / "runs/book").exists() and "--out runs/book" in line and name == "train lm":
                line += " --overwrite"
            must(line)
            count += 1
    print(f"{count} examples ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
