"""Operations with a gradient of your own, as a class."""

from typing import Any

from . import _tapeformer


class _Context:
    """What forward() saves for backward(): tensors with save_for_backward(), anything else as an attribute."""

    def __init__(self):
        self._to_save = []
        self._non_differentiable = []
        self._backward = None
        self._forward = None

    def save_for_backward(self, *tensors):
        """Saves tensors, or None; in-place writes to them before the backward pass are noticed."""
        self._to_save = tensors

    def mark_non_differentiable(self, *outputs):
        """Outputs that have no gradient, such as a mask: the tensors, or their numbers."""
        self._non_differentiable = outputs

    def _mark(self, outputs, function):
        """The numbers of the outputs without a gradient."""
        numbers = []
        for marked in self._non_differentiable:
            if isinstance(marked, _tapeformer.Tensor):
                found = [i for i, output in enumerate(outputs) if output.is_same(marked)]
                if not found:
                    raise ValueError(f"{function}: mark_non_differentiable() takes outputs of forward() only")
                numbers += found
            else:
                numbers.append(marked)
        self._non_differentiable = numbers

    @property
    def saved_tensors(self):
        saved = (self._backward.saved(i) for i in range(sum(tensor is not None for tensor in self._to_save)))
        return tuple(None if tensor is None else next(saved) for tensor in self._to_save)

    @property
    def needs_input_grad(self):
        """For each argument of forward(), whether it is a tensor that needs a gradient."""
        context = self._backward or self._forward
        return tuple(i in self._inputs and context.needs(self._inputs.index(i)) for i in range(self._arguments))


class Function:
    """An operation with a gradient of your own:

        class Swish(tape.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x.sigmoid()

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                s = x.sigmoid()
                return grad * (s + x * s * (1 - s))

        y = Swish.apply(x)

    backward() returns one gradient per argument of forward(), None for what needs none. If it uses tensor operations, the
    gradient can be differentiated again. Check it with tape.gradcheck(Swish.apply, [x]).

    A class with a setup_context(ctx, inputs, output) has a forward() without ctx; setup_context() saves what backward()
    needs.
    """

    @staticmethod
    def forward(ctx, *arguments):
        raise NotImplementedError("forward() of a Function computes the output")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context() of a Function saves values for backward()")

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError("backward() of a Function returns one gradient per argument of forward()")

    @classmethod
    def apply(cls, *arguments: Any) -> Any:
        """Calls forward() and records the operation."""
        tensors = [i for i, argument in enumerate(arguments) if isinstance(argument, _tapeformer.Tensor)]
        ctx = _Context()
        ctx._inputs, ctx._arguments = tensors, len(arguments)
        counts = {}

        def forward(context):
            ctx._forward = context
            given = list(arguments)
            for i, tensor in zip(tensors, context.inputs):
                given[i] = tensor
            try:
                if cls.setup_context is Function.setup_context:
                    result = cls.forward(ctx, *given)
                else:
                    result = cls.forward(*given)
                    cls.setup_context(ctx, tuple(given), result)
            finally:
                ctx._forward = None
            outputs = result if isinstance(result, (tuple, list)) else [result]
            _check_types(f"{cls.__name__}.forward", outputs, _tapeformer.Tensor, "a tensor or a tuple of tensors")
            context.save([tensor for tensor in ctx._to_save if tensor is not None])
            ctx._to_save = [tensor is not None or None for tensor in ctx._to_save]  # the tape keeps them
            ctx._mark(outputs, cls.__name__)
            for output in ctx._non_differentiable:
                context.mark_non_differentiable(output)
            marked = ctx._non_differentiable
            counts["differentiable"] = sum(y.dtype.is_floating and i not in marked for i, y in enumerate(outputs))
            return result

        def backward(context):
            ctx._backward = context
            try:
                result = cls.backward(ctx, *(context.grad(i) for i in range(counts["differentiable"])))
            finally:
                ctx._backward = None
            results = result if isinstance(result, (tuple, list)) else (result,)
            if len(results) != ctx._arguments:
                raise ValueError(
                    f"{cls.__name__}.backward: returned {len(results)} gradients for {ctx._arguments} arguments of forward()"
                )
            _check_types(f"{cls.__name__}.backward", results, (_tapeformer.Tensor, type(None)), "tensors or None")
            return [results[i] for i in tensors]

        return _tapeformer.custom(cls.__name__, [arguments[i] for i in tensors], forward, backward)


def _check_types(function, values, allowed, what):
    for value in values:
        if not isinstance(value, allowed):
            raise TypeError(f"{function}: must return {what}, got {type(value).__name__}")
