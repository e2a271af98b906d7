"""Runs of modules of PyTorch and of this library, with the values of all submodules and operations."""

import contextlib
import dataclasses

from . import _tapeformer, _torch
from ._gradcheck import single_output


@dataclasses.dataclass
class Event:
    """A call of a module began ("input") or ended ("output")."""

    path: str
    call: int  # how often this module was called before
    kind: str
    tensor: object  # its first floating input or output; None if it has none
    position: int  # number of operations before

    def torch_tensor(self):
        return _torch.to_torch(self.tensor.detach())


@dataclasses.dataclass
class Operation:
    name: str
    options: str
    output: object

    def value(self):
        return self.output if _torch.is_tensor(self.output) else _torch.to_torch(self.output.detach())

    def __str__(self):
        return f"{self.name}({self.options})" if self.options else self.name


class _Recording:
    def __init__(self):
        self.events, self.operations = [], []
        self._calls, self._open = {}, []

    def begin(self, path, values):
        call = self._calls.get(path, 0)
        self._calls[path] = call + 1
        self._open.append((path, call))
        self.events.append(Event(path, call, "input", self.first(values), len(self.operations)))

    def end(self, output):
        path, call = self._open.pop()
        self.events.append(Event(path, call, "output", self.first([output]), len(self.operations)))

    def kind_of(self, path):
        """The class of a module with its settings, as it prints."""
        module = self.paths[path]
        settings = module.extra_repr() if _torch.is_module(module) else module.settings()
        return f"{type(module).__name__}({settings})" if settings else type(module).__name__


class TorchRecording(_Recording):
    """In f64, without touching the module's own values."""

    def __init__(self, module, inputs, options):
        super().__init__()
        torch = _torch.torch()
        self.paths = dict(module.named_modules())
        self.inputs = [self._leaf(value) for value in inputs]
        options = {key: self._leaf(value) for key, value in options.items()}
        self.parameters = {name: value.detach().double().requires_grad_() for name, value in module.named_parameters()}
        buffers = {
            name: value.double() if value.is_floating_point() else value.clone()
            for name, value in module.named_buffers()
        }
        with torch.enable_grad(), contextlib.ExitStack() as cleanup:
            for path, part in self.paths.items():
                before = part.register_forward_pre_hook(self._before(path), with_kwargs=True)
                after = part.register_forward_hook(lambda module, arguments, output: self.end(output))
                cleanup.callback(before.remove)
                cleanup.callback(after.remove)
            cleanup.enter_context(_operation_watch(self))
            result = torch.func.functional_call(module, {**self.parameters, **buffers}, tuple(self.inputs), options)
        self.output = self.first([result])
        if self.output is None:
            raise TypeError(f"compare: the PyTorch module returned no floating tensor, got {type(result).__name__}")

    def _leaf(self, value):
        if isinstance(value, _tapeformer.Tensor):
            value = _torch.to_torch(value)
        if not _torch.is_tensor(value):
            return value
        return value.detach().double().requires_grad_() if value.is_floating_point() else value

    def _before(self, path):
        return lambda module, arguments, keywords: self.begin(path, [*arguments, *keywords.values()])

    def first(self, values):
        """The first floating tensor, also in tuples and dictionaries."""
        for value in values:
            if _torch.is_tensor(value) and value.is_floating_point():
                return value
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
            found = self.first(inner)
            if found is not None:
                return found
        return None

    def leaves(self):
        """Inputs and parameters by name."""
        inputs = {
            f"input {i}": value
            for i, value in enumerate(self.inputs)
            if _torch.is_tensor(value) and value.requires_grad
        }
        return inputs, self.parameters

    def gradients(self, head, leaves, outputs):
        """Those of sum(output * head), with None where there is none."""
        return _split_unused(leaves, outputs, lambda wanted: _torch.torch().autograd.grad(
            self.output, wanted, head.to(self.output.device), allow_unused=True, retain_graph=True))  # fmt: skip


class TapeRecording(_Recording):
    def __init__(self, module, inputs, options):
        super().__init__()
        self.paths = dict(module.named_modules())
        self.inputs = [self._leaf(value) for value in inputs]
        options = {key: self._leaf(value) for key, value in options.items()}
        self.parameters = dict(module.named_parameters())
        hooks = []
        try:
            for path, part in self.paths.items():
                hooks.append((part, part.register_forward_pre_hook(self._before(path))))
                hooks.append((part, part.register_forward_hook(lambda module, inputs, output: self.end(output))))
            result = _tapeformer._record_formulas(lambda: module(*self.inputs, **options), self._record)
        finally:
            for part, hook in hooks:
                part.remove_hook(hook)
        self.output = single_output("compare", result)

    def _leaf(self, value):
        if _torch.is_tensor(value):
            value = _torch.from_torch(value)
        if not isinstance(value, _tapeformer.Tensor):
            return value
        value = value.detach().clone()
        return value.double().requires_grad_() if value.dtype.is_floating else value

    def _before(self, path):
        return lambda module, inputs: self.begin(path, inputs)

    def _record(self, step):
        floating = [output for output in step["outputs"] if output.dtype.is_floating]
        if floating:
            self.operations.append(Operation(step["operation"], step["attributes"], floating[0]))

    def first(self, values):
        return next(
            (value for value in values if isinstance(value, _tapeformer.Tensor) and value.dtype.is_floating), None
        )

    def torch_output(self):
        return _torch.to_torch(self.output.detach())

    def leaves(self):
        inputs = {
            f"input {i}": value
            for i, value in enumerate(self.inputs)
            if isinstance(value, _tapeformer.Tensor) and value.requires_grad
        }
        return inputs, self.parameters

    def gradients(self, head, leaves, outputs):
        """As PyTorch's tensors."""
        seed = _torch.from_torch(head.reshape(self.output.shape))

        def grad(wanted):
            found = _tapeformer.grad([self.output], wanted, [seed], allow_unused=True, retain_graph=True)
            return [None if gradient is None else _torch.to_torch(gradient.detach()) for gradient in found]

        return _split_unused(leaves, outputs, grad)


def _split_unused(leaves, outputs, grad):
    """Gradients of the leaves and of the outputs that have any."""
    wanted = [tensor for tensor in [*leaves, *outputs] if tensor.requires_grad]
    found = iter(grad(wanted) if wanted else [])
    all_of_them = [next(found) if tensor.requires_grad else None for tensor in [*leaves, *outputs]]
    return all_of_them[: len(leaves)], all_of_them[len(leaves) :]


def _operation_watch(recording):
    """A mode of PyTorch that notes each function with its settings and its output."""
    from torch.overrides import TorchFunctionMode

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), keywords=None):
            keywords = keywords or {}
            result = function(*arguments, **keywords)
            output = recording.first([result])
            name = getattr(function, "__name__", "")
            if output is not None and not name.startswith("__get"):
                settings = [
                    *map(str, _settings(arguments)),
                    *(f"{key}={value!r}" for key, value in keywords.items() if not _has_tensor(value)),
                ]
                recording.operations.append(Operation(name, ", ".join(settings), output))
            return result

    return Watch()


def _settings(arguments):
    return [value for value in arguments if not _has_tensor(value) and not isinstance(value, type)]


def _has_tensor(value):
    """Whether it is a tensor, None, or contains one."""
    if value is None or _torch.is_tensor(value):
        return True
    return isinstance(value, (tuple, list)) and any(_has_tensor(part) for part in value)
