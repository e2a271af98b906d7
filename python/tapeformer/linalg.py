"""Linear algebra, with gradients."""

from ._tapeformer import linalg as _linalg
from ._tapeformer.linalg import *  # noqa: F403

__all__ = [name for name in dir(_linalg) if not name.startswith("_")]
