"""The rules of scripts/mutate.py: finds the places in a C++ source that a rule changes.

The rules rely on the formatting of clang-format: a binary operator has spaces around it, the bracket of a template has
none, and a statement that is a call is on its own lines.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: text[begin:end] becomes `new`."""
    rule: str
    line: int
    begin: int
    end: int
    old: str
    new: str

    def apply(self, text):
        assert text[self.begin:self.end] == self.old
        return text[:self.begin] + self.new + text[self.end:]

    def lines(self):
        """Returns the numbers of the changed lines."""
        return range(self.line, self.line + self.old.count("\n") + 1)


def binary(*operators):
    return r"(?<=[\s\w)\]]) ?(?<=\s)(?:" + "|".join(map(re.escape, operators)) + r")(?=\s)"


def names(*words, behind=r"(?=[(<{])"):
    return r"\b(?:" + "|".join(words) + r")\b" + behind


SWAPS = [("+", "-"), ("*", "/"), ("+=", "-="), ("*=", "/="), ("<", "<="), (">", ">="), ("==", "!="), ("&&", "||")]
WORDS = [("min", "max"), ("sin", "cos"), ("floor", "ceil"), ("min_element", "max_element"),
         ("lower_bound", "upper_bound"), ("front", "back")]


def rules():
    """Returns rules as name, pattern and replacement."""
    found = []
    for first, second in SWAPS:
        for old, new in ((first, second), (second, first)):
            found.append((f"{old} to {new}", re.compile(binary(old)), new))
    for first, second in WORDS:
        for old, new in ((first, second), (second, first)):
            found.append((f"{old} to {new}", re.compile(names(old)), new))
    found.append(("true to false", re.compile(r"\btrue\b"), "false"))
    found.append(("false to true", re.compile(r"\bfalse\b"), "true"))
    found.append(("0 to 1", re.compile(r"(?<![\w.'])0(?![\w.'])"), "1"))
    found.append(("1 to 2", re.compile(r"(?<![\w.'])1(?![\w.'])"), "2"))
    found.append(("drop !", re.compile(r"!(?=[\w(])"), ""))
    return found


# A statement that is a call: a.b(...); or f(...); on its own lines. Calls that only reserve memory or print are kept.
CALL = re.compile(r"^[ ]+(?!return\b|raise\(|if\b|for\b|while\b|switch\b|throw\b|static_assert|TAPE_ASSERT|else\b|"
                  r"delete\b|case\b|co_)(?:[\w:\[\]*]|\.|->)+\((?:[^;{}]|\n)*?\);$", re.MULTILINE)
ONLY_SPEED = re.compile(r"\b(?:reserve|shrink_to_fit|prefetch)\(")
# Not code under test: messages, compile-time checks, and samples that tests run the code with.
NOT_TESTED = re.compile(r"\b(?:raise|static_assert|TAPE_ASSERT|warn)\(")
SAMPLES = re.compile(r"OpSample|ModuleCheck|Checker&|\bsample_(?:normal|uniform|distinct)\(")
LITERALS = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|'
                      r"^[ ]*#(?:[^\n\\]|\\\n)*", re.MULTILINE | re.DOTALL)


def blank(text, begin, end):
    """Returns the text with text[begin:end] blanked, keeping its length and lines."""
    return text[:begin] + re.sub(r"[^\n]", "~", text[begin:end]) + text[end:]


def closing(text, opening):
    """Returns the position after the bracket that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def code_of(text):
    """Returns the text with everything blanked that must not be changed."""
    code = text
    for match in LITERALS.finditer(text):
        code = blank(code, match.start(), match.end())
    for match in NOT_TESTED.finditer(code):
        code = blank(code, match.start(), closing(code, match.end() - 1))
    # A definition begins in the first column after an empty line.
    begins = [0] + [match.end() - 1 for match in re.finditer(r"\n\n(?=[^\s])\S", text)] + [len(text)]
    for begin, end in zip(begins, begins[1:]):
        if SAMPLES.search(text, begin, end):
            code = blank(code, begin, end)
        samples = code.find(".samples", begin, end)
        if samples >= 0:
            code = blank(code, samples, end)
    return code


def mutants_of(text):
    """Returns all changes that the rules make to a source, ordered by position."""
    code = code_of(text)
    found = []
    for rule, pattern, new in rules():
        for match in pattern.finditer(code):
            begin = match.end() - len(match.group().lstrip())
            found.append((rule, begin, match.end(), new))
    for match in CALL.finditer(code):
        begin = match.end() - len(match.group().lstrip())
        whole = code.rfind("\n", 0, match.start() - 1) + 1
        # The rest of a statement that begins on the line above.
        above = code[whole:match.start()].rstrip()
        if above and above[-1] not in ";{}):~":
            continue
        if not ONLY_SPEED.search(match.group()) and "~~" not in match.group().split("(")[0]:
            found.append(("drop call", begin, match.end(), ";"))
    made = [Mutant(rule, text.count("\n", 0, begin) + 1, begin, end, text[begin:end], new)
            for rule, begin, end, new in found]
    return sorted(made, key=lambda mutant: (mutant.begin, mutant.rule))


def lines_of_diff(diff):
    """Returns the lines that a diff without context (git diff --unified=0) adds or changes: {"optim/adam.cpp": {12}}."""
    lines = {}
    name, left = None, 0  # left: remaining lines of the hunk, so that "+++ x" among them is text
    for line in diff.splitlines():
        if left > 0:
            left -= line[:1] in ("+", "-")
        elif line.startswith("+++ "):
            name = line[len("+++ b/"):] if line != "+++ /dev/null" else None
        elif hunk := re.match(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            removed, first, added = (int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1))
            left = removed + added
            if name and added > 0:
                lines.setdefault(name, set()).update(range(first, first + added))
    return lines
