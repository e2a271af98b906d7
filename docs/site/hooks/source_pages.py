"""Pages that show a source file with line anchors (#L-12), or the files of a folder."""
import html

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

import repository

LEXERS = {".h": "x.cpp", ".cu": "x.cpp", ".cuh": "x.cpp", ".sbatch": "x.sh"}


def markdown(path):
    """The page without its content, which MkDocs would read as Markdown; not in the search, which finds the pages' texts."""
    return f'---\ntitle: "{path}"\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n# {path}\n'


def content(path, known):
    """HTML of the page of a file or folder; known: paths that have such a page."""
    where = repository.ROOT / path
    return folder(path, known) if where.is_dir() else file(where)


def file(where):
    text = where.read_text(errors="replace")
    try:
        lexer = get_lexer_for_filename(LEXERS.get(where.suffix, where.name), text, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, wrapcode=True, cssclass="highlight source")
    return highlight(text, lexer, formatter)


def folder(path, known):
    rows = []
    for entry in repository.listing(path):
        name = html.escape(entry.name + "/" * entry.is_dir())
        if entry.relative_to(repository.ROOT).as_posix() in known:
            name = f'<a href="{entry.name}{"/index" if entry.is_dir() else ""}.html">{name}</a>'
        rows.append(f"<li>{name}</li>")
    return f'<ul class="files">{"".join(rows)}</ul>'
