"""Backward passes, scopes, custom operations, hooks and transforms."""

import gc
import sys
import threading
import weakref

import pytest

import tapeformer as tape


def leaf(*values):
    return tape.tensor(list(values), dtype=tape.f64, requires_grad=True)


def test_backward_accumulates_gradients():
    x = leaf(1.0, 2.0, 3.0)
    assert x.grad is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4, 6]
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8, 12]
    x.grad = None
    assert x.grad is None
    tape.backward([x.sum(), (2 * x).sum()])
    assert x.grad.tolist() == [3, 3, 3]
    x.zero_grad()
    (x * x).backward(tape.tensor([1.0, 0.0, 2.0], dtype=tape.f64))
    assert x.grad.tolist() == [2, 0, 12]


def test_backward_needs_a_graph_and_a_seed():
    with pytest.raises(tape.Error) as error:
        tape.ones((2,)).sum().backward()
    assert error.value.kind == "graph"
    with pytest.raises(tape.Error, match="backward"):
        leaf(1.0, 2.0).square().backward()
    y = leaf(2.0).square().sum()
    y.backward()
    with pytest.raises(tape.Error):
        y.backward()


def test_grad_leaves_the_leaves_alone():
    x, unused = leaf(3.0), leaf(1.0)
    (first,) = tape.grad((x**3).sum(), [x], create_graph=True)
    assert first.item() == 27
    assert tape.grad(first.sum(), x).item() == 18
    assert x.grad is None
    assert tape.grad(x.square().sum(), [x, unused], allow_unused=True)[1] is None
    with pytest.raises(tape.Error):
        tape.grad(x.square().sum(), [unused])


def test_scopes():
    x = leaf(1.0)
    with tape.no_grad():
        assert not tape.is_grad_enabled()
        assert not (2 * x).requires_grad
        with tape.enable_grad():
            assert (2 * x).requires_grad
    assert tape.is_grad_enabled()

    @tape.no_grad()
    def double(x):
        return 2 * x

    assert not double(x).requires_grad and not double(x).requires_grad
    with pytest.raises(KeyError), tape.no_grad():
        raise KeyError
    assert tape.is_grad_enabled()
    with tape.composed(), tape.trace(), tape.matmul_precision("highest"), tape.default_device("cpu"):
        assert tape.softmax(x, 0).item() == 1


def test_autocast_rounds_activations_only():
    x, weight = tape.randn((3, 4)), tape.randn((5, 4), requires_grad=True)
    with tape.autocast():
        y = tape.linear(x, weight)
        loss = tape.mse_loss(y, tape.zeros((3, 5)))
        with tape.autocast(tape.f32):
            assert tape.linear(x, weight).dtype == tape.f32
    assert y.dtype == tape.bf16 and loss.dtype == tape.f32
    loss.backward()
    assert weight.grad.dtype == tape.f32
    with pytest.raises(tape.Error, match="needs bf16, or f32 to turn autocast off"), tape.autocast(tape.f16):
        pass


def test_in_place_writes_are_noticed():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    with tape.no_grad():
        y.fill_(5)
    with pytest.raises(tape.Error, match="modified in place"):
        z.sum().backward()
    with pytest.raises(tape.Error):
        x.add_(1)
    w = tape.zeros((3,))
    w += 1
    w[1] = 7
    w[2:] = tape.tensor([4.0])
    assert w.tolist() == [1, 7, 4]
    with pytest.raises(tape.Error, match="index_put"):
        y[0] = 1.0


def test_hooks():
    x = leaf(1.0)
    seen = []
    handle = x.register_hook(lambda gradient: seen.append(gradient.item()))
    (3 * x).sum().backward()
    assert seen == [3]
    x.remove_hook(handle)
    x.register_hook(lambda gradient: gradient * 10)
    (3 * x).sum().backward()
    assert x.grad.item() == 33
    y = 2 * x
    y.retain_grad()
    y.sum().backward()
    assert y.grad.item() == 1


class Swish(tape.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.beta = beta
        ctx.save_for_backward(x)
        return x * (beta * x).sigmoid()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        s = (ctx.beta * x).sigmoid()
        return grad * (s + ctx.beta * x * s * (1 - s)), None


def test_a_function_of_ones_own():
    x = leaf(0.3, -1.0)
    y = Swish.apply(x, 2.0)
    y.sum().backward()
    z = leaf(0.3, -1.0)
    (z * (2 * z).sigmoid()).sum().backward()
    assert x.grad.tolist() == pytest.approx(z.grad.tolist())
    (first,) = tape.grad(Swish.apply(x, 2.0).sum(), [x], create_graph=True)
    assert tape.grad(first.sum(), x).shape == (2,)


def test_a_function_with_several_outputs():
    class Parts(tape.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(1)
            ctx.save_for_backward(x)
            return x.relu(), x > 0

        @staticmethod
        def backward(ctx, grad):
            return tape.where(ctx.saved_tensors[0] > 0, grad, tape.zeros_like(grad))

    x = leaf(-1.0, 2.0)
    positive, mask = Parts.apply(x)
    positive.sum().backward()
    assert x.grad.tolist() == [0, 1] and mask.tolist() == [False, True]


def test_outputs_without_a_gradient_are_marked_by_tensor():
    class Best(tape.Function):
        @staticmethod
        def forward(ctx, x, other=None):
            best, position = x.max(0), x.argmax(0).float()
            ctx.mark_non_differentiable(other if other is not None else position)
            ctx.save_for_backward(position)
            return best, position

        @staticmethod
        def backward(ctx, grad):
            (position,) = ctx.saved_tensors
            return tape.tensor([grad.item() * (i == int(position)) for i in range(2)], dtype=grad.dtype), None

    x = leaf(1.0, 3.0)
    best, position = Best.apply(x, None)
    assert best.requires_grad and not position.requires_grad
    best.backward()
    assert x.grad.tolist() == [0, 1]
    with pytest.raises(ValueError, match="Best: mark_non_differentiable.. takes outputs of forward"):
        Best.apply(x, x)


def test_a_function_with_setup_context():
    class Cube(tape.Function):
        @staticmethod
        def forward(x, factor):
            return factor * x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.factor = inputs
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx, grad):
            x, output = ctx.saved_tensors
            assert output.tolist() == [2, 16]
            return 3 * ctx.factor * x**2 * grad, None

    x = leaf(1.0, 2.0)
    Cube.apply(x, 2.0).sum().backward()
    assert x.grad.tolist() == [6, 24]


def test_scopes_decorate_without_parentheses():
    x = leaf(1.0)

    @tape.no_grad
    def function(x):
        """Doubles."""
        return 2 * x

    @tape.no_grad
    def generator(x):
        yield 2 * x

    class Holder:
        @tape.no_grad
        def method(self, x):
            return tape.enable_grad(lambda: 2 * x)(), 2 * x

    assert not function(x).requires_grad and function.__doc__ == "Doubles."
    assert [y.requires_grad for y in generator(x)] == [False] and (2 * x).requires_grad
    assert [y.requires_grad for y in Holder().method(x)] == [True, False]
    with pytest.raises(TypeError, match="no_grad: takes a function to decorate, or nothing, got bool"):
        tape.no_grad(True)


def test_mistakes_in_a_function_are_reported():
    class Wrong(tape.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(ValueError, match="Wrong.backward: returned 1 gradients for 2 arguments"):
        Wrong.apply(leaf(1.0), leaf(1.0)).sum().backward()

    class Broken(Wrong):
        @staticmethod
        def forward(ctx, x):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Broken.apply(leaf(1.0))


def test_custom_operations():
    x = leaf(2.0)
    y = tape.custom(
        "cube", [x], lambda c: (c.save([c.inputs[0]]), c.inputs[0] ** 3)[1], lambda c: 3 * c.saved(0) ** 2 * c.grad()
    )
    y.sum().backward()
    assert x.grad.item() == 12


def test_transforms():
    x = tape.tensor([1.0, 2.0], dtype=tape.f64)

    def f(x):
        return (x**3).sum()

    value, tangent = tape.jvp(f, [x], [tape.tensor([1.0, 0.0], dtype=tape.f64)])
    assert (value.item(), tangent.item()) == (9, 3)
    value, (gradient,) = tape.vjp(f, [x], tape.tensor(2.0, dtype=tape.f64))
    assert gradient.tolist() == [6, 24]
    _, (gradient,), (product,) = tape.hvp(f, [x], [tape.tensor([1.0, 1.0], dtype=tape.f64)])
    assert (gradient.tolist(), product.tolist()) == ([3, 12], [6, 12])
    assert tape.jacobian(lambda x: x**2, [x])[0].tolist() == [[2, 0], [0, 4]]
    assert tape.hessian(f, [x])[0][0].tolist() == [[6, 0], [0, 12]]
    _, (gradient,) = tape.vjp(f, [x])
    assert gradient.tolist() == [3, 12]
    # An integer input has neither a direction nor a gradient.
    places, ones = tape.tensor([1, 0]), tape.ones((2,), dtype=tape.f64)

    def g(x, places):
        return (x.index_select(0, places) ** 3).sum()

    assert tape.jvp(g, [x, places], [ones, None])[1].item() == 15
    _, gradients, products = tape.hvp(g, [x, places], [ones, None])
    assert (gradients[0].tolist(), products[0].tolist()) == ([3, 12], [6, 12])
    assert gradients[1] is None and products[1] is None
    assert tape.vjp(g, [x, places])[1][1] is None and tape.jacobian(g, [x, places])[1] is None
    assert tape.hessian(g, [x, places])[1] == [None, None]
    y = leaf(1.0, 2.0)
    tape.checkpoint(f, [y]).backward()
    assert y.grad.tolist() == [3, 12]


def test_random_operations():
    x = tape.ones((1000,))
    dropped = tape.dropout(x, 0.5)
    assert 300 < (dropped > 0).float().sum().item() < 700
    assert tape.seeded_dropout(x, 0.5, 1, 0).tolist() == tape.seeded_dropout(x, 0.5, 1, 0).tolist()
    assert tape.gumbel_softmax(tape.zeros((5,)), hard=True).sum().item() == 1


def test_an_exception_in_a_hook_comes_back():
    x = leaf(1.0)

    def hook(gradient):
        raise KeyError("in a hook")

    x.register_hook(hook)
    with pytest.raises(KeyError, match="in a hook"):
        (2 * x).sum().backward()


def test_graphs_are_freed():
    class Marker:
        pass

    marker = Marker()
    gone = weakref.ref(marker)
    x = leaf(1.0)
    x.register_hook(lambda gradient, marker=marker: None)
    y = (2 * x).sum()
    del marker
    y.backward()
    del x, y
    gc.collect()
    assert gone() is None


def test_other_threads_run_while_the_library_computes():
    a = tape.randn((700, 700))
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            stop.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(20):
        a @ a
    before = len(ticks)
    stop.set()
    thread.join()
    assert before > 0


def test_function_tells_which_arguments_need_gradients():
    seen = []

    class Scaled(tape.Function):
        @staticmethod
        def forward(ctx, factor, x, w):
            ctx.save_for_backward(x, None, w)
            ctx.factor = factor
            seen.append(ctx.needs_input_grad)
            return x * w * factor

        @staticmethod
        def backward(ctx, grad):
            x, nothing, w = ctx.saved_tensors
            assert nothing is None
            seen.append(ctx.needs_input_grad)
            return None, grad * w * ctx.factor if ctx.needs_input_grad[1] else None, None

    x, w = leaf(1.0, 2.0), tape.tensor([3.0, 4.0], dtype=tape.f64)
    Scaled.apply(2, x, w).sum().backward()
    assert seen == [(False, True, False)] * 2
    assert x.grad.tolist() == [6, 8]


def test_function_with_an_integer_output():
    class Largest(tape.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, tape.argmax(x, 0)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(1.0, 2.0)
    y, position = Largest.apply(x)
    assert position.item() == 1
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_function_frees_its_inputs():
    class Doubled(tape.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(1.0)
    before = sys.getrefcount(x)
    y = Doubled.apply(x)
    assert sys.getrefcount(x) == before
    y.backward()
    assert x.grad.tolist() == [2]


def test_backward_hook_of_a_module_that_is_gone():
    calls = []

    def output():
        layer = tape.nn.Linear(2, 2)
        layer.register_backward_hook(lambda module, inputs, grad: calls.append((module.name, grad.tolist())))
        return layer(tape.ones((1, 2), requires_grad=True))

    y = output()
    gc.collect()
    y.sum().backward()
    assert calls == [("", [[1, 1]])]


def test_no_grad_holds_in_each_part_of_a_generator():
    x = leaf(1.0)

    @tape.no_grad()
    def parts():
        received = yield (x * 2).requires_grad
        yield (x * 2).requires_grad, received
        return 7

    def outer():
        return (yield from parts())

    running = outer()
    assert next(running) is False
    assert (x * 2).requires_grad, "not between the parts"
    assert running.send("sent") == (False, "sent")
    with pytest.raises(StopIteration) as end:
        next(running)
    assert end.value.value == 7


def test_copy_carries_gradients():
    w = leaf(1.0, 2.0)
    h = tape.zeros((2,), dtype=tape.f64)
    h.copy_(w)
    (h * h).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_index_put_carries_gradients():
    x, values = leaf(1.0, 2.0, 3.0), leaf(5.0)
    with pytest.raises(tape.Error, match=r"x = x.index_put\(key, values\)"):
        x[1] = values[0]
    y = x.index_put(1, values.sum())
    assert y.tolist() == [1, 5, 3]
    (y * y).sum().backward()
    assert (x.grad.tolist(), values.grad.tolist()) == ([2, 0, 6], [10])


def test_a_tensor_is_not_a_list_of_its_rows():
    w = tape.ones((1, 2), requires_grad=True)
    (w * w).sum().backward()
    for call in (
        lambda: tape.optim.clip_grad_norm(w, 1.0),
        lambda: tape.jacobian(lambda x: x * x, w),
        lambda: tape.checkpoint(lambda x: x * x, w),
        lambda: tape.jvp(lambda x: x * x, [w], w),
        lambda: tape.cat(w, 0),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()


def test_functions_that_return_other_types():
    x = leaf(1.0, 2.0)
    for transform in (
        lambda f: tape.jacobian(f, [x]),
        lambda f: tape.hessian(f, [x]),
        lambda f: tape.vjp(f, [x]),
        lambda f: tape.jvp(f, [x], [x]),
        lambda f: tape.hvp(f, [x], [x]),
    ):
        with pytest.raises(TypeError, match="function: must return a tensor, got tuple"):
            transform(lambda x: (x, x))
    with pytest.raises(TypeError, match="function: must return a tensor or a tuple of tensors, got NoneType"):
        tape.checkpoint(lambda x: None, [x])
    y = x * 2
    y.register_hook(lambda gradient: "text")
    with pytest.raises(tape.Error, match="hook: must return a tensor, or None"):
        y.sum().backward()
    with pytest.raises(TypeError, match="forward of 'twice': must return a tensor or a tuple of tensors, got float"):
        tape.custom("twice", [x], lambda context: 2.0, lambda context: None)
    y = tape.custom("twice", [x], lambda context: context.inputs[0] * 2, lambda context: 2.0)
    with pytest.raises(TypeError, match="backward of 'twice': must return tensors or None, got float"):
        y.sum().backward()


def test_a_function_of_ones_own_that_returns_other_types():
    class Given(tape.Function):
        @staticmethod
        def forward(ctx, x, output, gradient):
            ctx.gradient = gradient
            return x * 2 if output is x else output

        @staticmethod
        def backward(ctx, gradient):
            return ctx.gradient, None, None

    x = leaf(1.0, 2.0)
    for output, name in ((None, "NoneType"), (2.0, "float"), ((x, None), "NoneType")):
        with pytest.raises(TypeError, match=f"Given.forward: must return a tensor or a tuple of tensors, got {name}"):
            Given.apply(x, output, None)
    with pytest.raises(TypeError, match="Given.backward: must return tensors or None, got float"):
        Given.apply(x, x, 2.0).sum().backward()


def test_a_context_is_not_used_after_its_call():
    kept, x = [], leaf(1.0, 2.0)

    def forward(context):
        kept.append(context)
        return context.inputs[0] * 2

    def backward(context):
        kept.append(context)
        return context.grad() * 2

    tape.custom("twice", [x], forward, backward).sum().backward()
    assert x.grad.tolist() == [2, 2]
    for use in (lambda: kept[0].inputs, lambda: kept[0].needs(0), lambda: kept[1].grad(), lambda: kept[1].saved(0)):
        with pytest.raises(tape.Error, match="a context can be used only while the function runs that received it"):
            use()


def test_checkpoint_of_several_outputs():
    x = leaf(1.0, 2.0)
    squares, cubes = tape.checkpoint(lambda x: (x * x, x**3), [x])
    (squares + cubes).sum().backward()
    assert x.grad.tolist() == [5, 16]
