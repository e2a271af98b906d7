"""Bars from the tables of the benchmark pages: figures of Tapeformer next to the fastest other column, or speedups."""
import html
import re

NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
RATIO = re.compile(r"speedup|ratio")
OTHERS = re.compile(r"eager|compiled|pytorch|transformers|`generate`|unlocked|peft|tokenizers", re.IGNORECASE)
STEP, LEFT, WIDTH = 46, 250, 300


def number(cell):
    """First number of a cell such as "1,498 ms, 595 MB"."""
    found = NUMBER.match(cell.strip("* "))
    return float(found[0].replace(",", "")) if found else None


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
            value, column = min(values)
            found.append((plain(row[0]), number(row[ours]), plain(header[column]), value))
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
                found.append((plain(row[0]), what, value))
    return found


def text(x, y, words, anchor="start", kind=""):
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}"{kind and f" class={chr(34)}{kind}{chr(34)}"}>{html.escape(words)}</text>'


def clipped(words, length=38):
    return words if len(words) <= length else words[:length - 1].rstrip() + "…"


def figure(title, height, parts):
    return (f'<figure class="plot"><svg viewBox="0 0 720 {height}" role="img" aria-label="{html.escape(title)}">'
            f'{text(8, 18, title, kind="title")}{"".join(parts)}</svg></figure>')


def pair_bars(found):
    """Each row is drawn on a scale of its own, because models differ by orders of magnitude."""
    parts = []
    for i, (label, ours, name, theirs) in enumerate(found):
        y, longest = 32 + STEP * i, max(ours, theirs)
        parts.append(f"<title>{html.escape(label)}</title>" if len(found) == 1 else "")
        parts.append(text(LEFT - 10, y + 21, clipped(label), "end"))
        for j, (kind, who, value) in enumerate((("theirs", name, theirs), ("ours", "Tapeformer", ours))):
            length = WIDTH * value / longest
            parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y + 17 * j}" width="{length:.1f}" height="14" rx="2"/>')
            parts.append(text(LEFT + length + 8, y + 12 + 17 * j, f"{who} {value:,g}"))
    return figure("Relative to the slower side of each row; shorter is better", 40 + STEP * len(found), parts)


def speedup_bars(found):
    parts, longest = [], max(max(value for _, _, value in found), 1.0)
    unit = WIDTH * 1.3 / longest
    for i, (label, what, value) in enumerate(found):
        y = 32 + 22 * i
        repeated = i > 0 and found[i - 1][0] == label
        parts.append("" if repeated else text(LEFT - 10, y + 12, clipped(label), "end"))
        parts.append(f'<rect class="{"ours" if value >= 1 else "theirs"}" x="{LEFT}" y="{y}" width="{value * unit:.1f}" height="15" rx="2"/>')
        note = f"{value:g}" + (f", {clipped(what, 24)}" if what else "")
        inside = value * unit > WIDTH * 0.8
        parts.append(text(LEFT + value * unit + (-6 if inside else 6), y + 12, note, "end" if inside else "start", "inside" if inside else ""))
    height = 40 + 22 * len(found)
    parts.append(f'<line class="one" x1="{LEFT + unit:.1f}" x2="{LEFT + unit:.1f}" y1="28" y2="{height - 10}"/>')
    return figure("Speedup (the line is 1); longer is better", height, parts)


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
