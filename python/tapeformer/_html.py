"""Small self-contained tables for notebooks."""

import html

# Colors follow the page: text and borders have the color of the text around them, so that light and dark both work.
_STYLE = """
.tape-report{font:13px/1.45 system-ui,sans-serif;max-width:100%;overflow-x:auto}
.tape-report table{border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums}
.tape-report th,.tape-report td{padding:.2em .7em;text-align:left;background:none;
border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent);vertical-align:top}
.tape-report th{font-weight:600;opacity:.75;white-space:nowrap}
.tape-report .number{text-align:right;white-space:nowrap}
.tape-report .name{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
.tape-report tr.wrong td{background:color-mix(in srgb,#d33 16%,transparent)}
.tape-report tr.unsure td{background:color-mix(in srgb,#d90 16%,transparent)}
.tape-report p{margin:.3em 0;max-width:80ch}
.tape-report .good{color:#2a9d4a}.tape-report .bad{color:#e05252}
"""


def escape(value):
    """Any value as text that is safe in HTML."""
    return html.escape(str(value), quote=True)


def table(header, rows, numbers=()):
    """A table; each row is (mark, cells) with the mark "", "wrong" or "unsure". `numbers` are columns set right."""

    def kind(column):
        return "number" if column in numbers else "name" if column == 0 else ""

    head = "".join(f'<th class="{kind(i)}" scope="col">{escape(cell)}</th>' for i, cell in enumerate(header))
    body = "".join(
        f'<tr class="{mark}">'
        + "".join(f'<td class="{kind(i)}">{escape(cell)}</td>' for i, cell in enumerate(cells))
        + "</tr>"
        for mark, cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def report(ok, headline, *parts):
    """The whole: a headline with a sign, then tables and paragraphs that are HTML already."""
    sign = '<b class="good">✓</b>' if ok else '<b class="bad">✗</b>'
    return (
        f'<div class="tape-report"><style>{_STYLE}</style><p>{sign} <b>{escape(headline)}</b></p>{"".join(parts)}</div>'
    )


def paragraph(text):
    return f"<p>{escape(text)}</p>"
