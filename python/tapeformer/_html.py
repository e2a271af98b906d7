"""Small self-contained tables for notebooks."""

import html

# Colors follow the page: text and borders have the color of the text around them, so that light and dark both work. The
# doubled class outweighs Jupyter's own styles of tables.
_STYLE = """
.tape-report.tape-report{font:13px/1.45 system-ui,sans-serif;max-width:100%;overflow-x:auto}
.tape-report.tape-report table{border-collapse:collapse;margin:.4em 0;font:inherit;font-variant-numeric:tabular-nums}
.tape-report.tape-report :is(th,td){padding:.2em .7em;text-align:left;background:none;border:0;
border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent);vertical-align:top;white-space:pre-line}
.tape-report.tape-report tr{background:none}
.tape-report.tape-report th{font-weight:600;white-space:nowrap}
.tape-report.tape-report .number{text-align:right;white-space:nowrap}
.tape-report.tape-report td.name{font-family:ui-monospace,monospace;overflow-wrap:anywhere;min-width:12em}
.tape-report.tape-report tr.wrong{background:color-mix(in srgb,#d33 16%,transparent)}
.tape-report.tape-report tr.unsure{background:color-mix(in srgb,#d90 16%,transparent)}
.tape-report.tape-report p{margin:.3em 0;max-width:80ch}
.tape-report.tape-report summary{cursor:pointer;margin:.3em 0}
.tape-report .good{color:#2a9d4a}.tape-report .bad{color:#e05252}
"""
_MOST_ROWS = 12


def escape(value):
    """Any value as text that is safe in HTML."""
    return html.escape(str(value), quote=True)


def _cell(value, kind):
    """Names of parameters break after dots."""
    return escape(value).replace(".", ".<wbr>") if kind == "name" else escape(value)


def table(header, rows, numbers=()):
    """A table; each row is (mark, cells) with the mark "", "wrong" or "unsure". `numbers` are columns set right."""

    def kind(column):
        return "number" if column in numbers else "name" if column == 0 else ""

    head = "".join(f'<th class="{kind(i)}" scope="col">{escape(cell)}</th>' for i, cell in enumerate(header))
    body = "".join(
        f'<tr class="{mark}">'
        + "".join(f'<td class="{kind(i)}">{_cell(cell, kind(i))}</td>' for i, cell in enumerate(cells))
        + "</tr>"
        for mark, cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded_table(header, rows, numbers=(), what="rows"):
    """A table; if it is long, the rows without a mark can be opened below the others."""
    marked, others = [row for row in rows if row[0]], [row for row in rows if not row[0]]
    if len(rows) <= _MOST_ROWS or not others:
        return table(header, rows, numbers)
    count = f"{len(others)} {'more ' if marked else ''}{what}"
    folded = f"<details><summary>{escape(count)}</summary>{table(header, others, numbers)}</details>"
    return (table(header, marked, numbers) if marked else "") + folded


def report(ok, headline, *parts):
    """The whole: a headline with a sign, then tables and paragraphs that are HTML already."""
    sign = '<b class="good">✓</b>' if ok else '<b class="bad">✗</b>'
    return (
        f'<div class="tape-report"><style>{_STYLE}</style><p>{sign} <b>{escape(headline)}</b></p>{"".join(parts)}</div>'
    )


def paragraph(text):
    return f"<p>{escape(text)}</p>"
