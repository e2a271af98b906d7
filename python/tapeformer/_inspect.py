"""Pages and texts that show what a model and its tape did."""

import os
import pathlib
import tempfile

from . import _html, _tapeformer
from ._scopes import trace


class ExplorerPage:
    """The explorer as one self-contained HTML file; shown in a frame as the result of a notebook's cell."""

    def __init__(self, html, outputs, height):
        self.html = html
        self.outputs = outputs
        self.height = height

    def save(self, path):
        """Writes the page; returns the path."""
        path = pathlib.Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def _repr_html_(self):
        # A frame of its own: styles and scripts of page and notebook do not meet, nor can it reach the notebook. The page's
        # links are fragments, which would refer to the notebook without this base.
        page = self.html.replace("<head>", '<head><base href="about:srcdoc">', 1)
        return (
            f'<iframe srcdoc="{_html.escape(page)}" sandbox="allow-scripts allow-downloads allow-popups" '
            f'style="width:100%;height:{int(self.height)}px;border:0" title="Explorer"></iframe>'
        )

    def __repr__(self):
        values = ", ".join(f"{name}: {value:.6g}" for name, value in self.outputs)
        return f"ExplorerPage({values}, {len(self.html) / 1e6:.1f} MB)"


def inspect(
    model,
    text=None,
    text_b=None,
    out=None,
    *,
    loss=None,
    inputs=(),
    leaves=(),
    tokens=(),
    image=None,
    label=None,
    logits=(),
    losses=(),
    corrupted=None,
    beside=(),
    cuts=(),
    patches=(),
    film=False,
    title=None,
    gradcheck=False,
    nudges=False,
    detail=(),
    height=760,
) -> ExplorerPage:
    """Runs a model forward and backward on a text, and returns a page that shows every value and gradient.

        tape.inspect("runs/number-words", "dreiundvierzig")  # in a notebook: shows the page
        tape.inspect("gpt2", "The cat sat", out="page.html")
        tape.inspect(module, loss=lambda x, y: tape.cross_entropy(module(x), y), inputs=[x, y])

    The page shows attention by layer and head, the tape with all operations and their formulas, and the arithmetic of
    softmax and LayerNorm. It loads nothing. Gradients are those of the loss: the translation's for a translator, the
    text's for a language model, the label's for a classifier, and the squared norm of the mean hidden state for an
    encoder.

    Args:
        model: a folder, a model from tape.load(), or an nn.Module or None with `loss`.
        text: input of the model.
        text_b: target of a translation (default: the greedy translation), or second text of a pair.
        out: file to write.
        loss: a function that returns the scalar to differentiate, for a module of your own.
        inputs: arguments of `loss`. Floating tensors get the dtype of the module, which runs in f64 for gradcheck and
            nudges.
        leaves: names of tensors that are no parameters, as pairs (name, tensor).
        tokens: texts of the positions that a module of your own attends to, with a batch of one: the page shows its
            attention.
        image: for image models, instead of a text: a .npy file of pixels.
        label: for a classifier, the target of the loss; default: the most likely one.
        logits: "POSITION:TOKEN" each: further outputs whose gradients the page shows.
        losses: "POSITION" each: positions whose own loss is a further output.
        corrupted: a text of as many tokens, to compare with, and for activation patching.
        beside: folders of models to compare with.
        cuts: "MODULE:HEAD" each: runs without that head, to compare with.
        patches: "MODULE[:HEAD][@POSITION]" each: runs on `corrupted` with that activation of `text`.
        film: compare the checkpoints in the model's folder.
        title: of the page; default: the model and its texts.
        gradcheck: check every gradient against differences and show the report.
        nudges: change values slightly, ablate heads, and compare with what gradients predict.
        detail: paths of modules whose tensors are always stored in full; * matches any characters.
        height: of the frame in a notebook, in pixels.

    Error (config) if an option does not fit the model, and whatever loading the folder raises."""
    shown = dict(title=title, gradcheck=gradcheck, nudges=nudges, detail=list(detail))
    if loss is not None:
        if model is not None and not isinstance(model, _tapeformer.nn.Module):
            raise TypeError(f"inspect: with loss, model must be an nn.Module or None, got {type(model).__name__}")
        run = _with_inputs(model, loss, list(inputs) if isinstance(inputs, (list, tuple)) else [inputs])
        page = _tapeformer._explore_module(model, run, list(leaves), list(tokens), **shown)
    else:
        shown.update(
            text=text,
            text_b=text_b,
            image=None if image is None else os.fspath(image),
            label=label,
            logits=list(logits),
            losses=list(losses),
            corrupted=corrupted,
            beside=[os.fspath(folder) for folder in beside],
            cuts=list(cuts),
            patches=list(patches),
            film=film,
        )
        page = _explore(model, shown)
    result = ExplorerPage(page.html, page.outputs, height)
    if out is not None:
        result.save(out)
    return result


def _explore(model, options):
    if isinstance(model, (str, os.PathLike)):
        return _tapeformer._explore_folder(os.fspath(model), **options)
    if not hasattr(model, "_model"):
        raise TypeError(
            f"inspect: model must be a folder or a model from tape.load(), got {type(model).__name__}; for a module "
            "of your own, pass loss="
        )
    # The values that it has now, which may differ from those in its folder.
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        return _tapeformer._explore_folder(folder, **options)


def _with_inputs(module, loss, inputs):
    """loss(*inputs), in the dtype that the module has when it runs."""

    def run():
        parameters = [] if module is None else module.parameters()
        dtype = next((tensor.dtype for tensor in parameters if tensor.dtype.is_floating), None)
        floating = [isinstance(value, _tapeformer.Tensor) and value.dtype.is_floating and dtype for value in inputs]
        return loss(*(value.to(dtype) if convert else value for value, convert in zip(inputs, floating)))

    return run


def _names(names):
    """Pairs (name, tensor) of a module, a dictionary or such pairs."""
    if isinstance(names, _tapeformer.nn.Module):
        return names.named_parameters()
    return list(names.items()) if isinstance(names, dict) else list(names)


class Text(str):
    """A text of several lines that prints as it is, also as the result of a notebook's cell."""

    __repr__ = str.__str__


def explain(tensor, loss=None, *, names=(), source=True) -> str:
    """Describes a tensor in words: dtype, shape and range of its values, the operation that made it with module path
    and source line (with tape.trace()), the inputs of that operation, the nodes of the tape that saved it, its
    gradient, the number of paths from the loss to it, and the shortest of these step by step.

    `loss` is where to follow the gradient from. `names` are names of leaves: a module, or pairs (name, tensor). Error
    (graph) if the loss is not on a tape."""
    return Text(_tapeformer._explain(tensor, loss, _names(names), source))


def to_dot(loss, *, names=(), values=True, gradients=True) -> str:
    """The tape of a loss as a Graphviz graph, for `dot -Tsvg`: a box per operation with shapes and ranges of values and
    gradients, an ellipse per leaf, and a frame per module (with tape.trace()).

    `names` are names of leaves: a module, or pairs (name, tensor). Error (graph) if the loss is not on a tape."""
    return Text(_tapeformer._to_dot(loss, _names(names), values, gradients))


def saved_tensors(loss) -> _tapeformer.SavedTensorsReport:
    """The values that a loss's tape saves for its backward pass, by module (with tape.trace()) and operation, and what
    checkpoints would free; call it before backward(). Error (graph) if the loss is not on a tape."""
    return _tapeformer._saved_tensors(loss)


class Formulas(list):
    """One dictionary per operation, in the order recorded. Prints as text, and as a table in a notebook."""

    def __repr__(self):
        return "\n".join(
            f"{_place(step)}: {step['forward']}" + "".join(f"\n    {line}" for line in _lines(step)) for step in self
        )

    def _repr_html_(self):
        rows = [("", [_place(step), step["forward"], "\n".join(_lines(step))]) for step in self]
        return _html.report(True, f"{len(self)} operations", _html.table(["operation", "forward", "backward"], rows))


def _place(step):
    return step["operation"] + (f" ({step['module_path']})" if step["module_path"] else "")


def _lines(step):
    return [line for line in step["backward"] if line]


def formula(f, *inputs) -> Formulas:
    """Runs f(*inputs) and returns the formula of each operation that it records, with its shapes: how the value is
    computed, and the gradient of each input from that of the output.

    >>> tape.formula(tape.softmax, tape.randn([2, 3]).requires_grad_(), -1)

    Only what requires gradients is recorded."""
    steps = Formulas()
    with trace():
        _tapeformer._record_formulas(
            lambda: f(*inputs), lambda step: steps.append({k: v for k, v in step.items() if k != "outputs"})
        )
    return steps
