"""Runs every line of the page and compares the output."""

import doctest
import pathlib

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide"


def test_the_guide_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A block's closing fence would be part of the expected output.
    text = (GUIDE / "python.md").read_text().replace("```\n", "\n")
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", None, 0)
    failures = []
    doctest.DocTestRunner(optionflags=flags).run(test, out=failures.append)
    assert test.examples and not failures, "".join(failures)
