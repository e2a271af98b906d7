"""Small models of the fixtures as folders, and the command."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
EXPECTED = json.loads((FIXTURES / "commands" / "expected.json").read_text())


def copy_model(folder, model, tokenizer):
    """A model with its tokenizer in a folder of the model's name; returns the path."""
    target = folder / model
    shutil.copytree(FIXTURES / "commands" / model, target)
    shutil.copytree(FIXTURES / "tokenizers" / tokenizer, target, dirs_exist_ok=True)
    return target


def command():
    """Path of the command; skips the test if it was not built."""
    candidates = [os.environ.get("TAPEFORMER_COMMAND"), *sorted(map(str, ROOT.glob("build/*/tools/tapeformer")))]
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return path
    pytest.skip("needs the command tapeformer: set TAPEFORMER_COMMAND")


def run_command(*arguments, text=None):
    """Standard output of a command that must succeed."""
    done = subprocess.run([command(), *map(str, arguments)], input=text, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout
