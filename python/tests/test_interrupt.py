"""Ctrl-C: a run ends after its step with a checkpoint, and KeyboardInterrupt is raised."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

CORPUS = "".join(f"day {i} was sunny\nday {i} was rainy\n" for i in range(50))


def interrupted(folder, program, ready):
    """Runs a program, sends SIGINT once `ready(output so far, folder)`; returns its output and the seconds until it
    ended."""
    folder.mkdir(exist_ok=True)
    (folder / "corpus.txt").write_text(CORPUS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    # A shell that runs the tests in the background ignores the signal, which programs inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run = subprocess.Popen(
        [sys.executable, "-c", "import tapeformer as tape\n" + program],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        limit = time.monotonic() + 100
        while not ready(folder):
            assert run.poll() is None, run.stdout.read()
            assert time.monotonic() < limit, "the program does not begin"
            time.sleep(0.02)
        sent = time.monotonic()
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=60)
        return output, time.monotonic() - sent
    finally:
        run.kill()


def has_steps(folder):
    log = folder / "run" / "log.jsonl"
    return log.exists() and log.read_text().count('"event":"step"') >= 3


TASK = """
options = dict(text="corpus.txt", out="run", context=8, batch=2, layers=1, width=16, heads=2, evaluate_every=1_000_000)
try:
    tape.train.language_model(steps=1_000_000, **options)
except KeyboardInterrupt:
    print("interrupted")
"""

TRAINER = """
model = tape.nn.Linear(4, 1)
adam = tape.optim.Adam(model.parameters())
loader = tape.train.Loader(list(tape.randn([16, 4])), 4)
trainer = tape.train.Trainer(model, adam, steps=1_000_000, out="run", progress=False)
try:
    trainer.fit(loader, lambda batch: (model(batch) * model(batch)).mean())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("program", [TASK, TRAINER], ids=["task", "trainer"])
def test_training(tmp_path, program):
    output, seconds = interrupted(tmp_path, program, has_steps)
    assert output.rstrip().endswith("interrupted"), output
    assert seconds < 20
    checkpoints = list((tmp_path / "run").glob("checkpoint-*"))
    assert len(checkpoints) == 1
    assert '"reason":"interrupted"' in (tmp_path / "run" / "log.jsonl").read_text()


def test_resume(tmp_path):
    interrupted(tmp_path, TASK, has_steps)
    import tapeformer as tape

    (folder,) = (tmp_path / "run").glob("checkpoint-*")
    step = int(pathlib.Path(folder).name.removeprefix("checkpoint-"))
    run = tape.train.language_model(
        text=str(tmp_path / "corpus.txt"),
        out=str(tmp_path / "run"),
        start="resume",
        context=8,
        batch=2,
        layers=1,
        width=16,
        heads=2,
        evaluate_every=1_000_000,
        steps=step + 2,
        allow_changes=True,
    )
    assert run.resumed_from == step and run.steps == step + 2


GENERATE = """
import pathlib
model = tape.models.Gpt(vocab=5, d_model=16, layers=2, heads=2, max_length=64)
tokenizer = tape.text.character_tokenizer("abcd")
tape.models.save("gpt", model)
tokenizer.save("gpt")
writer = tape.load("gpt")
try:
    pathlib.Path("begun").touch()
    writer.generate("ab", max_new_tokens=10_000_000)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_generation(tmp_path):
    output, seconds = interrupted(tmp_path, GENERATE, lambda folder: (folder / "begun").exists())
    assert output.rstrip().endswith("interrupted"), output
    assert seconds < 20
