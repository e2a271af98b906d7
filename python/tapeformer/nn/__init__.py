"""Layers, and the base class of your own."""

from .._tapeformer import nn as _nn
from .._tapeformer.nn import *  # noqa: F403
from .._tapeformer.nn import init
from ._containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential

__all__ = [
    *(name for name in dir(_nn) if not name.startswith("_")),
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "init",
]
