"""The example scripts print what their docstrings say; `...` there stands for anything."""

import ast
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("script", sorted(path.name for path in FOLDER.glob("*.py")))
def test_examples_print_what_they_say(script, tmp_path):
    source = (FOLDER / script).read_text()
    if "\nimport torch\n" in source:
        pytest.importorskip("torch")
    expected = ast.get_docstring(ast.parse(source)).split("Prints:\n")[1]
    run = subprocess.run(
        [sys.executable, str(FOLDER / script)], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*?")
    assert re.fullmatch(pattern, run.stdout.strip(), re.DOTALL), run.stdout
