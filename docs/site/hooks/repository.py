"""Where the repository's files are on the site, and how links between them change."""
import pathlib
import posixpath
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Pages outside of docs/guide and docs/derivations, which keep their names below the site's root.
PAGES = {
    "README.md": "index.html",
    "CHANGELOG.md": "changelog.html",
    "CONTRIBUTING.md": "contributing.html",
    "SECURITY.md": "security.html",
    "docs/equality.md": "equality.html",
    "examples/README.md": "examples/index.html",
}
FOLDERS = {"docs/guide": "guide", "docs/derivations": "derivations", "benchmarks": "benchmarks"}
FILES = {"docs/guide/pictures": "guide/pictures", "docs/pictures": "pictures", "docs/try": "try"}
LINK = re.compile(r"(?<=\]\()([^()\s]+)(?=\))")
FENCE = re.compile(r"^ *(`{3,}).*?^ *\1`*\s*$", re.MULTILINE | re.DOTALL)
TEXT = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".txt", ".cmake", ".yaml", ".yml", ".json", ".mjs", ".ts", ".sbatch"}


def pages():
    """Pairs (path in the repository, path on the site) of all pages."""
    yield from PAGES.items()
    for folder, target in FOLDERS.items():
        for path in sorted((ROOT / folder).glob("*.md")):
            yield f"{folder}/{path.name}", f"{target}/{'index' if path.stem == 'README' else path.stem}.html"


def pictures():
    for folder, target in FILES.items():
        for path in sorted((ROOT / folder).iterdir()):
            yield f"{folder}/{path.name}", f"{target}/{path.name}"


def outside_fences(text, change):
    """The text with change() applied to what is not in a fenced block."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end:fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def deeper_lists(text):
    """What is indented by three spaces below an item of a numbered list, by four, which Python-Markdown requires."""
    lines, numbered = [], False
    for line in text.splitlines():
        if line and not line.startswith(" "):
            numbered = re.match(r"\d+\. ", line) is not None
        lines.append(" " + line if numbered and line.startswith("   ") else line)
    return "\n".join(lines) + "\n"


def linked(page, target):
    """Path in the repository that a link of a page leads to, or None if it is another kind of link."""
    path = target.partition("#")[0]
    if not path or re.match(r"\w+:", path):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    return path if (ROOT / path).exists() else None


def is_source(path):
    """Whether the site shows the file or folder as a page with its source."""
    return path is not None and not path.endswith(".md") and not path.startswith(tuple(FILES))


def source_page(path):
    return f"source/{path}/index.md" if (ROOT / path).is_dir() else f"source/{path}.md"


def listing(path):
    """Files and folders in a folder, without those that Git ignores."""
    return sorted((entry for entry in (ROOT / path).iterdir() if entry.name != "__pycache__"), key=lambda e: (e.is_file(), e.name))


def sources(markdown_by_page):
    """All files and folders that pages link to, and the text files in these folders."""
    found = set()
    for page, text in markdown_by_page.items():
        outside_fences(text, lambda part, page=page: found.update(
            path for target in LINK.findall(part) if is_source(path := linked(page, target))) or part)
    todo = [path for path in found if (ROOT / path).is_dir()]
    while todo:
        for entry in listing(todo.pop()):
            path = entry.relative_to(ROOT).as_posix()
            if entry.is_dir() and entry.name != "corpus":
                todo.append(path)
                found.add(path)
            elif entry.is_file() and entry.suffix in TEXT:
                found.add(path)
    return found
