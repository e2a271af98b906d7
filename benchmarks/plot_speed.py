#!/usr/bin/env python3
"""Draws docs/pictures/speed.svg from the table "Training steps" of a benchmark page: one pair of bars per model.

    python3 benchmarks/plot_speed.py [benchmarks/amd_zen4.md]
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
MODELS = {
    "gpt-nano": "gpt-nano: 4 layers, width 128",
    "gpt-char (6 steps)": "gpt-char: 6 layers, width 384",
    "base (6 steps)": "base: 6 + 6 layers, width 512",
    "tiny, dropout 0.3 (5 steps)": "tiny: 4 + 4 layers, width 128, dropout 0.3",
}


def milliseconds(cell):
    """The first number of a cell such as "1,498 ms, 595 MB" or "1,997, 1,271"."""
    return float(re.match(r"\d{1,3}(,\d{3})*(\.\d+)?", cell)[0].replace(",", ""))


def rows_of(page):
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 8 and cells[0] in MODELS:
            ours, eager, compiled = (milliseconds(cell) for cell in cells[1:4])
            yield MODELS[cells[0]], ours, min(eager, compiled)


def svg(rows):
    step, left, width = 54, 290, 290
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {44 + step * len(rows)}" font-family="system-ui, '
        'sans-serif" font-size="13">',
        "<style>text{fill:#24292f}.theirs{fill:#9aa4b0}.ours{fill:#0a7d5a}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.theirs{fill:#5b6673}.ours{fill:#2fbf8f}}</style>",
        '<text x="8" y="18" font-weight="600">Time of a training step relative to PyTorch (shorter is better)</text>',
    ]
    for i, (name, ours, theirs) in enumerate(rows):
        y = 34 + step * i
        share = ours / theirs
        parts += [
            f'<text x="{left - 10}" y="{y + 24}" text-anchor="end">{name}</text>',
            f'<rect class="theirs" x="{left}" y="{y}" width="{width}" height="16" rx="2"/>',
            f'<text x="{left + width + 8}" y="{y + 13}">PyTorch {theirs:,.0f} ms</text>',
            f'<rect class="ours" x="{left}" y="{y + 19}" width="{width * share:.1f}" height="16" rx="2"/>',
            f'<text x="{left + width * share + 8:.1f}" y="{y + 32}">Tapeformer {ours:,.0f} ms</text>',
        ]
    return "\n".join(parts + ["</svg>", ""])


if __name__ == "__main__":
    page = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "amd_zen4.md"
    rows = list(rows_of(page))
    if len(rows) != len(MODELS):
        sys.exit(f"{page}: found {len(rows)} of {len(MODELS)} rows of the table of training steps")
    (HERE.parent / "docs/pictures/speed.svg").write_text(svg(rows))
