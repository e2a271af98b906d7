"""Trains a translator of German number words to English in well under a minute, and translates numbers it has not seen.

For a model of Hugging Face: tape.load("opus-mt-de-en").translate(["Guten Morgen!"])

Prints:
20000 training pairs, 100 validation pairs, vocabulary of 208 tokens, 243 batches per epoch; ... parameters
...
TrainingResult(600 steps ..., valid_bleu ..., valid_loss ..., folder ...)
... of 100 exact; achthundertelftausendvierhunderteins -> eight hundred eleven thousand four hundred one
chrF ...
"""

import pathlib
import tempfile

import tapeformer as tape

text = tape.text


def write_pairs(path, numbers):
    path.write_text("".join(f"{text.german_number(n)}\t{text.english_number(n)}\n" for n in numbers))
    return str(path)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    run = tape.train.translation(
        tsv=write_pairs(folder / "train.tsv", text.training_sample(20_000, 1)),
        valid_tsv=write_pairs(folder / "valid.tsv", text.held_out_sample(100, 1)),
        out=str(folder / "run"),
        steps=600,
        lr=2e-3,
        dropout=0,
        layers=2,
        vocab_size=208,
        normalization="identity",
        batch_tokens=700,
        label_smoothing=0.05,
        evaluate_every=300,
        average_last=0,
        bleu_tokenizer="none",
    )
    print(run)
    translator = tape.load(run.folder)
    numbers = text.held_out_sample(200, 1)[100:]
    found = translator.translate([text.german_number(n) for n in numbers], beams=1)
    exact = sum(one == text.english_number(n) for one, n in zip(found, numbers))
    print(f"{exact} of {len(numbers)} exact; {text.german_number(numbers[0])} -> {found[0]}")
    print("chrF", round(text.chrf(found, [text.english_number(n) for n in numbers]).score, 1))
