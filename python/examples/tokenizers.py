"""Trains tokenizers, encodes and decodes, and makes padded batches."""

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
