"""Side-by-side runs of a PyTorch module and a module of this library."""

import contextlib
import dataclasses

from . import _recordings, _tapeformer, _torch, _weight_names
from ._differences import ComparisonReport, Difference, difference

# A gradient far below the largest one is compared with this share of the largest: it may be zero up to rounding.
_RELATIVE_FLOOR = 1e-6


def compare(
    torch_module,
    tape_module,
    inputs,
    *,
    tape_inputs=None,
    torch_options=None,
    tape_options=None,
    rename=None,
    copy=True,
    rtol=1e-7,
    seed=1,
) -> ComparisonReport:
    """Runs a PyTorch module and a module of this library on the same inputs, and names the first operation or module
    where values or gradients diverge.

        report = tape.compare(torch_layer, tape_layer, torch.randn(2, 5, 16))
        print(report)

    Both run in f64 and in evaluation mode, and are restored afterwards, except the gradients of this library's
    module, which are cleared. Weights are matched by name and shape: names
    that both sides have, packed projections of torch.nn.MultiheadAttention, transposed weights of Conv1D, then similar
    names of equal shape, which the report lists. Gradients are those of the sum of the output times random numbers.

    Args:
        inputs: a tensor or a list of them, for both; of PyTorch or of this library.
        tape_inputs: other arguments for the module of this library, such as a Mask.
        torch_options, tape_options: keyword arguments of the two calls, as dictionaries.
        rename: a dictionary or a function from PyTorch's names to those of this library: of parameters or of modules,
            so that {"encoder.layer": "layers"} renames all below. A list of names is for a weight that holds several,
            one after another along axis 0; None is for one without counterpart.
        copy: copy PyTorch's weights into the other module, which keeps them. Otherwise weights are compared too.
        rtol: largest allowed difference, relative to the largest value of the tensor.
        seed: of the random numbers that the outputs are multiplied with.

    TypeError if torch_module is not a torch.nn.Module."""
    if not _torch.is_module(torch_module):
        raise TypeError(f"compare: torch_module must be a torch.nn.Module, got {type(torch_module).__name__}")
    if not isinstance(tape_module, _tapeformer.nn.Module):
        raise TypeError(f"compare: tape_module must be a module of this library, got {type(tape_module).__name__}")
    given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    other = (
        given if tape_inputs is None else list(tape_inputs) if isinstance(tape_inputs, (list, tuple)) else [tape_inputs]
    )
    with _evaluating(torch_module, tape_module):
        names = _weight_names.match(torch_module, tape_module, rename)
        weights = _weights(names, torch_module, tape_module, copy, rtol)
        left = _recordings.TorchRecording(torch_module, given, torch_options or {})
        right = _recordings.TapeRecording(tape_module, other, tape_options or {})
        return _Comparison(names, left, right, rtol, seed).report(weights, copy)


@contextlib.contextmanager
def _evaluating(torch_module, tape_module):
    """Evaluation mode on both sides, and f64 in this library's module. PyTorch's values are replaced for the call
    only."""
    modes = [(module, module.training) for module in torch_module.modules()]
    tape_modes = [(module, module.training) for _, module in tape_module.named_modules()]
    dtypes = _dtypes(tape_module)
    torch_module.eval()
    tape_module.eval()
    tape_module.to(_tapeformer.f64)
    try:
        yield
    finally:
        for module, dtype in dtypes:
            module.to(dtype)
        # From the root down, so that each ends in its own mode.
        for module, training in tape_modes:
            module.train(training)
        for module, training in modes:
            module.training = training


def _dtypes(tape_module):
    """The floating dtype of each module's own tensors, from the root down."""
    found = []
    for _, module in tape_module.named_modules():
        tensors = [*module.named_parameters(), *module.named_buffers()]
        own = [tensor.dtype for name, tensor in tensors if "." not in name and tensor.dtype.is_floating]
        found += [(module, own[0])] if own else []
    return found


def _weights(names, torch_module, tape_module, copy, rtol):
    """Compares the weights and, if they are to be copied, copies them."""
    tensors = dict([*tape_module.named_parameters(), *tape_module.named_buffers()])
    pairs, state = [], {}
    for name, parts in names.pairs.items():
        values = _weight_names.split(
            names.value(torch_module, name).detach().double(), parts, tensors, names.transposed(name)
        )
        for tape_name, value in zip(parts, values):
            pairs.append(
                difference(name, tape_name, value, _torch.to_torch(tensors[tape_name].detach()).double(), rtol)
            )
            state[tape_name] = _torch.from_torch(value)
    if copy:
        persistent = tape_module.state_dict()
        tape_module.load_state_dict({name: value for name, value in state.items() if name in persistent}, strict=False)
    return pairs


class _Comparison:
    def __init__(self, names, left, right, rtol, seed):
        self.names, self.left, self.right, self.rtol, self.seed = names, left, right, rtol, seed

    def report(self, weights, copied):
        events = self._paired_events()
        output = difference("output", "output", self.left.output, self.right.torch_output(), self.rtol)
        modules = [event.pair for event in events if event.kind == "output" and event.path]
        first_value = self._first(events)
        gradients, first_gradient = [], ""
        if not output.problem:
            gradients, first_gradient = self._gradients(events, bool(first_value))
        if not first_value and not output.ok:
            first_value = f"The outputs differ: {output}"
        return ComparisonReport(
            self.rtol,
            weights,
            copied,
            self.names.guessed,
            self.names.only_torch,
            self.names.only_tape,
            modules,
            [output],
            gradients,
            first_value,
            first_gradient,
        )

    def _paired_events(self):
        """Inputs and outputs of calls of modules that have a counterpart, in PyTorch's order."""
        others = {(event.path, event.call, event.kind): event for event in self.right.events}
        found = []
        for event in self.left.events:
            path = self.names.modules.get(event.path)
            other = others.get((path, event.call, event.kind)) if path is not None else None
            if other is None or event.tensor is None or other.tensor is None:
                continue
            names = [f"{place or 'the module'}" for place in (event.path, path)]
            found.append(_PairedEvent(event, other, difference(*names, event.tensor, other.torch_tensor(), self.rtol)))
        return found

    def _first(self, events):
        """The first pair of values that differ, and the operations on both sides since the last that agree."""
        bad = next((event for event in events if not event.pair.ok), None)
        if bad is None:
            return ""
        before = events[: events.index(bad)]
        left = self.left.operations[max([event.left.position for event in before], default=0) : bad.left.position]
        right_start = max(
            [event.right.position for event in before if event.right.position <= bad.right.position], default=0
        )
        right = self.right.operations[right_start : bad.right.position]
        left, right = self._without_equal(left, right)
        what = f"Values diverge in {self._described(bad)}"
        if bad.kind == "input":
            what = f"Values diverge before {self._described(bad)}: its input differs"
        return _sentence(f"{what}: {bad.pair}", left, right)

    def _without_equal(self, left, right):
        """Leaves out operations whose outputs appear on the other side."""
        pairs = [(a, b) for a in left for b in right if difference("", "", a.value(), b.value(), self.rtol).ok]
        a_left, b_left = (
            [a for a in left if all(a is not p for p, _ in pairs)],
            [b for b in right if all(b is not p for _, p in pairs)],
        )
        return a_left or left, b_left or right

    def _described(self, event):
        a, b = self.left.kind_of(event.left.path), self.right.kind_of(event.right.path)
        name = event.left.path or "the whole module"
        if event.right.path != event.left.path:
            name += f" / {event.right.path or 'the whole module'}"
        return f"{name} (torch {a}, tape {b})"

    def _gradients(self, events, values_diverge):
        inputs, parameters = self.left.leaves()
        outputs = [event for event in events if event.kind == "output"]
        torch = _torch.torch()
        head = torch.randn(
            self.left.output.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(self.seed)
        )
        left = self.left.gradients(
            head, [*inputs.values(), *parameters.values()], [event.left.tensor for event in outputs]
        )
        right_inputs, right_parameters = self.right.leaves()
        right = self.right.gradients(
            head, [*right_inputs.values(), *right_parameters.values()], [event.right.tensor for event in outputs]
        )
        found = []
        self.floor = _RELATIVE_FLOOR * max(
            (float(g.abs().max()) for g in left[0] if g is not None and g.numel()), default=0.0
        )
        names = [*inputs, *parameters]
        by_name = dict(zip([*right_inputs, *right_parameters], right[0]))
        for name, gradient in zip(names, left[0]):
            if name in inputs:
                if name in right_inputs:
                    found.append(difference(name, name, gradient, by_name[name], self.rtol, self.floor))
                continue
            parts = self.names.pairs.get(name, [])
            values = [gradient] * len(parts)
            if gradient is not None and parts:
                values = _weight_names.split(gradient, parts, right_parameters, self.names.transposed(name))
            found += [
                difference(name, part, value, by_name[part], self.rtol, self.floor)
                for part, value in zip(parts, values)
                if part in by_name
            ]
        if values_diverge or all(pair.ok for pair in found):
            return found, ""
        return found, self._first_gradient(outputs, left[1], right[1], found)

    def _first_gradient(self, outputs, left, right, found):
        """The last module, in the order of the forward pass, whose output's gradient differs: the backward begins
        there."""
        later = None
        for event, a, b in sorted(zip(outputs, left, right), key=lambda item: -item[0].left.position):
            pair = difference(
                *[place or "the module" for place in (event.left.path, event.right.path)], a, b, self.rtol, self.floor
            )
            if not pair.ok:
                after = self.right.operations[event.right.position : later.right.position if later else None]
                others = self.left.operations[event.left.position : later.left.position if later else None]
                return _sentence(
                    f"Gradients diverge after the output of {self._described(event)}: {pair}", others, after
                )
            later = event
        worst = next(pair for pair in found if not pair.ok)
        return f"Gradients of all module outputs agree; the first that differs is that of {worst}."


@dataclasses.dataclass
class _PairedEvent:
    left: object
    right: object
    pair: Difference

    @property
    def kind(self):
        return self.left.kind

    @property
    def path(self):
        return self.left.path


def _sentence(text, left, right):
    listed = [
        (side, ", ".join(str(operation) for operation in operations[:6]))
        for side, operations in (("torch", left), ("tape", right))
    ]
    return text + ". " + "; ".join(f"{side}: {names}" for side, names in listed if names) + "."
