"""Tokenizers, their training, and scores of translations.

>>> import tapeformer as tape
>>> tokenizer = tape.text.character_tokenizer("abc")
>>> tokenizer.encode("cab")
[2, 0, 1]
"""

from ._tapeformer import text as _text
from ._tapeformer.text import *  # noqa: F403

__all__ = [name for name in dir(_text) if not name.startswith("_")]
