"""Training: the built-in tasks, and Trainer, the training loop for models and data of your own.

>>> run = tape.train.language_model(text="corpus.txt", out="run", steps=500)
>>> run.losses()[-1], run.folder
>>> tape.load(run.folder).generate("Once upon a time")

A task prints its progress. Ctrl-C ends it after the current batch with a checkpoint: start="resume" continues there.
"""

import contextlib
import json
import pathlib
import random
import signal
import threading

from . import _tapeformer
from ._tapeformer import train as _train
from ._tapeformer.train import *  # noqa: F403
from ._tapeformer.train import TrainingResult


def _log(self):
    """Events of the run in order, as dicts: {'event': 'step', 'step': 1, 'loss': 4.2, ...}."""
    path = pathlib.Path(self.folder) / "log.jsonl"
    if not self.folder or not path.exists():
        return []
    # Not splitlines(), which also splits at characters that JSON leaves unescaped, such as U+2028 in a sample.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _losses(self):
    """Training loss of each step that the log has, in order; empty without a folder."""
    by_step = {event["step"]: event["loss"] for event in self.log() if event["event"] == "step"}
    return [by_step[step] for step in sorted(by_step)]


TrainingResult.log = _log
TrainingResult.losses = _losses


class Loader:
    """Batches of a data set, in a new order each epoch: an example is `dataset[i]`, a batch `collate([example, ...])`.

    The default collate() stacks tensors, or tuples of tensors, and leaves other examples in a list. With shuffle=False
    every epoch has the order of the data. The order depends only on `seed` and the epoch, so that a run resumes
    exactly.
    """

    def __init__(self, dataset, batch_size=1, *, shuffle=True, seed=1, drop_last=False, collate=None):
        if batch_size < 1:
            raise ValueError(f"Loader: batch_size {batch_size} must be at least 1")
        if len(dataset) == 0:
            raise ValueError("Loader: the dataset is empty")
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self._collate = collate or _stack
        self._epoch = 0  # of the next iteration

    def plan(self, epoch):
        """The batches of an epoch, each as indices of examples."""
        order = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(f"{self.seed} {epoch}").shuffle(order)
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        return batches[:-1] if self.drop_last and len(batches) > 1 and len(batches[-1]) < self.batch_size else batches

    def collate(self, indices):
        """The batch of these examples."""
        return self._collate([self.dataset[i] for i in indices])

    def __len__(self):
        return len(self.plan(0))

    def __iter__(self):
        """The batches of an epoch: of the first one, and of the next one each time."""
        epoch = self._epoch
        self._epoch += 1
        return (self.collate(indices) for indices in self.plan(epoch))


def _stack(examples):
    first = examples[0]
    if isinstance(first, _tapeformer.Tensor):
        return _tapeformer.stack(examples)
    if isinstance(first, (tuple, list)) and all(isinstance(part, _tapeformer.Tensor) for part in first):
        return tuple(_tapeformer.stack(parts) for parts in zip(*examples))
    return examples


class Trainer:
    """The training loop: accumulation, clipping, schedule, evaluation, checkpoints, a log and an exact resume.

        trainer = tape.train.Trainer(model, adamw, steps=1000, schedule=schedule, clip_norm=1, out="run")
        result = trainer.fit(loader, lambda batch: model.loss(batch[0], batch[1]), evaluate)

    The model and the optimizer stay yours; all options are keyword arguments:

    steps: number of updates in total
    out: folder of the run; "": no checkpoints and no log
    start: 'fresh' rejects a folder with a run, 'resume' continues it, 'overwrite' replaces it
    resume_from: 'checkpoint-500' instead of the newest
    seconds: time limit; 0: none
    schedule: of the optimizer; advanced after each update
    clip_norm: maximum norm of all gradients; 0: no clipping
    accumulate: batches per update
    step_in_backward: update each parameter as soon as its gradient is complete
    precision: 'highest', 'high' or 'medium', of matrix products in training
    evaluate_every, checkpoint_every: steps; 0: at the end, and at each evaluation
    patience: evaluations without a better score before the run stops; 0: never
    keep_last, keep_best: checkpoints to keep
    ema_decay: decay of the parameters' moving average; 0: none
    average_last, average_best: checkpoints to average at the end; 0: none
    seed: manual_seed() at the start of a new run
    log_every: steps per line of the log
    settings: a dict of what else the run depends on; resuming with other settings is an error unless allow_changes
    allow_unregistered: allow a loss that depends on tensors with gradients that neither model nor optimizer has
    progress: whether to print progress
    save_model: called with the run's folder while the model has the weights to save
    on_step: called after each update with a dict: step, epoch, loss, lr, grad_norm, tokens, tokens_per_second, seconds
    on_checkpoint: called with (step, folder, best) after each checkpoint
    """

    def __init__(
        self,
        model,
        optimizer,
        *,
        steps,
        out="",
        start="fresh",
        resume_from="",
        seconds=0,
        schedule=None,
        clip_norm=0,
        accumulate=1,
        step_in_backward=False,
        precision="highest",
        evaluate_every=0,
        checkpoint_every=0,
        patience=0,
        keep_last=2,
        keep_best=1,
        ema_decay=0,
        average_last=0,
        average_best=0,
        seed=None,
        log_every=1,
        task="custom",
        settings=None,
        allow_changes=False,
        allow_unregistered=False,
        progress=True,
        save_model=None,
        on_step=None,
        on_checkpoint=None,
    ):
        self.model = model
        self.optimizer = optimizer
        self._options = dict(
            steps=steps,
            out=str(out),
            start=start,
            resume_from=resume_from,
            seconds=seconds,
            schedule=schedule,
            clip_norm=clip_norm,
            accumulate=accumulate,
            step_in_backward=step_in_backward,
            precision=precision,
            evaluate_every=evaluate_every,
            checkpoint_every=checkpoint_every,
            patience=patience,
            keep_last=keep_last,
            keep_best=keep_best,
            ema_decay=ema_decay,
            average_last=average_last,
            average_best=average_best,
            seed=seed,
            log_every=log_every,
            task=task,
            settings_json=json.dumps(settings) if settings else "",
            allow_changes=allow_changes,
            allow_unregistered=allow_unregistered,
            progress=progress,
            save_model=save_model,
            on_step=on_step,
            on_checkpoint=on_checkpoint,
        )

    def fit(self, loader, learn, evaluate=None):
        """Trains until a limit is reached.

        learn(batch) returns the mean loss, a scalar tensor, or (loss, tokens) if batches should count by their tokens
        rather than their examples. evaluate() returns a loss, or a dict with 'loss', metrics, and perhaps 'score'
        (higher is better).
        """
        with _noted_interrupts() as interrupted:
            result = _train._fit(
                self.model, self.optimizer, loader, learn, evaluate, interrupted=interrupted, **self._options
            )
            if interrupted():
                raise KeyboardInterrupt
            return result


@contextlib.contextmanager
def _noted_interrupts():
    """Notes Ctrl-C instead of raising it in the middle of a step; a second one is raised at once."""
    noted = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(signal_number, frame):
        if noted:
            raise KeyboardInterrupt
        noted.append(signal_number)

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(noted)
    finally:
        signal.signal(signal.SIGINT, previous)


__all__ = [*(name for name in dir(_train) if not name.startswith("_")), "Loader", "Trainer"]
