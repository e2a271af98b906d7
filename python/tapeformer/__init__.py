"""Automatic differentiation and Transformers: tensors, gradients, layers, training, and pages that show every gradient.

>>> import tapeformer as tape
>>> x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2.0000, 4.0000, 6.0000])
"""

from . import _tapeformer
from ._tapeformer import *  # noqa: F403
from ._tapeformer import __version__
from ._scopes import autocast, composed, default_device, enable_grad, matmul_precision, no_grad, trace
from ._compare import compare
from ._function import Function
from ._gradcheck import gradcheck, gradgradcheck
from ._inspect import explain, formula, inspect, saved_tensors, to_dot
from ._run_log import read_log
from . import linalg, models, nn, optim, text, train
from ._pretrained import LoadedModel, Translation, load

bool = boolean = _tapeformer.boolean  # tape.bool, as in torch.bool

__all__ = [
    *_tapeformer.__all__,
    "Function",
    "LoadedModel",
    "Translation",
    "__version__",
    "autocast",
    "bool",
    "compare",
    "composed",
    "default_device",
    "enable_grad",
    "explain",
    "formula",
    "gradcheck",
    "gradgradcheck",
    "inspect",
    "linalg",
    "load",
    "matmul_precision",
    "models",
    "nn",
    "no_grad",
    "optim",
    "read_log",
    "saved_tensors",
    "to_dot",
    "text",
    "trace",
    "train",
]
