"""Settings of a block of code: `with tape.no_grad():`, or the same as a decorator of a function."""

import contextlib
import functools
import inspect
from typing import Any, Callable, TypeVar, overload

from . import _tapeformer

F = TypeVar("F", bound=Callable[..., Any])


class _Scope(contextlib.ContextDecorator):
    """A scope may be entered again, also inside itself."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self._opened = []

    def __enter__(self) -> "_Scope":
        self._opened.append(self._open(*self._arguments))
        return self

    def __exit__(self, *exception: object) -> None:
        self._opened.pop().close()

    def _recreate_cm(self):
        return type(self)(*self._arguments)

    def __call__(self, function: F) -> F:
        if not inspect.isgeneratorfunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        def resumed(*arguments, **named):
            """Each part of the generator runs in the scope; what the caller does between them does not."""
            generator = function(*arguments, **named)
            step, given = generator.send, None
            while True:
                try:
                    with self._recreate_cm():
                        value = step(given)
                except StopIteration as end:
                    return end.value
                try:
                    step, given = generator.send, (yield value)
                except GeneratorExit:
                    generator.close()
                    raise
                except BaseException as error:
                    step, given = generator.throw, error

        return resumed


class _PlainScope(_Scope):
    """A scope without arguments, which decorates a function with or without parentheses."""

    @overload
    def __new__(cls) -> "_PlainScope": ...

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]

    def __new__(cls, function: Any = None) -> Any:
        if function is None:
            return super().__new__(cls)
        if not callable(function):
            raise TypeError(f"{cls.__name__}: takes a function to decorate, or nothing, got {type(function).__name__}")
        return cls()(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()


class no_grad(_PlainScope):
    """Records nothing: for evaluation, and for updating parameters by hand."""

    _open = staticmethod(_tapeformer._open_no_grad)


class enable_grad(_PlainScope):
    """Records operations, also inside a no_grad() block."""

    _open = staticmethod(_tapeformer._open_enable_grad)


class composed(_PlainScope):
    """Runs fused operations as the basic ones that they consist of, so that the tape shows every step of attention."""

    _open = staticmethod(_tapeformer._open_composed)


class trace(_PlainScope):
    """Notes the module path of every operation for reports, drawings and explanations."""

    _open = staticmethod(_tapeformer._open_trace)


class default_device(_Scope):
    """Creates tensors on this device unless one is named: `with tape.default_device("cuda"):`."""

    _open = staticmethod(_tapeformer._open_device)

    def __init__(self, device: str) -> None:
        super().__init__(device)


class autocast(_Scope):
    """Mixed precision: activations in bf16 (or f32: off) beside parameters, gradients and losses in f32.

    It is on without a scope on a GPU with matmul_precision('medium'). See the guide's page on CUDA.
    """

    _open = staticmethod(_tapeformer._open_autocast)

    def __init__(self, dtype: _tapeformer.DType | None = None) -> None:
        super().__init__(_tapeformer.bf16 if dtype is None else dtype)


class matmul_precision(_Scope):
    """Precision of f32 products and their gradients: 'highest' (f32), 'high' (sums of two bf16) or 'medium' (bf16)."""

    _open = staticmethod(_tapeformer._open_matmul_precision)

    def __init__(self, precision: str) -> None:
        super().__init__(precision)
