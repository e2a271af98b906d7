"""Compiles blocks of C++ that are not programs: fragments of the guide, each in a function, and the operation, layer and model
that CONTRIBUTING.md invents, each from all of its blocks."""
import collections
import re
import subprocess

import repository

# Of the examples of CONTRIBUTING.md: a word in each block, headers, and namespaces by words (the first that is there counts).
EXAMPLES = {
    "StableLm": (
        ["fmt/format.h", "base/check.h", "models/decoders/rotary_config.h", "models/folders/config_keys.h",
         "models/folders/family_of.h", "tests/samples/models/small_models.h"],
        {"stable_lm_json": "tape::models::hugging_face", "": "tape::models"},
    ),
    "Scale": ([], {"": "tape::nn"}),
    "softsign": (
        ["tests/autograd/properties/elementwise.cpp", "tests/samples/elementwise/unary_samples.h"],
        {"draw_": "tape::properties", "": "tape"},
    ),
}
# Kernels, whose tables and launches are those of other functions.
KERNEL = re.compile(r"kernels::|Kernels|__device__|\brow\(")
OPTIONS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-fopenmp", "-I", repository.ROOT]


def example_of(text):
    """Key in EXAMPLES of a block of CONTRIBUTING.md; None for a kernel."""
    return None if KERNEL.search(text) else next((word for word in EXAMPLES if word in text), None)


def in_function(number, text):
    """A fragment of the guide, which uses what fragments.h declares."""
    name = f"Fragment{number}"
    if "{this," in text and "struct " not in text:
        return f"struct {name} : nn::Layer<{name}> {{", "};"
    return f"struct {name} : Given {{ void run() {{", "}};"


def in_namespace(example, text):
    namespaces = EXAMPLES[example][1]
    return f"namespace {next(name for word, name in namespaces.items() if word in text)} {{", "}"


def compiled(fragments):
    """Errors of fragments, {(page, line of its start): text}, by fragment."""
    groups = collections.defaultdict(list)
    for (page, line), text in fragments.items():
        example = example_of(text) if page == "CONTRIBUTING.md" else None
        head, tail = in_namespace(example, text) if example else in_function(line, text)
        groups[example].append(f'{head}\n#line {line + 1} "{page}"\n{text}{tail}')
    errors = collections.defaultdict(list)
    for example, parts in groups.items():
        headers = ["tapeformer.h", "nn/gradcheck/check.h", *EXAMPLES[example][0]] if example else ["docs/site/check/fragments.h"]
        source = "\n".join([*(f'#include "{header}"' for header in headers), *parts])
        answer = subprocess.run(["c++", *OPTIONS, "-x", "c++", "-"], input=source, capture_output=True, text=True)
        before = len(errors)
        for page, line, what in re.findall(r"^(\S+?):(\d+):(?:\d+:)? error: (.*)$", answer.stderr, re.MULTILINE):
            starts = [start for file, start in fragments if file == page and start < int(line)]
            errors[page, max(starts, default=0)].append(f"line {line}: {what}")
        if answer.returncode and len(errors) == before:
            errors[str(example), 0].append(answer.stderr)
    return errors
