"""Model classes and the functions that run them; tapeformer.load() loads a folder with its tokenizer."""

from ._tapeformer import models as _models
from ._tapeformer.models import *  # noqa: F403

__all__ = [name for name in dir(_models) if not name.startswith("_")]
