"""Bars from the tables of the benchmark pages: figures of Tapeformer next to the fastest other column, or speedups."""
import html
import re

NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
RATIO = re.compile(r"speedup|ratio")
OTHERS = re.compile(r"eager|compiled|pytorch|transformers|`generate`|unlocked|peft|tokenizers", re.IGNORECASE)
LONGEST = 270


def number(cell):
    """First number of a cell such as "1,498 ms, 595 MB"."""
    found = NUMBER.match(cell.strip("* "))
    return float(found[0].replace(",", "")) if found else None


def figure_of(cell):
    return NUMBER.match(cell.strip("* "))[0]


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def plain(cell):
    return cell.replace("`", "").replace("\\|", "|")


def pairs(header, rows):
    """(label, Tapeformer's figure, name and figure of the fastest other column) per row, if the table has such columns."""
    ours = next((i for i, name in enumerate(header) if i and name.startswith("Tapeformer")), None)
    others = [i for i, name in enumerate(header) if i and OTHERS.search(name) and not RATIO.search(name) and i != ours]
    if ours is None or not others:
        return []
    found = []
    for row in rows:
        values = [(number(row[i]), i) for i in others if i < len(row) and number(row[i]) is not None]
        if number(row[ours]) is not None and values:
            _, column = min(values)
            found.append((plain(row[0]), figure_of(row[ours]), plain(header[column]), figure_of(row[column])))
    return found


def speedups(header, rows):
    columns = [i for i, name in enumerate(header) if name.startswith("speedup")]
    if not columns:
        return []
    found = []
    for row in rows:
        for i in columns:
            value = number(row[i]) if i < len(row) else None
            if value is not None:
                what = plain(header[i - 1]) if len(columns) > 1 else ""
                found.append((plain(row[0]), what, figure_of(row[i])))
    return found


def text(x, y, words, kind=""):
    return f'<text x="{x:.1f}" y="{y}"{kind and f" class={chr(34)}{kind}{chr(34)}"}>{html.escape(words)}</text>'


def bar(kind, y, length, words):
    """A bar with words at its end."""
    return f'<rect class="{kind}" x="8" y="{y}" width="{length:.1f}" height="13" rx="2"/>{text(length + 14, y + 11, words)}'


def figure(title, height, parts):
    return (f'<figure class="plot"><svg viewBox="0 0 480 {height}" role="img" aria-label="{html.escape(title)}">'
            f'{text(8, 18, title, "title")}{"".join(parts)}</svg></figure>')


def pair_bars(found):
    """Each row is drawn on a scale of its own, because models differ by orders of magnitude."""
    parts = []
    for i, (label, ours, name, theirs) in enumerate(found):
        y, longest = 30 + 52 * i, max(number(ours), number(theirs))
        parts.append(text(8, y + 12, label))
        parts.append(bar("theirs", y + 17, LONGEST * number(theirs) / longest, f"{name} {theirs}"))
        parts.append(bar("ours", y + 32, LONGEST * number(ours) / longest, f"Tapeformer {ours}"))
    return figure("Relative to the slower of each row; shorter is better", 36 + 52 * len(found), parts)


def speedup_bars(found):
    parts, y, previous = [], 30, None
    unit = LONGEST / max(number(value) for _, _, value in found)
    for label, what, value in found:
        if label != previous:
            parts.append(text(8, y + 12, label))
            previous, y = label, y + 17
        parts.append(bar("ours" if number(value) >= 1 else "theirs", y, number(value) * unit, f"{value} {what}"))
        y += 16
    line = f'<line class="one" x1="{8 + unit:.1f}" x2="{8 + unit:.1f}" y1="26" y2="{y}"/>' if unit < LONGEST else ""
    return figure("Speedup; longer is better, the line is 1", y + 8, [*parts, line])


def plot(lines):
    header, rows = cells_of(lines[0]), [cells_of(line) for line in lines[2:]]
    found = pairs(header, rows)
    if found:
        return pair_bars(found)
    found = speedups(header, rows)
    return speedup_bars(found) if found else ""


def add_plots(markdown):
    """The page with a plot before each table that has one."""
    def with_plot(match):
        drawn = plot(match[0].splitlines())
        return f"{drawn}\n\n{match[0]}" if drawn else match[0]

    return TABLE.sub(with_plot, markdown)


def speed(readme):
    """The plot of README's table of training steps, instead of its picture."""
    for table in TABLE.finditer(readme):
        if "| Tapeformer |" in table[0].splitlines()[0]:
            return plot(table[0].splitlines())
    raise ValueError("README.md has no table with a column Tapeformer")
