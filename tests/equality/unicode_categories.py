#!/usr/bin/env python3
"""Writes text/tokenizers/unicode_categories.h: what regular expressions and splitters of the Python package tokenizers
know of code points beyond utf8proc's categories.

    python3 tests/equality/unicode_categories.py > text/tokenizers/unicode_categories.h

It asks the package itself: its regular expressions (Oniguruma) about every general category and some scripts, and the
splitters Whitespace and Digits, whose tables are of another Unicode version.
"""

import ctypes
import ctypes.util

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers
from unicode_lines import lines, ranges

proc = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
proc.utf8proc_category_string.restype = ctypes.c_char_p
proc.utf8proc_unicode_version.restype = ctypes.c_char_p
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TEXTS = ["".join(map(chr, POINTS[i : i + 2000])) for i in range(0, len(POINTS), 2000)]
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split()
SCRIPTS = "Arabic Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin Thai".split()


def of(expression):
    """The code points that a character class matches."""
    rest = normalizers.Replace(Regex(f"[^{expression}]"), "").normalize_str
    return {ord(c) for text in TEXTS for c in rest(text)}


def split_off(split):
    return {c for c in POINTS if len(split("a" + chr(c))) == 2}


category = {c: name for name in CATEGORIES for c in of(r"\p{%s}" % name)}
plain_words = {c for c in POINTS if category[c][0] in "LM" or category[c] in ("Nd", "Nl", "Pc")}
word = of(r"\w")
rust_word = set(POINTS) - split_off(pre_tokenizers.Whitespace().pre_tokenize_str) - of(r"\s")
rust_numeric = split_off(pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str)
number = {c for c in POINTS if category[c][0] == "N"}
assert not (plain_words - word | word - rust_word | number - rust_numeric)

print("#pragma once\n\n#include <iterator>\n#include <string_view>\n")
print("// Written by tests/equality/unicode_categories.py: what tokenizers", tokenizers.__version__, "knows beyond utf8proc's")
print("// Unicode", proc.utf8proc_unicode_version().decode() + ".\n// clang-format off\n")
print("namespace tape::text::unicode_categories {\n")
print("struct Range {\n  char32_t first, last;\n};\n\nstruct Category {\n  char32_t first, last;\n  std::string_view name;\n};")
print("\n/// General categories where they are others.\ninline constexpr Category kCategories[] = {")
other = {c: category[c] for c in POINTS if category[c] != proc.utf8proc_category_string(c).decode()}
print("\n".join(lines(f'{{0x{a:X}, 0x{b:X}, "{name}"}}' for a, b, name in ranges(other))))
print("};")
for name, comment, values in (
    ("Word", r"Matched by \w beside letters, marks, Nd, Nl and Pc.", word - plain_words),
    ("WordOfWhitespace", r"Of words for the splitter Whitespace beside those that \w matches.", rust_word - word),
    ("DigitOfDigits", "Digits for the splitter Digits beside numbers (N*).", rust_numeric - number),
):
    print(f"\n/// {comment}\ninline constexpr Range k{name}[] = {{")
    print("\n".join(lines(f"{{0x{a:X}, 0x{b:X}}}" for a, b, _ in ranges(dict.fromkeys(values, 1)))))
    print("};")
for script in SCRIPTS:
    print(f"\ninline constexpr Range k{script}[] = {{")
    print("\n".join(lines(f"{{0x{a:X}, 0x{b:X}}}" for a, b, _ in ranges(dict.fromkeys(of(r'\p{%s}' % script), 1)))))
    print("};")
print("\nstruct Script {\n  std::string_view name;  // in lower case\n  const Range* begin;\n  const Range* end;\n};")
print("\ninline constexpr Script kScripts[] = {")
print("\n".join(f'    {{"{s.lower()}", std::begin(k{s}), std::end(k{s})}},' for s in SCRIPTS))
print("};\n\n}  // namespace tape::text::unicode_categories\n// clang-format on")
