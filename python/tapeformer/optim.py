"""Optimizers and learning-rate schedules."""

from ._tapeformer import optim as _optim
from ._tapeformer.optim import *  # noqa: F403

__all__ = [name for name in dir(_optim) if not name.startswith("_")]
