"""Training tasks, and the Trainer with a loop of one's own."""

import json

import pytest
import tapeformer as tape
from fixture_folders import run_command

text = tape.text
TINY = dict(layers=1, width=16, heads=2)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "lines.txt"
    path.write_text("".join(f"day {i} was sunny\nday {i} was rainy\n" for i in range(20)))
    return path


def test_language_model(corpus, tmp_path, capsys):
    options = dict(text=str(corpus), context=8, batch=2, steps=6, evaluate_every=3, dropout=0.1, **TINY)
    run = tape.train.language_model(out=str(tmp_path / "run"), **options)
    assert run.steps == 6 and run.reason == "steps" and run.folder == str(tmp_path / "run")
    assert len(run.losses()) == 6 and run.metrics["valid_loss"] > 0
    assert [event["event"] for event in run.log()][0] == "start"
    assert "6 steps" in repr(run)
    printed = capsys.readouterr().out
    assert "loss" in printed and "6/6" in printed
    writer = tape.load(run.folder)
    assert len(writer.generate("day", max_new_tokens=3, temperature=0)) >= 3
    # The losses of the command.
    folder = tmp_path / "command"
    run_command(
        "train",
        "lm",
        "--text",
        corpus,
        "--context",
        8,
        "--batch",
        2,
        "--layers",
        1,
        "--width",
        16,
        "--heads",
        2,
        "--dropout",
        0.1,
        "--steps",
        6,
        "--evaluate-every",
        3,
        "--out",
        folder,
    )
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert run.losses() == pytest.approx([event["loss"] for event in events if event["event"] == "step"], rel=1e-6)
    # Longer from the checkpoint, and what a folder with a run needs.
    more = tape.train.language_model(out=run.folder, start="resume", **{**options, "steps": 8})
    assert more.resumed_from == 6 and more.steps == 8 and len(more.losses()) == 8
    with pytest.raises(tape.Error, match="contains another run"):
        tape.train.language_model(out=run.folder, **options)


def test_log_with_other_line_breaks(tmp_path):
    lines = ["a\u2028b", "c\x85d"] * 20
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    run = tape.train.language_model(text=str(path), out=str(tmp_path / "run"), context=8, batch=2, steps=2, **TINY)
    assert len(run.losses()) == 2
    (samples,) = [event for event in run.log() if event["event"] == "samples"]
    assert "\u2028" in samples["samples"][0]["input"]


def test_language_model_with_adapters(corpus, tmp_path):
    options = dict(text=str(corpus), context=8, batch=2, steps=2)
    base = tape.train.language_model(out=str(tmp_path / "base"), **options, **TINY)
    adapters = tape.train.AdapterTraining(rank=2, alpha=4)
    run = tape.train.language_model(out=str(tmp_path / "adapters"), init=base.folder, adapters=adapters, **options)
    adapted = tape.load(run.folder)
    x = tape.tensor([[1, 2, 3]])
    other = tape.load(base.folder, adapter=run.folder)
    assert adapted.model(x).tolist() == other.model(x).tolist()
    with pytest.raises(tape.Error, match="adapters and freeze need init"):
        tape.train.language_model(out=str(tmp_path / "none"), adapters=adapters, **options)


def test_classification(tmp_path):
    data = tmp_path / "reviews.csv"
    data.write_text("review,stars\n" + "".join(f"good film {i},up\nbad film {i},down\n" for i in range(20)))
    run = tape.train.classification(
        data=str(data),
        text_column="review",
        label_column="stars",
        out=str(tmp_path / "run"),
        steps=20,
        batch=8,
        vocab_size=270,
        **TINY,
    )
    assert set(run.metrics) == {"valid_loss", "valid_accuracy", "valid_macro_f1"}
    assert tape.load(run.folder).classify("good film")["label"] in ("up", "down")


def test_token_classification(tmp_path):
    data = tmp_path / "names.txt"
    data.write_text("".join(f"Anna B-PER\nsings O\n{i} O\n\nBo B-PER\nruns O\n\n" for i in range(8)))
    run = tape.train.token_classification(data=str(data), out=str(tmp_path / "run"), steps=3, vocab_size=270, **TINY)
    assert "valid_f1" in run.metrics
    assert [one["word"] for one in tape.load(run.folder).classify("Anna sings")] == ["Anna", "sings"]


def test_masked_lm_and_embedding(corpus, tmp_path):
    masked = tape.train.masked_lm(data=str(corpus), out=str(tmp_path / "masked"), steps=3, vocab_size=270, **TINY)
    assert masked.metrics["valid_accuracy"] >= 0
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"day {i}\tdate {i}\n" for i in range(20)))
    run = tape.train.text_embedding(data=str(pairs), init=masked.folder, out=str(tmp_path / "run"), steps=3, batch=4)
    assert tape.load(run.folder).embed(["day 1", "date 1"]).shape == (2, 16)


def test_translation(tmp_path):
    pairs = tmp_path / "numbers.tsv"
    pairs.write_text("".join(f"{text.german_number(i)}\t{text.english_number(i)}\n" for i in range(200)))
    run = tape.train.translation(
        tsv=str(pairs),
        valid_tsv=str(pairs),
        out=str(tmp_path / "run"),
        steps=4,
        evaluate_every=4,
        average_last=0,
        vocab_size=80,
        batch_tokens=200,
        **TINY,
    )
    assert set(run.metrics) == {"valid_loss", "valid_bleu"}
    assert isinstance(tape.load(run.folder).translate("eins", beams=1), str)


def test_examine(corpus, capsys):
    found = tape.train.examine_language_model(text=str(corpus), context=8, batch=2, **TINY)
    assert found.can_learn and found.last_loss < found.first_loss and found.lines


def test_task_errors(corpus, tmp_path):
    with pytest.raises(tape.Error, match="none.txt") as raised:
        tape.train.language_model(text=str(tmp_path / "none.txt"), out=str(tmp_path / "run"))
    assert raised.value.kind == "io"
    with pytest.raises(tape.Error, match="heads"):
        tape.train.language_model(text=str(corpus), out=str(tmp_path / "run"), width=16, heads=3)
    with pytest.raises(tape.Error) as raised:
        tape.train.language_model(text=str(corpus), out=str(tmp_path / "run"), device="cuda:7")
    assert raised.value.kind == "device"
    with pytest.raises(TypeError):
        tape.train.language_model(text=str(corpus), out=str(tmp_path / "run"), step=3)


# --- Trainer ---


def regression(seed=1):
    tape.manual_seed(seed)
    x = tape.randn([32, 4])
    y = x @ tape.tensor([[1.0], [-2.0], [0.5], [3.0]])
    model = tape.nn.Linear(4, 1)
    return model, list(zip(x, y))


def evaluate_regression():
    return {"loss": 1.0, "error": 0.5}


def train_regression(evaluate=None, **options):
    model, examples = regression()
    adam = tape.optim.Adam(model.parameters(), lr=0.1)
    loader = tape.train.Loader(examples, batch_size=8)
    trainer = tape.train.Trainer(model, adam, seed=1, progress=False, **options)
    return model, trainer.fit(loader, lambda batch: tape.mse_loss(model(batch[0]), batch[1]), evaluate)


def test_trainer(tmp_path):
    steps, checkpoints = [], []
    model, result = train_regression(steps=60, on_step=steps.append, clip_norm=10)
    assert result.steps == 60 and result.loss < steps[0]["loss"] and result.metrics == {}
    assert train_regression(evaluate_regression, steps=3)[1].metrics == {"loss": 1.0, "error": 0.5}
    assert [event["step"] for event in steps] == list(range(1, 61)) and steps[0]["tokens"] == 8
    assert steps[3]["epoch"] == 1 and steps[0]["loss"] > steps[-1]["loss"]
    # In two parts: the same bits.
    folder = tmp_path / "run"
    train_regression(steps=30, out=folder, on_checkpoint=lambda *event: checkpoints.append(event), clip_norm=10)
    assert checkpoints[-1][0] == 30
    again, resumed = train_regression(steps=60, out=folder, start="resume", clip_norm=10)
    assert resumed.resumed_from == 30 and len(resumed.losses()) == 60
    assert again.weight.tolist() == model.weight.tolist()
    with pytest.raises(tape.Error, match="clip_norm"):
        train_regression(steps=70, out=folder, start="resume", clip_norm=5)


def test_trainer_passes_exceptions_on():
    model, examples = regression()
    trainer = tape.train.Trainer(model, tape.optim.Adam(model.parameters()), steps=3, progress=False)

    def fail(batch):
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        trainer.fit(tape.train.Loader(examples, 4), fail)
    with pytest.raises(tape.Error, match="evaluate"):
        trainer.fit(tape.train.Loader(examples, 4), lambda batch: tape.mse_loss(model(batch[0]), batch[1]), dict)


def test_trainer_counts_tokens_and_prints(capsys):
    model, examples = regression()
    steps = []
    trainer = tape.train.Trainer(model, tape.optim.Adam(model.parameters()), steps=3, on_step=steps.append)
    trainer.fit(tape.train.Loader(examples, 4), lambda batch: (tape.mse_loss(model(batch[0]), batch[1]), 7))
    assert [event["tokens"] for event in steps] == [7, 7, 7]
    assert "3/3" in capsys.readouterr().out


def test_loader():
    loader = tape.train.Loader(list(range(10)), 4, seed=3)
    assert loader.plan(0) == loader.plan(0) != loader.plan(1)
    assert sorted(i for batch in loader.plan(5) for i in batch) == list(range(10))
    assert [len(batch) for batch in loader] == [4, 4, 2] and len(loader) == 3
    assert list(loader) == loader.plan(1) and list(loader) == loader.plan(2)
    assert list(tape.train.Loader(list(range(5)), 2, shuffle=False, drop_last=True)) == [[0, 1], [2, 3]]
    (batch,) = tape.train.Loader([tape.tensor([1, 2]), tape.tensor([3, 4])], 2, shuffle=False)
    assert batch.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="batch_size 0"):
        tape.train.Loader([1], 0)
