"""Gradient checks of functions and modules, of this library and of PyTorch."""

from inspect import signature

from . import _html, _tapeformer, _torch
from ._tapeformer import GradcheckReport, Tensor

_OPTIONS = """

    Inputs are a tensor or a list of them, passed as f(*inputs). Integer and bool tensors, and values that are no
    tensors, are passed on unchecked. A result of several tensors is checked as a whole.

    Options:
        eps: step of the central differences, times max(1, abs(x)); reduced where it is too large.
        rtol: relative tolerance.
        atol: absolute tolerance, in units of the variable's largest gradient.
        seed: of the random head, and of the sample if not all elements are checked.
        max_elements: elements checked per variable, a random sample; 0 checks all.
        allow_zero: names of variables whose gradient may be all zero.
        names: of the inputs; "input" or "input 0", "input 1", ... by default.
        directions: variables with more elements than this are checked along this many random directions instead of
            element by element, for large layers. The report states the probability of missing an error. 0: elements.
        shadow: for f32 inputs, the same function in f64, if f itself does not run in f64.
        f32_rtol: relative tolerance for gradients of f32 inputs.
        progress: called as progress(done, all, name) before each variable.
        max_seconds: time limit for the comparison, divided evenly among the variables; 0 for no limit.
        blame: if the check fails, search for the operations whose gradients are wrong.
"""


def gradcheck(
    f,
    inputs,
    *,
    eps=1e-6,
    rtol=1e-6,
    atol=1e-8,
    seed=1,
    max_elements=0,
    allow_zero=(),
    names=(),
    directions=0,
    shadow=None,
    f32_rtol=1e-3,
    progress=None,
    max_seconds=0.0,
    blame=True,
) -> GradcheckReport:
    """Compares the gradients of f with central differences in f64, and finds the operation that is wrong.

    `f` is a function of tensors, an nn.Module (whose named parameters are checked too), or the same of PyTorch: a
    torch.nn.Module, the apply() of a torch.autograd.Function or a function of torch tensors. The compared scalar is
    sum(f(*inputs) * w) with a random normal w, so that symmetric sums cannot hide errors. A gradient that is all zero
    is wrong unless allow_zero lists it. Random streams are reset before each evaluation.

        report = tape.gradcheck(layer, [tape.randn(2, 3, dtype=tape.f64)])
        assert report, report

    Inputs are f64, or all f32: then f runs in f32 and is compared with differences of f in f64. A module runs in f64
    for the check. PyTorch's functions and modules always run in f64; the values of a module are left as they are.

    Where the slopes on the two sides of a point differ (ReLU at 0), there is no derivative to compare with: a value
    between the two counts as a kink. No element is called wrong because of one step size.

    Error (numeric) if f returns different values for the same inputs, (dtype) for inputs of different types, (graph) if
    two inputs overlap in memory or one was computed from the other."""
    options = dict(locals())
    return _check("gradcheck", options.pop("f"), options.pop("inputs"), False, options)


def gradgradcheck(f, inputs, **options) -> GradcheckReport:
    """Checks second derivatives: gradcheck() of the gradients of sum(f(*inputs) * v) with respect to the inputs and v,
    which is named "head". Second derivatives may be zero, as those of a linear function are.

    If the check fails, the report lists the operations whose first derivatives are wrong or, if there are none, those
    whose gradients cannot be differentiated, because of a detach() or a value passed as a constant."""
    given = gradgradcheck.__signature__.bind(f, inputs, **options)  # a TypeError for others
    return _check("gradgradcheck", f, inputs, True, {**gradcheck.__kwdefaults__, **given.kwargs})


gradgradcheck.__signature__ = signature(gradcheck)
gradcheck.__doc__ += _OPTIONS
gradgradcheck.__doc__ += _OPTIONS


def _check(operation, f, inputs, second, options):
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    options.update(allow_zero=list(options["allow_zero"]), names=list(options["names"]))
    if options["names"] and len(options["names"]) != len(inputs):
        raise ValueError(f"{operation}: got {len(options['names'])} names for {len(inputs)} inputs")
    if _torch.is_function(f) or any(_torch.is_tensor(value) for value in inputs):
        from . import _torch_check

        return _torch_check.check(operation, f, inputs, second, options)
    if not callable(f):
        raise TypeError(f"{operation}: f must be a function or a module, got {type(f).__name__}")
    # Values that are not tensors keep their places among the arguments.
    tensors = [i for i, value in enumerate(inputs) if isinstance(value, Tensor)]
    given = options["names"] or [f"input {i}" if len(inputs) > 1 else "input" for i in range(len(inputs))]
    options["names"] = [given[i] for i in tensors]

    def with_values(function):
        def run(values):
            arguments = list(inputs)
            for i, value in zip(tensors, values):
                arguments[i] = value
            # A module's shadow receives the parameters after the inputs.
            return single_output(operation, function(*arguments, *values[len(tensors) :]))

        return run

    if options["shadow"] is not None:
        options["shadow"] = with_values(options["shadow"])
    module = f if isinstance(f, _tapeformer.nn.Module) else None
    return _tapeformer._gradcheck(with_values(f), [inputs[i] for i in tensors], module, second, **options)


def single_output(operation, result):
    """The output as one tensor: several are flattened and joined."""
    if isinstance(result, Tensor):
        return result
    if isinstance(result, _tapeformer.AttentionResult):
        return result.output
    parts = [part for part in result if isinstance(part, Tensor)] if isinstance(result, (tuple, list)) else []
    parts = [part.reshape(-1) for part in parts if part.dtype.is_floating]
    if not parts:
        raise TypeError(f"{operation}: f must return a tensor or a tuple of tensors, got {type(result).__name__}")
    return parts[0] if len(parts) == 1 else _tapeformer.cat(parts, 0)


def _verdict(result):
    if result.wrong > 0:
        return "wrong", "wrong"
    if result.all_zero:
        return "wrong", "all zero"
    if result.undecided > 0:
        return "unsure", f"{result.undecided} undecided"
    return "", "right" + (f", {result.kinks} at a kink" if result.kinks else "")


def _html_of(report):
    """The report as a table for notebooks."""
    lines = str(report).split("\n")
    rows = []
    for result in report.variables:
        mark, verdict = _verdict(result)
        total = (
            result.checked if result.directions or result.share == 1 else f"{result.checked} of {_numel(result.shape)}"
        )
        shape = str(list(result.shape)).replace(" ", "\N{NO-BREAK SPACE}")
        cells = [result.name, shape, f"{result.max_error:.1e}", f"{result.wrong} of {total}", verdict]
        rows.append((mark, cells))
    header = ["gradient of", "shape", "max rel error", "wrong", "verdict"]
    parts = [_html.folded_table(header, rows, numbers=(2, 3), what="gradients are right")]
    parts += [
        _html.paragraph(f"{result.name}: {result.explanation}") for result in report.variables if result.explanation
    ]
    findings = [*report.guilty, *report.unrecorded, *(f"not registered: {tensor}" for tensor in report.unregistered)]
    parts += [_html.paragraph(finding) for finding in findings]
    if report.blame:
        parts.append(_html.paragraph(report.blame))
    if report.out_of_time:
        parts.append(_html.paragraph(lines[1]))
    return _html.report(report.ok, lines[0], *parts)


def _numel(shape):
    count = 1
    for size in shape:
        count *= size
    return count


GradcheckReport._repr_html_ = _html_of
