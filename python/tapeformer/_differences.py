"""What compare() finds: pairs of tensors, and the report."""

import dataclasses

from . import _html


@dataclasses.dataclass
class Difference:
    """A pair of tensors: their names on both sides, and how far they are apart."""

    torch_name: str
    tape_name: str
    error: float = 0.0  # largest absolute difference, divided by the largest absolute value of PyTorch's
    absolute: float = 0.0  # largest absolute difference
    position: tuple = ()  # where it is
    torch_value: float = 0.0  # the values there
    tape_value: float = 0.0
    problem: str = ""  # why they could not be compared, as for different shapes
    ok: bool = True

    def __str__(self):
        names = self.torch_name if self.torch_name == self.tape_name else f"{self.torch_name} / {self.tape_name}"
        if self.problem:
            return f"{names}: {self.problem}"
        where = (
            f" at {list(self.position)}: torch {self.torch_value:.6g}, tape {self.tape_value:.6g}"
            if self.position
            else ""
        )
        return f"{names}: max error {self.absolute:.2g} (relative {self.error:.2g}){where}"


@dataclasses.dataclass
class ComparisonReport:
    """What compare() found. Prints as tables; true if everything agrees."""

    rtol: float
    weights: list  # a Difference per pair of parameters and buffers, before copying
    copied: bool  # whether PyTorch's weights were copied
    guessed: list  # pairs (torch name, tape name) that were matched by similar names and equal shapes
    only_torch: list  # parameters of PyTorch's module without a counterpart
    only_tape: list
    modules: list  # a Difference per pair of calls of modules, in order: the values of their outputs
    outputs: list  # of the whole modules
    gradients: list  # of the inputs and parameters
    first_value: str = ""  # where values diverge, "" if they agree
    first_gradient: str = ""  # where gradients diverge, "" if they agree

    @property
    def ok(self):
        """Whether outputs and gradients agree, and every parameter has a counterpart."""
        return not (self.first_value or self.first_gradient or self.only_torch or self.only_tape) and all(
            pair.ok for pair in [*self.outputs, *self.gradients]
        )

    def __bool__(self):
        return self.ok

    def _headline(self):
        if self.first_value:
            return "compare: values diverge"
        if self.first_gradient:
            return "compare: values agree, gradients diverge"
        missing = len(self.only_torch) + len(self.only_tape)
        if missing:
            return f"compare: {missing} parameter{'s have' if missing > 1 else ' has'} no counterpart"
        if not self.ok:
            return "compare: tensors differ"
        count = sum(not pair.problem for pair in self.gradients)
        return f"compare: outputs, {len(self.modules)} module calls and {count} gradients agree"

    def _notes(self):
        notes = [text for text in (self.first_value, self.first_gradient) if text]
        if not self.copied:
            different = [pair for pair in self.weights if not pair.ok]
            if different:
                notes.append("Weights differ: " + "; ".join(str(pair) for pair in different[:5]))
        for side, names in (("torch", self.only_torch), ("tape", self.only_tape)):
            if names:
                notes.append(
                    f"Only in {side}: "
                    + ", ".join(names)
                    + ". Use rename= to say what they are called on the other side."
                )
        if self.guessed:
            notes.append("Matched by similar names: " + ", ".join(f"{a} = {b}" for a, b in self.guessed) + ".")
        return notes

    def _tables(self):
        yield "output of", [*self.modules, *self.outputs]
        yield "gradient of", self.gradients

    def __str__(self):
        lines = [self._headline(), *self._notes()]
        for title, pairs in self._tables():
            rows = [[title, "in tape", "max error", "relative", "verdict"]]
            rows += [_cells(pair) for pair in pairs]
            widths = [max(len(row[i]) for row in rows) for i in range(5)]
            lines.append("")
            lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self):
        parts = [_html.paragraph(note) for note in self._notes()]
        for title, pairs in self._tables():
            rows = [("" if pair.ok else "wrong", _cells(pair)) for pair in pairs]
            parts.append(
                _html.folded_table(
                    [title, "in tape", "max error", "relative", "verdict"], rows, numbers=(2, 3), what="agree"
                )
            )
        return _html.report(self.ok, self._headline(), *parts)


def _cells(pair):
    same = "" if pair.tape_name == pair.torch_name else pair.tape_name
    if pair.problem:
        return [pair.torch_name, same, "", "", pair.problem]
    return [pair.torch_name, same, f"{pair.absolute:.1e}", f"{pair.error:.1e}", "agree" if pair.ok else "differ"]


def difference(torch_name, tape_name, a, b, rtol, floor=0.0):
    """Compares two tensors of PyTorch. Values are taken to be at least `floor`, below which they are rounding
    errors."""
    pair = Difference(torch_name, tape_name)
    if a is None or b is None:
        missing = a is None and b is None
        pair.problem = (
            "no gradient on either side" if missing else f"only {'tape' if a is None else 'torch'} has a gradient"
        )
        pair.ok = missing
        return pair
    if a.numel() != b.numel() or (
        a.shape != b.shape and [n for n in a.shape if n != 1] != [n for n in b.shape if n != 1]
    ):
        pair.problem, pair.ok = f"shapes differ: torch {list(a.shape)}, tape {list(b.shape)}", False
        return pair
    a, b = a.detach().double().cpu(), b.detach().double().cpu().reshape(a.shape)
    if a.numel() == 0:
        return pair
    apart = (a - b).abs()
    apart[(a == b) | (a.isnan() & b.isnan())] = 0  # infinities too
    apart[apart.isnan()] = float("inf")
    where = int(apart.flatten().argmax())
    pair.absolute = float(apart.flatten()[where])
    finite = a[a.isfinite()]
    largest = max(float(finite.abs().max()) if finite.numel() else 0.0, floor)
    pair.error = pair.absolute / largest if largest else pair.absolute
    pair.ok = pair.error <= rtol
    position, rest = [], where
    for size in reversed(a.shape):
        position.insert(0, rest % size)
        rest //= size
    pair.position = tuple(position)
    pair.torch_value, pair.tape_value = float(a.flatten()[where]), float(b.flatten()[where])
    return pair
