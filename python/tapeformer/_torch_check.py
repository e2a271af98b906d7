"""Gradient checks of PyTorch's functions and modules: which torch.autograd.Function or submodule is wrong."""

import contextlib
import os
import sys

from . import _tapeformer, _torch

SEARCH_DIRECTIONS = 4
SEARCH_ELEMENTS = 128


class _Call:
    """A call of a torch.autograd.Function, or of a submodule, with what it received."""

    def __init__(self, name, path, source, function, arguments, keywords, checked):
        self.name, self.path, self.source = name, path, source
        self.function = function
        self.arguments, self.keywords = arguments, keywords
        self.checked = checked  # positions of the arguments whose gradients matter


def check(operation, f, inputs, second, options):
    """The report of gradcheck() for PyTorch."""
    torch = _torch.torch()
    if options["shadow"] is not None:
        raise ValueError(f"{operation}: shadow is for f32 inputs; functions of PyTorch run in f64")
    f = f if _torch.is_module(f) or _torch.function_class(f) is None else _torch.function_class(f).apply
    inputs = [_as_torch(value) for value in inputs]
    for i, value in enumerate(inputs):
        if _torch.is_tensor(value) and value.is_complex():
            raise TypeError(f"{operation}: input {i} is {value.dtype}; complex gradients are not supported")
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())), _one_thread():
        subject = _Subject(operation, f, inputs, {}, options["names"], options["seed"])
        blame, options["blame"] = options["blame"], False
        report = subject.check(second, options)
        if not report.ok and blame:
            _find_guilty(report, subject, second, options["seed"])
    return report


@contextlib.contextmanager
def _one_thread():
    """A check runs a small function thousands of times, for which waking threads costs more than it saves. Sums keep
    their order too."""
    torch = _torch.torch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _as_torch(value):
    return _torch.to_torch(value) if isinstance(value, _tapeformer.Tensor) else value


def _is_floating(value):
    return _torch.is_tensor(value) and value.is_floating_point()


class _Subject:
    """A function or module of PyTorch with its inputs, as one operation on f64 tensors of this library."""

    def __init__(self, operation, f, inputs, keywords, names, seed, checked=None):
        torch = _torch.torch()
        self.operation, self.f, self.inputs, self.keywords, self.seed = operation, f, inputs, keywords, seed
        self.checked = [i for i, value in enumerate(inputs) if _is_floating(value)] if checked is None else checked
        given = names or [f"input {i}" if len(inputs) > 1 else "input" for i in range(len(inputs))]
        self.names = [given[i] for i in self.checked]
        self.module = f if _torch.is_module(f) else None
        self.parameters = {}
        if self.module is not None:
            self.parameters = {name: value for name, value in f.named_parameters() if value.requires_grad}
        self.names += self.parameters
        self.values = [inputs[i] for i in self.checked] + list(self.parameters.values())
        self.device = self.values[0].device if self.values else torch.device("cpu")

    def run(self, *values):
        """The floating outputs for f64 values of the checked inputs and parameters."""
        torch = _torch.torch()
        torch.manual_seed(self.seed)
        # What is not checked has its own values, in f64 as well; the function may write to it.
        inputs = [_double_copy(value) for value in self.inputs]
        keywords = {key: _double_copy(value) for key, value in self.keywords.items()}
        for i, value in zip(self.checked, values):
            inputs[i] = value
        if self.module is None:
            result = self.f(*inputs, **keywords)
        else:
            state = {name: _double_copy(value) for name, value in self._fixed()}
            state.update(zip(self.parameters, values[len(self.checked) :]))
            result = torch.func.functional_call(self.module, state, tuple(inputs), keywords)
        return _floating_outputs(self.operation, result)

    def _fixed(self):
        yield from ((name, value) for name, value in self.module.named_parameters() if name not in self.parameters)
        yield from self.module.named_buffers()

    def function(self, tensors):
        outputs = _torch.call(self.name, self.run, tensors, self.device)
        if len(outputs) == 1:
            return outputs[0]
        return _tapeformer.cat([output.reshape(-1) for output in outputs], 0)

    @property
    def name(self):
        if self.module is not None:
            return type(self.module).__name__
        function = _torch.function_class(self.f)
        return function.__name__ if function else getattr(self.f, "__name__", type(self.f).__name__)

    def check(self, second, options):
        options = dict(options, names=self.names)
        values = [_torch.from_torch(value.detach().double()) for value in self.values]
        return _tapeformer._gradcheck(self.function, values, None, second, **options)


def _double_copy(value):
    if not _torch.is_tensor(value):
        return value
    return (
        value.detach().double()
        if value.is_floating_point() and value.dtype != _torch.torch().float64
        else value.detach().clone()
    )


def _floating_outputs(operation, result):
    if _torch.is_tensor(result):
        result = (result,)
    elif isinstance(result, dict):  # ModelOutput of transformers too
        result = tuple(result.values())
    outputs = [part for part in result if _is_floating(part)] if isinstance(result, (tuple, list)) else []
    if not outputs:
        raise TypeError(f"{operation}: f must return a tensor or a tuple of tensors, got {type(result).__name__}")
    return outputs


# --- what is wrong ---


def _find_guilty(report, subject, second, seed):
    """Checks each torch.autograd.Function alone, on what it received, and if all are right each submodule."""
    functions, modules = _record(subject)
    for place, call in enumerate(functions):
        for result in _wrong_in(call, second, seed):
            report._add_guilty(call.name, call.path, call.source, place, second, result)
    if report.guilty:
        return
    for place, call in enumerate(modules):  # in the order in which they ended: the innermost first
        found = _wrong_in(call, second, seed)
        for result in found:
            report._add_guilty(call.name, call.path, call.source, place, second, result)
        if found:
            return
    if functions:
        report._set_blame(
            "Each torch.autograd.Function has the right gradient on its own, for the inputs that it received."
        )
    elif modules:
        report._set_blame(
            f"The gradients of each submodule are right on its own, for the inputs that it received: the error is in "
            f"forward() of {subject.name} itself. Look for detach(), .data, no_grad() and hooks between the submodules."
        )


def _wrong_in(call, second, seed):
    """The wrong results of a check of this call alone."""
    subject = _Subject(
        "gradcheck",
        call.function,
        call.arguments,
        call.keywords,
        [f"input {i}" for i in range(len(call.arguments))],
        seed,
        call.checked,
    )
    options = dict(
        eps=1e-6,
        rtol=1e-6,
        atol=1e-8,
        seed=seed,
        max_elements=0,
        allow_zero=[],
        directions=SEARCH_DIRECTIONS,
        shadow=None,
        f32_rtol=1e-3,
        progress=None,
        max_seconds=0.0,
        blame=False,
    )
    if not subject.values:
        return []
    try:
        suspected = [result for result in subject.check(second, options).variables if result.wrong > 0]
        if not suspected:
            return []
        closer = subject.check(second, dict(options, directions=0, max_elements=SEARCH_ELEMENTS))
    except (RuntimeError, TypeError):
        return []  # it does not run alone, as one that returns no tensor
    return [result for result in closer.variables if result.wrong > 0] or suspected


def _record(subject):
    """Runs the subject and returns the calls of Functions, in order, and of submodules, as they ended."""
    torch = _torch.torch()
    functions, modules, stack = [], [], []
    values = [value.detach().double().requires_grad_() for value in subject.values]
    with torch.enable_grad(), contextlib.ExitStack() as cleanup:
        for path, module in subject.module.named_modules() if subject.module is not None else ():
            if path:
                _watch_module(cleanup, path, module, stack, modules)
        outputs = subject.run(*(value.clone() for value in values))
        modules_seen = list(modules)
        for function in _functions_behind(outputs):
            _watch_function(cleanup, function, stack, functions)
        subject.run(*(value.clone() for value in values))
    return functions, modules_seen


def _watch_module(cleanup, path, module, stack, calls):
    received = []

    def before(module, arguments, keywords):
        stack.append(path)
        received.append((_copies(arguments), {key: _copy(value) for key, value in keywords.items()}))

    def after(module, arguments, keywords, output):
        stack.pop()
        arguments, keywords = received.pop()
        checked = [i for i, value in enumerate(arguments) if _is_floating(value)]
        calls.append(_Call(type(module).__name__, path, "", module, arguments, keywords, checked))

    cleanup.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
    cleanup.callback(module.register_forward_hook(after, with_kwargs=True).remove)


def _functions_behind(outputs):
    """Classes of the program's torch.autograd.Functions in the graph."""
    found, seen, pending = [], set(), [output.grad_fn for output in outputs]
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        function = getattr(node, "_forward_cls", None)
        if function is not None and function not in found and not function.__module__.startswith("torch."):
            found.append(function)
        pending += [below for below, _ in node.next_functions]
    return found


def _watch_function(cleanup, function, stack, calls):
    """Notes the arguments of each call. Its forward() is replaced meanwhile, since apply() may be held anywhere."""
    torch = _torch.torch()
    own = function.__dict__.get("forward")
    forward = function.forward
    with_context = function.setup_context is torch.autograd.function._SingleLevelFunction.setup_context

    def noting(*arguments, **keywords):
        given = arguments[1:] if with_context else arguments
        checked = [i for i, value in enumerate(given) if _is_floating(value) and value.requires_grad]
        calls.append(
            _Call(
                function.__name__,
                stack[-1] if stack else "",
                _caller(function),
                function.apply,
                _copies(given),
                {},
                checked,
            )
        )
        return forward(*arguments, **keywords)

    function.forward = staticmethod(noting)
    cleanup.callback(lambda: delattr(function, "forward") if own is None else setattr(function, "forward", own))


def _copy(value):
    return value.detach().clone() if _torch.is_tensor(value) else value


def _copies(values):
    return [_copy(value) for value in values]


def _caller(function):
    """file:line of the code outside of PyTorch and this package that called apply()."""
    torch_folder = os.path.dirname(_torch.torch().__file__) + os.sep
    package = os.path.dirname(__file__) + os.sep
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((torch_folder, package)):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
