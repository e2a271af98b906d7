"""Checks the fenced blocks of all pages: blocks.py [TAPEFORMER]. Programs and their output are compared by tests; here are the
others: fragments of C++ must compile, commands and their options must exist, Python and JSON must parse, and other blocks are
of a kind that NOT_CHECKED gives a reason for. Without the command, its options are not checked; without c++, C++ is not compiled.
The last line is "N passed, N failed"."""
import ast
import collections
import functools
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "hooks"))
import fragments  # noqa: E402
import repository  # noqa: E402

BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
NOT_CHECKED = {
    "output": "output of the command before it, which trains or needs files",
    "message": "message of an error; tests pin it",
    "cmake": "tests/consumer builds such projects",
    "kernel": "parts of kernels in CONTRIBUTING.md, whose tables and launches are those of other functions",
}
CHECKED_HERE = {"cpp", "sh", "bash", "py", "python", "json"}
PATH = re.compile(r"(?:^|[ \"'(=])(?:\./)?((?:scripts|benchmarks|examples|tests|docs|cmake|packaging|tools)/[\w./-]+\.\w+)")


@functools.cache
def example_headers():
    """Headers of the examples, which the programs around them include."""
    return {path.read_text() for path in (repository.ROOT / "examples").rglob("*.h")}


@functools.cache
def options_of(command, words):
    """Options in the help of a command, with those that every command has; None if there is no such command."""
    answer = subprocess.run([command, *words, "--help"], capture_output=True, text=True, timeout=20)
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", answer.stdout)) if answer.returncode == 0 else None


def commands_in(text):
    """Words of each call of the command tapeformer in a block of shell."""
    joined = re.sub(r"\\\n\s*", " ", text)
    for line in joined.splitlines():
        for part in re.split(r"&&|\|\||[|;<>]|\$\(", line):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                words = part.split()
            if "tapeformer" in [word.rpartition("/")[2] for word in words]:
                first = next(i for i, word in enumerate(words) if word.rpartition("/")[2] == "tapeformer")
                if all("=" in word or word in ("sudo", "time", "mpirun", "srun", "exec") or word.startswith("-") or word.isdigit() for word in words[:first]):
                    yield words[first + 1:]


def check_shell(text, command):
    problems = [f"{path} does not exist" for path in PATH.findall(text)
                if not (repository.ROOT / path).exists() and not path.endswith((".csv", ".jsonl", ".json"))]
    for words in commands_in(text) if command else ():
        names = []
        for word in words[:2]:
            if not re.fullmatch(r"[a-z][a-z-]*", word) or options_of(command, (*names, word)) is None:
                break
            names.append(word)
        known = options_of(command, tuple(names))
        given = [word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)]
        if words and not names and not words[0].startswith(("-", "..")):
            problems.append(f"tapeformer {words[0]}: no such command")
        problems += [f"tapeformer {' '.join(names)} has no option {option}" for option in given if option not in known]
    return problems


def kind_of(page, language, text, before):
    """Who checks a block: a test, a reason of NOT_CHECKED, or a function of this file."""
    program = re.search(r"\bint main\(", text) is not None
    guide = page == "README.md" or page.startswith("docs/guide/")
    if language == "math":
        return "KaTeX, strictly"
    if page.startswith("docs/derivations/"):
        return "tests derivations.*"
    if guide and (language == "cuda" or language == "cpp" and program or language == "text" and before == ("cpp", True)):
        return "tests guide.*"
    if page == "docs/guide/python.md" and language == "pycon":
        return "python/tests/test_guide.py"
    if language == "text":
        return "output" if before and before[0] in ("sh", "text", "python") else "message"
    if page == "CONTRIBUTING.md" and language == "cpp":
        return "cpp" if fragments.example_of(text) else "kernel"
    if language == "cpp" and text in example_headers():
        return "tests guide.*"
    return language


def main():
    command = sys.argv[1] if len(sys.argv) > 1 and pathlib.Path(sys.argv[1]).is_file() else None
    kinds, failed, passed = collections.Counter(), 0, 0
    in_cpp = {}
    for page, _ in repository.pages():
        before, content = None, (repository.ROOT / page).read_text()
        for block in BLOCK.finditer(content):
            language, text = block[2], block[3]
            kind = kind_of(page, language, text, before)
            before = (language, "int main(" in text)
            problems = []
            line = content[:block.start()].count("\n") + 1
            try:
                if kind == "cpp":
                    in_cpp[page, line] = text
                elif kind in ("sh", "bash"):
                    problems = check_shell(text, command)
                elif kind in ("py", "python"):
                    ast.parse(text)
                elif kind == "json":
                    [json.loads(line) for line in text.splitlines()]
                elif kind not in NOT_CHECKED and not kind.startswith(("tests", "python/tests", "KaTeX")):
                    problems = [f"nothing checks a block of {language or 'no language'}"]
            except (SyntaxError, ValueError) as error:
                problems = [str(error)]
            kinds[kind] += 1
            if kind == "cpp":
                continue
            failed, passed = failed + bool(problems), passed + (not problems and kind in CHECKED_HERE)
            for problem in problems:
                print(f"FAILED  {page}:{line}: {problem}")
    if shutil.which("c++"):
        errors = fragments.compiled(in_cpp)
        failed, passed = failed + len(errors), passed + len(in_cpp) - len(errors)
        for (page, line), problems in errors.items():
            print("\n".join(f"FAILED  {page}:{line}: {problem}" for problem in problems))
    for kind, count in sorted(kinds.items()):
        print(f"{count:4} blocks  {kind}{': not checked, ' + NOT_CHECKED[kind] if kind in NOT_CHECKED else ''}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
