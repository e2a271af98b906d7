"""Trains a small language model on its own source text, and generates: at once, sampled, and piece by piece.

For a model of your own: tape.load("gpt2").generate("Once upon a time")

Prints:
... training tokens, ... validation tokens, vocabulary of ...
...
step 200  valid loss ...
import ...
"""

import tempfile

import tapeformer as tape

with tempfile.TemporaryDirectory() as folder:
    run = tape.train.language_model(text=__file__, out=folder, steps=200, context=32, dropout=0)
    writer = tape.load(run.folder)
    print(writer.generate("import ", max_new_tokens=30, temperature=0))
    print(writer.generate(["tape.", "print("], max_new_tokens=20, temperature=0.8, top_k=10, seed=1))
    for piece in writer.generate("run = ", max_new_tokens=20, temperature=0, stream=True):
        print(piece, end="|", flush=True)
    print()
