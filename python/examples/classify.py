"""Trains a classifier of texts from scratch and labels new ones.

For a model of Hugging Face: tape.load("sst2").classify("A wonderful film."); to fine-tune one:
init="bert-base-uncased".

Prints:
360 training lines with 2 labels, 40 validation lines, 12 batches per epoch
...
step 36  valid loss 0...  accuracy 1  macro_f1 1  (best so far)
{'valid_accuracy': 1.0, 'valid_loss': 0..., 'valid_macro_f1': 1.0}
{'label': 'good', 'score': 0...}
[[{'label': 'bad', 'score': 0...
"""

import pathlib
import random
import tempfile

import tapeformer as tape

NOUNS, GOOD, BAD = ["film", "book", "meal", "song"], ["wonderful", "great", "lovely"], ["awful", "boring", "bad"]
draws = random.Random(1)
rows = []
for _ in range(400):
    label = draws.choice(["good", "bad"])
    rows.append(f"the {draws.choice(NOUNS)} was {draws.choice(GOOD if label == 'good' else BAD)}\t{label}\n")

with tempfile.TemporaryDirectory() as folder:
    data = pathlib.Path(folder) / "reviews.tsv"
    data.write_text("".join(rows))
    run = tape.train.classification(
        data=str(data), out=folder + "/run", epochs=3, vocab_size=300, layers=1, width=32, heads=2
    )
    print(run.metrics)
    classifier = tape.load(run.folder)
    print(classifier.classify("the song was lovely"))
    print(classifier.classify(["a boring book", "a great meal"], top_k=None))
