"""Tables of code points as lines of C++."""


def ranges(values):
    """[first, last, value] of consecutive code points with the same value; values: {code point: value}."""
    out = []
    for c, value in sorted(values.items()):
        if out and out[-1][1] == c - 1 and out[-1][2] == value:
            out[-1][1] = c
        else:
            out.append([c, c, value])
    return out


def lines(entries):
    row = "   "
    for entry in entries:
        if len(row) + len(entry) > 117:
            yield row
            row = "   "
        row += " " + entry + ","
    yield row
