"""Trains tokenizers, encodes and decodes, and makes padded batches.

Prints:
ByteLevelBpe(274 tokens) [259, 270, 265] ['the', 'Ġcat', 'Ġsat'] the cat sat
{'attention_mask': tensor([[1, 1, 1, 1, 1, 1, 1, 0, 0, 0],
...
['[CLS]', 'the', 'cat', '##s', '[SEP]', 'cat', '[SEP]'] [0, 0, 0, 0, 0, 1, 1]
text: cats
normalized: cats
words: |cats|
  cats -> cat (6) ##s (7)
tokens: cat (6) ##s (7)
"""

import tapeformer as tape

text = tape.text
lines = ["the cat sat on the mat", "the dog sat on the log"] * 20

bpe = text.train_byte_level_bpe(lines, vocab_size=300)
ids = bpe.encode("the cat sat")
print(bpe, ids, bpe.tokens(ids), bpe.decode(ids))

pieces = text.train_sentencepiece(lines, vocab_size=40, exact_size=False)
print(pieces.encode_batch(["the cat", "the dog sat"]))

words = text.WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s"])
encoding = words.encoding("The cats", "cat")
print(words.tokens(encoding.ids), encoding.type_ids)
print("\n".join(words.explain("cats")))
