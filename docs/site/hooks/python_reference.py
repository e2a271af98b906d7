"""Pages of the Python reference, and the package that mkdocstrings reads for them: one file per module with the contents of
the stubs (build/*/python/tapeformer/_tapeformer) and of the Python sources that add to them."""
import ast
import keyword
import pathlib
import re
import shutil

import repository

PACKAGE = repository.ROOT / "python/tapeformer"
STAGE = repository.ROOT / "build/site-tools/python/tapeformer"
KEYWORD = re.compile(rf"([(,] ?)({'|'.join(keyword.kwlist)}): ")
EXAMPLE = re.compile(r'^([ ]*)>>> .*(?:\n(?![ ]*"""|[ ]*$).*)*(?:\n|\Z)', re.MULTILINE)
QUALIFIED = re.compile(r"\btapeformer\._tapeformer\.")


def stubs():
    """Folder of the generated stubs of the newest build of the Python package."""
    folders = list(repository.ROOT.glob("build/*/python/tapeformer/_tapeformer"))
    return max(folders, key=lambda folder: (folder / "__init__.pyi").stat().st_mtime)


def module_names(stub_folder):
    """tapeformer, tapeformer.linalg, tapeformer.nn, tapeformer.nn.init, ..."""
    names = {"tapeformer"}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names.add(".".join(["tapeformer", *(part for part in parts if part != "__init__")]))
    for path in stub_folder.rglob("*.pyi"):
        parts = path.relative_to(stub_folder).with_suffix("").parts
        names.add(".".join(["tapeformer", *(part for part in parts if part != "__init__")]))
    return sorted(name for name in names if not any(part.startswith("_") for part in name.split(".")))


def statements(path, wanted):
    """Source text of the statements of a file that wanted() accepts."""
    # The stubs take names of parameters from C++, where they may be Python's keywords.
    text = path.read_text() if path.suffix == ".py" else KEYWORD.sub(r"\1\2_: ", path.read_text())
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if wanted(node):
            first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
            yield "".join(lines[first - 1:node.end_lineno])


def implemented(text):
    """The text with a function after each group of overloads, which Griffe needs to show them: it has their docstrings."""
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    for body in sorted((node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef)), key=lambda body: -body[0].lineno if body else 0):
        groups = {}
        for node in body:
            if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "overload" for d in node.decorator_list):
                groups.setdefault(node.name, []).append(node)
        for name, nodes in sorted(groups.items(), key=lambda item: -item[1][-1].end_lineno):
            indent = " " * nodes[0].col_offset
            docs = dict.fromkeys(filter(None, map(ast.get_docstring, nodes)))
            doc = "\n\n".join(docs).replace("\n", f"\n{indent}    ").replace("\\", "\\\\")
            lines[nodes[-1].end_lineno - 1] += f'\n{indent}def {name}(*args, **kwargs):\n{indent}    """{doc}\n{indent}    """\n'
    return "".join(lines)


def fenced(text):
    """Puts the examples of docstrings, lines from >>> to an empty line or the end, into blocks of code."""
    return EXAMPLE.sub(lambda match: f"{match[1]}```pycon\n{match[0].rstrip()}\n{match[1]}```\n", text)


def public(node):
    return isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")


def of_stub(node):
    """Everything except the docstring, the imports of the package's own modules, and copies of the members of DType."""
    if isinstance(node, ast.ImportFrom):
        return not (node.module or "").startswith("tapeformer")
    if isinstance(node, ast.Import):
        return not node.names[0].name.startswith("tapeformer")
    return not isinstance(node, ast.Expr | ast.AnnAssign)


def merged(name, stub_folder):
    """Text of a module with everything that it exports."""
    parts = name.split(".")[1:]
    stub = next((path for path in (stub_folder.joinpath(*parts, "__init__.pyi"), stub_folder.joinpath(*parts).with_suffix(".pyi"))
                 if path.is_file()), None)
    package, single = PACKAGE.joinpath(*parts), PACKAGE.joinpath(*parts).with_suffix(".py")
    files = [package / "__init__.py", *sorted(package.glob("_*.py"))] if package.is_dir() else [single]
    files = [path for path in dict.fromkeys(files) if path.is_file()]
    names = set(re.findall(r"\w+", files[0].read_text())) if files else set()

    def exported(node):
        return public(node) and node.name in names

    docstring = (ast.get_docstring(ast.parse(files[0].read_text())) if files else "") or ""
    code = [*(statements(stub, of_stub) if stub else ()), *(part for path in files for part in statements(path, exported))]
    body = implemented(QUALIFIED.sub("tapeformer." if parts else "", "\n".join(code)))
    body = re.sub(r"(?<![\w`.])(__\w+__)(?=\(?\)? )(?!.*def )", r"`\1`", body)
    body = re.sub(r"^(\s+)Options:$", r"\1Keyword Args:", body, flags=re.MULTILINE)
    body = fenced(body)
    docstring = fenced(docstring)
    return f'"""{docstring}\n"""\nfrom __future__ import annotations\nimport tapeformer\n{body}'


def stage():
    """Writes the package and returns the names of its modules."""
    stub_folder = stubs()
    shutil.rmtree(STAGE, ignore_errors=True)
    names = module_names(stub_folder)
    for name in names:
        path = STAGE.joinpath(*name.split(".")[1:])
        path = path / "__init__.py" if any(other.startswith(name + ".") for other in names) else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(merged(name, stub_folder))
    return names


def page(name):
    """Markdown of a module's page; Tensor has its own, because it is as long as all functions together."""
    if name == "tapeformer":
        return (f"# {name}\n\n::: {name}\n    options:\n      filters: [\"!^_\", \"!^Tensor$\"]\n")
    return f"# {name}\n\n::: {name}\n"
