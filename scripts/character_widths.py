#!/usr/bin/env python3
"""Writes base/character_width_table.h, the widths of characters in a terminal, from libutf8proc of this system (Unicode
15.0 with Debian 12's). A test compares the two where the versions are the same.

    python3 scripts/character_widths.py
"""
import ctypes
import pathlib

FILE = pathlib.Path(__file__).resolve().parent.parent / "base/character_width_table.h"

utf8proc = ctypes.CDLL("libutf8proc.so.2")
utf8proc.utf8proc_unicode_version.restype = ctypes.c_char_p
version = utf8proc.utf8proc_unicode_version().decode()

runs = []
for point in range(0x110000):
    width = max(utf8proc.utf8proc_charwidth(point), 0)
    if not runs or runs[-1][1] != width:
        runs.append((point, width))

lines, line = [], "   "
for first, width in runs:
    entry = f" {{0x{first:X}, {width}}},"
    if len(line) + len(entry) > 120:
        lines.append(line)
        line = "   "
    line += entry
lines.append(line)

FILE.write_text(f"""#pragma once

// Made by scripts/character_widths.py from utf8proc, Unicode {version}.
namespace tape {{

/// The columns that the characters from `first` to that of the next entry take in a terminal.
struct CharacterWidth {{
  char32_t first;
  int width;
}};

// clang-format off
inline constexpr CharacterWidth kCharacterWidths[] = {{
{chr(10).join(lines)}
}};
// clang-format on

}}  // namespace tape
""")
