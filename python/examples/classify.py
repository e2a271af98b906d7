"""Trains a classifier of texts from scratch and labels new ones.

For a model of Hugging Face: tape.load("sst2").classify("A wonderful film."); to fine-tune one:
init="bert-base-uncased".
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
