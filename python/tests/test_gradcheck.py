"""gradcheck() and gradgradcheck() of functions and modules, of this library and of PyTorch."""

import json

import pytest

import tapeformer as tape

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="needs PyTorch")


def values(*shape):
    tape.manual_seed(3)
    return tape.randn(list(shape), dtype=tape.f64)


class Doubled(tape.Function):
    """x², with a gradient of twice the right size."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * 4


def test_options_are_those_of_both_checks():
    x = [tape.tensor([0.5], dtype=tape.f64)]
    assert tape.gradgradcheck(lambda x: x**3, x, rtol=1e-4, names=["y"]).variables[0].name == "y"
    for check in (tape.gradcheck, tape.gradgradcheck):
        with pytest.raises(TypeError, match="unexpected keyword argument 'tolerance'"):
            check(lambda x: x, x, tolerance=1)


def test_a_right_gradient_passes():
    report = tape.gradcheck(lambda x, y: (x * y).sin(), [values(2, 3), values(2, 3)])
    assert report and report.ok
    assert [result.name for result in report.variables] == ["input 0", "input 1"]
    assert [result.checked for result in report.variables] == [6, 6]
    assert str(report).startswith("gradcheck: all 2 gradients are right")


def test_a_wrong_factor_is_explained_and_its_operation_named():
    report = tape.gradcheck(Doubled.apply, values(3))
    assert not report
    (result,) = report.variables
    assert result.name == "input" and result.wrong == 3
    assert result.explanation == "Every element is 2 times the numeric value: a constant factor is wrong."
    (guilty,) = report.guilty
    assert guilty.operation == "Doubled" and guilty.derivative == 1
    assert guilty.source.startswith(__file__ + ":")
    assert "guilty: Doubled, called at test_gradcheck.py:" in str(report)


def test_the_operation_in_a_longer_function_is_named():
    report = tape.gradcheck(lambda x: Doubled.apply(x.tanh()).exp(), values(2, 2))
    assert [guilty.operation for guilty in report.guilty] == ["Doubled"]


def test_a_detached_value_is_listed():
    report = tape.gradcheck(lambda x: x * x / x.detach(), values(4))
    assert not report and not report.guilty
    (read,) = report.unrecorded
    assert "detach() of input" in str(read)


class Scaled(tape.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = tape.nn.Linear(3, 2)
        self.scale = tape.nn.Parameter(tape.ones([2]))

    def forward(self, x):
        return self.linear(x) * self.scale


def test_parameters_of_a_module_are_checked():
    layer = Scaled()
    report = tape.gradcheck(layer, [values(4, 3)])
    assert report, report
    assert [result.name for result in report.variables] == ["input", "linear.weight", "linear.bias", "scale"]
    assert layer.scale.dtype == tape.f32  # as before


def test_a_layer_written_in_cpp_is_checked():
    report = tape.gradcheck(tape.nn.LayerNorm(4), [values(3, 4)])
    assert report, report


def test_a_module_with_integer_inputs():
    report = tape.gradcheck(tape.nn.Embedding(5, 3), [tape.tensor([[0, 2], [4, 2]])])
    assert report, report
    assert [result.name for result in report.variables] == ["weight"]


def test_the_guilty_call_in_a_module_has_its_path_and_line():
    class Inner(tape.nn.Module):
        def forward(self, x):
            return Doubled.apply(x)  # the line

    class Outer(tape.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x.tanh())

    (guilty,) = tape.gradcheck(Outer(), [values(3)]).guilty
    assert guilty.module_path == "inner"
    with open(__file__) as file:
        line = next(i for i, text in enumerate(file, 1) if "# the line" in text)
    assert guilty.source == f"{__file__}:{line}"


def test_constants_and_several_outputs():
    report = tape.gradcheck(lambda x, power, y: (x**power, y * x), [values(3), 3, values(3)], names=["x", "power", "y"])
    assert report, report
    assert [result.name for result in report.variables] == ["x", "y"]


def test_f32_inputs_are_compared_with_f64():
    report = tape.gradcheck(lambda x: x.tanh(), tape.randn([4]))
    assert report and report.variables[0].max_error > 1e-12
    layer = Scaled()
    assert tape.gradcheck(layer, tape.randn([4, 3])) and layer.scale.dtype == tape.f32


def test_second_derivatives():
    assert tape.gradgradcheck(lambda x: x**3, values(3))

    class Cut(tape.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * (x * x).detach()

    assert tape.gradcheck(Cut.apply, values(3))
    report = tape.gradgradcheck(Cut.apply, values(3))
    assert not report
    assert [(guilty.operation, guilty.derivative) for guilty in report.guilty] == [("Cut", 2)] or report.unrecorded


def test_options():
    seen = []
    report = tape.gradcheck(lambda x: x.exp(), values(50), max_elements=5, progress=lambda *event: seen.append(event))
    assert report.variables[0].checked == 5 and report.share == pytest.approx(0.1)
    assert seen == [(0, 1, "input")]
    report = tape.gradcheck(lambda x: x.exp(), values(50), directions=3)
    assert report.variables[0].directions == 3
    assert not tape.gradcheck(lambda x: x * 0, values(2))
    assert tape.gradcheck(lambda x: x * 0, values(2), allow_zero=["input"])
    assert not tape.gradcheck(Doubled.apply, values(2), blame=False).guilty


def test_what_cannot_be_checked_is_an_error():
    with pytest.raises(TypeError, match="f must be a function or a module, got int"):
        tape.gradcheck(3, values(2))
    with pytest.raises(TypeError, match="f must return a tensor or a tuple of tensors, got NoneType"):
        tape.gradcheck(lambda x: None, values(2))
    with pytest.raises(ValueError, match="got 2 names for 1 inputs"):
        tape.gradcheck(lambda x: x, values(2), names=["a", "b"])
    with pytest.raises(tape.Error, match="eps and rtol must be positive"):
        tape.gradcheck(lambda x: x, values(2), eps=0)
    with pytest.raises(ZeroDivisionError):
        tape.gradcheck(lambda x: x * (1 // 0), values(2))


def test_reports_for_notebooks_and_programs():
    report = tape.gradcheck(Doubled.apply, values(3), names=["<x>"])
    page = report._repr_html_()
    assert '<tr class="wrong">' in page and "&lt;x&gt;" in page and "<x>" not in page
    assert "http" not in page
    data = json.loads(report.to_json())
    assert data["ok"] is False and data["variables"][0]["wrong"] == 3
    assert '<tr class="wrong">' not in tape.gradcheck(lambda x: x.exp(), values(3))._repr_html_()


def test_long_reports_fold_the_right_gradients():
    def f(*inputs):
        return Doubled.apply(inputs[0]) + sum(x.exp() for x in inputs[1:])

    page = tape.gradcheck(f, [values(2) for _ in range(14)])._repr_html_()
    above, below = page.split("<details>")
    assert above.count("<tr class=") == 1 and "input 0" in above
    assert "<summary>13 more gradients are right</summary>" in below and below.count("<tr class=") == 13


# --- PyTorch ---

if torch is not None:

    class TorchDoubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * 4

    class TorchProduct(torch.autograd.Function):
        """a @ b with a transposed gradient of b."""

        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad @ b.T, grad.T @ a

    class TorchSetUp(torch.autograd.Function):
        """The style with setup_context(); the sign is wrong."""

        @staticmethod
        def forward(x, scale):
            return x.sin() * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.scale = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return -grad * x.cos() * ctx.scale, None

    held_apply = TorchDoubled.apply

    class TorchInner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return held_apply(x * self.weight)  # the torch line

    class TorchOuter(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.first = torch.nn.Linear(3, 3)
            self.inner = inner
            self.norm = torch.nn.LayerNorm(3)

        def forward(self, x):
            return self.norm(self.inner(self.first(x)))


@needs_torch
def test_torch_functions_pass():
    x, y = torch.randn(2, 3), torch.randn(3, 2)
    report = tape.gradcheck(lambda a, b: (a @ b).tanh(), [x, y])
    assert report, report
    assert report.variables[0].max_error < 1e-6
    assert tape.gradcheck(torch.nn.functional.gelu, x)
    assert tape.gradcheck(torch.tanh, tape.randn([3]))  # values of this library
    assert tape.gradcheck(lambda a: torch.nn.functional.relu_(a), x)  # in place
    assert tape.gradcheck(lambda a: a.unbind(0), x)  # several outputs


@needs_torch
@pytest.mark.parametrize("given", ["class", "apply"])
def test_a_wrong_torch_function_is_explained(given):
    report = tape.gradcheck(TorchDoubled if given == "class" else TorchDoubled.apply, torch.randn(4))
    assert not report
    assert report.variables[0].explanation == "Every element is 2 times the numeric value: a constant factor is wrong."
    (guilty,) = report.guilty
    assert guilty.operation == "TorchDoubled" and guilty.gradient.name == "input 0"
    assert "guilty: TorchDoubled" in str(report)


@needs_torch
def test_a_transposed_gradient_is_explained():
    report = tape.gradcheck(TorchProduct.apply, [torch.randn(3, 3), torch.randn(3, 3)])
    assert [result.ok for result in report.variables] == [True, False]
    assert "transposed" in report.variables[1].explanation
    assert report.guilty[0].gradient.name == "input 1"


@needs_torch
def test_the_guilty_function_among_several_in_a_module():
    model = TorchOuter(TorchInner())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    report = tape.gradcheck(model, [torch.randn(2, 3)])
    assert not report
    assert [result.name for result in report.variables][:2] == ["input", "first.weight"]
    assert len(report.variables) == 6
    assert [(guilty.operation, guilty.module_path) for guilty in report.guilty] == [("TorchDoubled", "inner")]
    with open(__file__) as file:
        line = next(i for i, text in enumerate(file, 1) if "# the torch line" in text)
    assert report.guilty[0].source == f"{__file__}:{line}"
    for name, value in model.state_dict().items():
        assert value.dtype == torch.float32 and torch.equal(value, before[name])
    assert not model.inner._forward_hooks and "forward" in TorchDoubled.__dict__


@needs_torch
def test_the_style_with_setup_context():
    report = tape.gradcheck(lambda x: TorchSetUp.apply(x.exp(), 3.0) + TorchSetUp.apply(x, 2.0), torch.randn(3))
    assert [guilty.place for guilty in report.guilty] == [0, 1]
    assert "opposite sign" in report.guilty[0].gradient.explanation


@needs_torch
def test_a_submodule_whose_gradient_is_cut_is_named():
    class Cut(torch.nn.Module):
        def forward(self, x):
            return x * x.detach()

    report = tape.gradcheck(TorchOuter(Cut()), [torch.randn(2, 3)])
    assert [(guilty.operation, guilty.module_path) for guilty in report.guilty] == [("Cut", "inner")]


@needs_torch
def test_a_cut_between_submodules_is_reported():
    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.second(self.first(x).tanh().detach() + x)

    report = tape.gradcheck(Whole(), [torch.randn(2, 3)])
    assert not report and not report.guilty
    assert "the error is in forward() of Whole itself" in report.blame


@needs_torch
def test_torch_modules_with_state_dropout_and_ids():
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5), torch.nn.ReLU(inplace=True)
    )
    mean = model[1].running_mean.clone()
    x = torch.randn(5, 3)
    state = torch.random.get_rng_state()
    report = tape.gradcheck(model, [x], allow_zero=["0.bias"])
    assert report, report
    assert torch.equal(model[1].running_mean, mean) and model.training
    assert torch.equal(torch.random.get_rng_state(), state)
    embedding = torch.nn.Embedding(5, 3)
    embedding.weight.requires_grad_(True)
    assert [result.name for result in tape.gradcheck(embedding, [torch.tensor([1, 4, 1])]).variables] == ["weight"]
    frozen = torch.nn.Linear(3, 2).requires_grad_(False)
    assert [result.name for result in tape.gradcheck(frozen, [torch.randn(2, 3)]).variables] == ["input"]


@needs_torch
def test_second_derivatives_of_torch():
    assert tape.gradgradcheck(torch.tanh, torch.randn(3))

    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.detach()
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return grad * 3 * ctx.x**2

    assert tape.gradcheck(Cut.apply, torch.randn(3))
    report = tape.gradgradcheck(Cut.apply, torch.randn(3))
    assert [(guilty.operation, guilty.derivative) for guilty in report.guilty] == [("Cut", 2)]


@needs_torch
def test_errors_of_torch():
    with pytest.raises(TypeError, match="input 0 is torch.complex64; complex gradients are not supported"):
        tape.gradcheck(torch.abs, torch.randn(2, dtype=torch.complex64))
    with pytest.raises(TypeError, match="f must return a tensor or a tuple of tensors, got float"):
        tape.gradcheck(lambda x: x.sum().item(), torch.randn(2))
    with pytest.raises(ValueError, match="shadow is for f32 inputs"):
        tape.gradcheck(torch.tanh, torch.randn(2), shadow=torch.tanh)
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        tape.gradcheck(torch.nn.Linear(2, 2), torch.randn(2, 3))


def test_a_check_of_no_gradients_is_refused():
    embedding = tape.nn.Embedding(5, 3).to(tape.f64)
    for f in (lambda ids: embedding(ids), embedding.freeze() or embedding):
        with pytest.raises(tape.Error, match="gradcheck: there is no gradient to check"):
            tape.gradcheck(f, [tape.tensor([1, 2])])
