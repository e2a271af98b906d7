#!/usr/bin/env python3
"""Writes text/tokenizers/patterns/unicode_properties.h: properties of code points that the Oniguruma of the Python package
tokenizers knows, but the system's, based on an older version of Unicode, does not.

    python3 tests/equality/unicode_properties.py > text/tokenizers/patterns/unicode_properties.h

Queries both libraries for every code point. Run it with the oldest supported Oniguruma (6.9.8, Debian 12).
"""

import ctypes
import ctypes.util

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers
from unicode_lines import lines, ranges

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
# One name of each property that a recent version of Unicode changed; blocks and scripts without new members are omitted.
NAMES = """L Lu Ll Lt Lm Lo LC M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs C Cc Cf Co Cn Assigned Alnum Alpha
  Graph Lower Print Upper Word Arabic Balinese Common Cyrillic Devanagari Egyptian_Hieroglyphs Han Hiragana Inherited Kannada
  Katakana Khitan_Small_Script Khojki Lao Latin Myanmar Unknown Cased Case_Ignorable Changes_When_Casefolded
  Changes_When_Casemapped Changes_When_Lowercased Changes_When_Titlecased Changes_When_Uppercased Dash Diacritic Emoji
  Emoji_Modifier_Base Emoji_Presentation Extender Grapheme_Base Grapheme_Extend Grapheme_Link ID_Continue ID_Start
  IDS_Binary_Operator Ideographic Math Other_Alphabetic Other_Grapheme_Extend Other_ID_Continue Other_Lowercase
  Sentence_Terminal Soft_Dotted Terminal_Punctuation Unified_Ideograph XID_Continue XID_Start""".split()

onig = ctypes.CDLL(ctypes.util.find_library("onig"))
onig.onig_version.restype = ctypes.c_char_p
UTF8 = ctypes.addressof(ctypes.c_char.in_dll(onig, "OnigEncodingUTF8"))
SYNTAX = ctypes.addressof(ctypes.c_char.in_dll(onig, "OnigSyntaxOniguruma"))
onig.onig_initialize((ctypes.c_void_p * 1)(UTF8), 1)



class Region(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_int), ("count", ctypes.c_int), ("begin", ctypes.POINTER(ctypes.c_int)), ("end", ctypes.POINTER(ctypes.c_int))]


onig.onig_region_new.restype = ctypes.POINTER(Region)
TEXT = "".join(map(chr, POINTS)).encode()
AT, at = {}, 0  # index of the code point at each byte of the text
for number, c in enumerate(POINTS):
    AT[at] = number
    at += len(chr(c).encode())
AT[at] = len(POINTS)


def system(expression):
    """The code points of a class in the system's library."""
    source = ctypes.create_string_buffer(f"{expression}+".encode())
    start, size = ctypes.addressof(source), len(source) - 1
    regex = ctypes.c_void_p()
    error = onig.onig_new(ctypes.byref(regex), ctypes.c_void_p(start), ctypes.c_void_p(start + size), 0, ctypes.c_void_p(UTF8), ctypes.c_void_p(SYNTAX), None)
    assert error == 0, (expression, error)
    text = ctypes.create_string_buffer(TEXT)
    first, region, at, out = ctypes.addressof(text), onig.onig_region_new(), 0, set()
    last = ctypes.c_void_p(first + len(TEXT))
    while onig.onig_search(regex, text, last, ctypes.c_void_p(first + at), last, region, 0) >= 0:
        at = region.contents.end[0]
        out.update(POINTS[AT[region.contents.begin[0]] : AT[at]])
    return out


def package(expression):
    """The code points of a class in the package."""
    split = pre_tokenizers.Split(Regex(f"{expression}+"), "removed", invert=True)
    return {POINTS[i] for _, (begin, end) in split.pre_tokenize_str(TEXT.decode()) for i in range(begin, end)}


# \p{Punct} is P; [[:punct:]] also includes symbols since Oniguruma 6.9.9, which needs no table.
sets = {name: package(r"\p{%s}" % name) for name in NAMES}
# All versions agree below U+0100, except on \p{Word}: older ones treat it as a class of its own, newer ones as \w.
younger = set().union(*(found ^ system(r"\p{%s}" % name) for name, found in sets.items())) - set(range(0x100))
lower = normalizers.Lowercase().normalize_str
pairs = {c: ord(lower(chr(c))) for c in sorted(younger & sets["Lu"])}
assert package(r"[[:punct:]]") == sets["P"] | sets["S"]


def mask(c):
    return sum(1 << i for i, name in enumerate(NAMES) if c in sets[name])


print("#pragma once\n\n#include <cstdint>\n#include <string_view>\n")
print("// Written by tests/equality/unicode_properties.py: what the Oniguruma of tokenizers", tokenizers.__version__, "knows of code")
print(f"// points that version {onig.onig_version().decode()} does not know or knows otherwise.\n// clang-format off\n")
print("namespace tape::text::unicode_properties {\n")
print("inline constexpr std::string_view kNames[] = {")
print("\n".join(lines(f'"{name}"' for name in NAMES)))
print("};\n\n/// Code points and their properties among these: bits of the first 64 and of the others.")
print("struct Younger {\n  char32_t first, last;\n  uint64_t low, high;\n};\n\ninline constexpr Younger kYounger[] = {")
entries = ranges({c: mask(c) for c in younger})
print("\n".join(lines(f"{{0x{a:X}, 0x{b:X}, 0x{m & 2**64 - 1:X}, 0x{m >> 64:X}}}" for a, b, m in entries)))
print("};\n\n/// Upper and lower case among them.\nstruct CasePair {\n  char32_t upper, lower;\n};\n\ninline constexpr CasePair kCasePairs[] = {")
print("\n".join(lines(f"{{0x{a:X}, 0x{b:X}}}" for a, b in pairs.items())))
print("};\n\n}  // namespace tape::text::unicode_properties\n// clang-format on")
