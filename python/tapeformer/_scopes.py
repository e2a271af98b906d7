"""Settings of a block of code: `with tape.no_grad():`, or the same as a decorator of a function."""

import contextlib
import functools
import inspect

from . import _tapeformer


class _Scope(contextlib.ContextDecorator):
    """A scope may be entered again, also inside itself."""

    def __init__(self, *arguments):
        self._arguments = arguments
        self._opened = []

    def __enter__(self):
        self._opened.append(self._open(*self._arguments))
        return self

    def __exit__(self, *exception):
        self._opened.pop().close()

    def _recreate_cm(self):
        return type(self)(*self._arguments)

    def __call__(self, function):
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


class no_grad(_Scope):
    """Records nothing: for evaluation, and for updating parameters by hand."""

    _open = staticmethod(_tapeformer._open_no_grad)

    def __init__(self):
        super().__init__()


class enable_grad(_Scope):
    """Records operations, also inside a no_grad() block."""

    _open = staticmethod(_tapeformer._open_enable_grad)

    def __init__(self):
        super().__init__()


class composed(_Scope):
    """Runs fused operations as the basic ones that they consist of, so that the tape shows every step of attention."""

    _open = staticmethod(_tapeformer._open_composed)

    def __init__(self):
        super().__init__()


class trace(_Scope):
    """Notes the module path of every operation for reports, drawings and explanations."""

    _open = staticmethod(_tapeformer._open_trace)

    def __init__(self):
        super().__init__()


class default_device(_Scope):
    """Creates tensors on this device unless one is named: `with tape.default_device("cuda"):`."""

    _open = staticmethod(_tapeformer._open_device)

    def __init__(self, device):
        super().__init__(device)


class autocast(_Scope):
    """Mixed precision: activations in bf16 (or f32: off) beside parameters, gradients and losses in f32.

    It is on without a scope on a GPU with matmul_precision('medium'). See the guide's page on CUDA.
    """

    _open = staticmethod(_tapeformer._open_autocast)

    def __init__(self, dtype=None):
        super().__init__(_tapeformer.bf16 if dtype is None else dtype)


class matmul_precision(_Scope):
    """Precision of f32 products and their gradients: 'highest' (f32), 'high' (sums of two bf16) or 'medium' (bf16)."""

    _open = staticmethod(_tapeformer._open_matmul_precision)

    def __init__(self, precision):
        super().__init__(precision)
