#!/usr/bin/env python3
"""Writes docs/guide/operations.md: every operation and layer with the first sentence of its doc comment.

    python3 scripts/list_operations.py           # writes the page
    python3 scripts/list_operations.py --check   # exits with 1 if the page is not up to date
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/guide/operations.md"

FAMILIES = {
    "elementwise": "Elementwise",
    "reduce": "Reductions, sorting, scans",
    "shape": "Shapes",
    "index": "Indexing",
    "product": "Products",
    "linalg": "Linear algebra (`tape::linalg`)",
    "attention": "Attention",
    "norm": "Softmax and normalization",
    "loss": "Losses",
    "convolution": "Convolution and pooling",
}
LAYERS = {
    ".": "Basic layers",
    "embedding": "Embeddings",
    "position": "Positions",
    "norm": "Normalization",
    "attention": "Attention",
    "transformer": "Transformer",
}

FUNCTION = re.compile(r"^(?:Tensor|Tensors|[A-Z]\w*) ([a-z]\w*)\(")
LAYER = re.compile(r"^class (\w+) : public (?:detail::)?\w*Layer<")


def first_sentence(comment):
    """Of doc comment lines: up to the first full stop that ends a sentence, as table text."""
    text = " ".join(comment).strip()
    end = re.search(r"(?<!\be\.g)(?<!\bal)(?<!\bvs)\.(?= [A-Za-z`\[]|$)|:$|:(?= {2,})", text)
    sentence = text[: end.start()] if end else text
    return sentence.replace("|", "\\|").strip()


def entries(header, pattern):
    """Names declared in a header outside of namespace detail, each with its comment's first sentence, or with that of
    the group /// @{ ... /// @} that it is in; of overloads the first comment."""
    found, comment, group, depth_of_detail, depth = {}, [], "", None, 0
    for line in header.read_text().splitlines():
        if depth_of_detail is None and re.match(r"namespace (\w+::)*detail\b", line):
            depth_of_detail = depth
        depth += line.count("{") - line.count("}") if not line.startswith("//") else 0
        if depth_of_detail is not None:
            if depth <= depth_of_detail:
                depth_of_detail = None
        elif line == "/// @{":
            group, comment = first_sentence(comment), []
        elif line == "/// @}":
            group, comment = "", []
        elif line.startswith("///"):
            comment.append(line[3:].strip())
        elif match := pattern.match(line):
            sentence = first_sentence(comment)
            if trailing := re.search(r"///< ?(.*)", line):
                sentence = first_sentence([trailing[1]])
            if not found.get(match[1]):
                found[match[1]] = sentence or group
            comment = []
        elif not line.startswith((" ", "template")):
            comment = []
    return found


def table(pattern, headers):
    rows = []
    for header in headers:
        path = header.relative_to(ROOT)
        for name, sentence in entries(header, pattern).items():
            rows.append(f"| [`{name}`](../../{path}) | {sentence} |")
    return sorted(set(rows), key=str.lower)


def public_headers():
    """What autograd/ops.h includes, and linear algebra."""
    autograd = ROOT / "autograd"
    included = re.findall(r'#include "(ops/.*)"', (autograd / "ops.h").read_text())
    return [autograd / path for path in [*included, "ops/linalg.h"]]


def page():
    parts = [
        "# Operations and layers",
        "",
        "Generated from the headers by `scripts/list_operations.py`; a link leads to the full comment with shapes, dtypes and",
        "errors. Operations are in `namespace tape`, layers in `tape::nn`. All are differentiable where a derivative exists, most",
        "of them twice; the gradient check of each is part of the tests.",
        "",
        "## Operations",
    ]
    for folder, title in FAMILIES.items():
        headers = [h for h in public_headers() if folder in (h.parent.name, h.stem)]
        parts += ["", f"### {title}", "", "| operation | |", "| --- | --- |", *table(FUNCTION, headers)]
    parts += ["", "## Layers"]
    for folder, title in LAYERS.items():
        headers = sorted((ROOT / "nn" / folder).glob("*.h"))
        parts += ["", f"### {title}", "", "| layer | |", "| --- | --- |", *table(LAYER, headers)]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"{PAGE.relative_to(ROOT)} is not up to date: run python3 scripts/list_operations.py")
    else:
        PAGE.write_text(page())
