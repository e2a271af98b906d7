#!/usr/bin/env python3
"""Writes text/tokenizers/patterns/unicode_ranges.h: where the Python package tokenizers classifies code points differently from
utf8proc.

    python3 tests/equality/unicode_ranges.py > text/tokenizers/patterns/unicode_ranges.h

Queries tokenizers' own normalizers and splitters for every code point. Their tables are of several Unicode versions
(8 for punctuation and accents, about 9 for the normal forms, 17 for lower case), so the differences must be recorded to
match tokenizers.
"""

import ctypes
import ctypes.util

import tokenizers
from tokenizers import normalizers, pre_tokenizers
from unicode_lines import lines, ranges

proc = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
proc.utf8proc_category_string.restype = ctypes.c_char_p
proc.utf8proc_unicode_version.restype = ctypes.c_char_p
proc.utf8proc_map.restype = ctypes.c_ssize_t
proc.utf8proc_get_property.restype = ctypes.c_void_p
proc.free.argtypes = [ctypes.c_void_p]
STABLE, COMPATIBLE, DECOMPOSE = 2, 4, 16
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORY = {c: proc.utf8proc_category_string(c).decode() for c in POINTS}


def bert(**on):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **on}).normalize_str


def joined(first):
    """The code points that GPT-2's pattern keeps in one piece with a given character before them."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    return {c for c in POINTS if [span for _, span in split(first + chr(c))] == [(0, 2)]}


def removed(normalize):
    return {c for c in POINTS if normalize("a" + chr(c) + "b") == "ab"}


def decomposed(c):
    """utf8proc's NFKD of a code point."""
    out, source = ctypes.c_void_p(), chr(c).encode()
    size = proc.utf8proc_map(source, ctypes.c_ssize_t(len(source)), ctypes.byref(out), STABLE | COMPATIBLE | DECOMPOSE)
    text = ctypes.string_at(out, size).decode() if size else ""
    proc.free(out)
    return text


def combining_class(c):
    return ctypes.cast(proc.utf8proc_get_property(c), ctypes.POINTER(ctypes.c_int16))[1]


def is_ordered(c):
    """Whether a mark is reordered with one of class 230 or 220; one of class 0 would block both."""
    moved = nfd("a\u0301" + chr(c)) != "a\u0301" + chr(c) or nfd("a" + chr(c) + "\u0323") != "a" + chr(c) + "\u0323"
    return moved or nfd("a\u0301" + chr(c) + "\u0323") != "a\u0301" + chr(c) + "\u0323"


nfd, nfkd = normalizers.NFD().normalize_str, normalizers.NFKD().normalize_str
DECOMPOSES = {c: decomposed(c) for c in POINTS}
DECOMPOSES = {c for c, text in DECOMPOSES.items() if text != chr(c)}
ORDERED = {c for c in POINTS if combining_class(c) != 0}
words = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
whitespace = pre_tokenizers.Whitespace().pre_tokenize_str
digits = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str
SAYS = {
    "control": (removed(bert(clean_text=True)), lambda c: CATEGORY[c] in ("Cc", "Cf", "Co")),
    "punctuation": (
        {c for c in POINTS if len(words("a" + chr(c) + "b")) == 3},
        lambda c: CATEGORY[c][0] == "P" or (c < 128 and not chr(c).isalnum() and chr(c).isprintable() and c != 32),
    ),
    "accent": (removed(bert(strip_accents=True)), lambda c: CATEGORY[c] == "Mn"),
    "mark": (removed(normalizers.StripAccents().normalize_str), lambda c: CATEGORY[c][0] == "M"),
    "letter": (joined("a"), lambda c: CATEGORY[c][0] == "L"),
    "number": (joined("1"), lambda c: CATEGORY[c][0] == "N"),
    # Rust's own tables, used by the splitters Whitespace and Digits: \w of regex, char::is_numeric.
    "word": (
        {c for c in POINTS if [span for _, span in whitespace("a" + chr(c))] == [(0, 2)]},
        lambda c: CATEGORY[c][0] in "LM" or CATEGORY[c] in ("Nd", "Nl", "Pc"),
    ),
    "numeric": ({c for c in POINTS if len(digits("a" + chr(c))) == 2}, lambda c: CATEGORY[c][0] == "N"),
    "decomposed": ({c for c in DECOMPOSES if nfkd(chr(c)) != chr(c)}, DECOMPOSES.__contains__),
    "combining": (set(filter(is_ordered, ORDERED)), ORDERED.__contains__),
}
assert not any(nfkd(chr(c)) != chr(c) for c in POINTS if c not in DECOMPOSES)


print("#pragma once\n\n#include <cstdint>\n")
print("// Written by tests/equality/unicode_ranges.py: where tokenizers", tokenizers.__version__, "differs from utf8proc's")
print("// Unicode", proc.utf8proc_unicode_version().decode() + ".\n// clang-format off\n")
print("namespace tape::text::unicode_ranges {\n")
print("struct Range {\n  char32_t first, last;\n  bool holds;\n};")
for name, (says, rule) in SAYS.items():
    table = ranges({c: c in says for c in POINTS if (c in says) != rule(c)})
    print(f"\ninline constexpr Range k{name.capitalize()}[] = {{")
    print("\n".join(lines(f"{{0x{a:X}, 0x{b:X}, {str(holds).lower()}}}" for a, b, holds in table)))
    print("};")

lower = normalizers.Lowercase().normalize_str
steps = {c: ord(lower(chr(c))) - c for c in POINTS if c != 0x130 and ord(lower(chr(c))) != proc.utf8proc_tolower(c)}
print("\nstruct Lower {\n  char32_t first, last;\n  int32_t step;  // added\n};")
print("\ninline constexpr Lower kLower[] = {")
print("\n".join(lines(f"{{0x{a:X}, 0x{b:X}, {step}}}" for a, b, step in ranges(steps))))
print("};\n\n}  // namespace tape::text::unicode_ranges\n// clang-format on")
