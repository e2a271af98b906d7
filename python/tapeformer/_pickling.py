"""What pickle calls to make tensors again."""

from . import _tapeformer


def tensor(array, dtype, device, requires_grad):
    return _tapeformer.tensor(array, dtype=dtype, device=device, requires_grad=requires_grad)


def parameter(values, requires_grad):
    return _tapeformer.nn.Parameter(values, requires_grad=requires_grad)
