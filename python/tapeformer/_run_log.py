"""Logs of training runs."""

import json
import os
import pathlib

_REPEATED = ("step", "eval", "samples", "confusion", "checkpoint")


def read_log(path, event="step"):
    """The log of a training run as a pandas.DataFrame, or as a list of dictionaries if pandas is not installed.

    `path` is the run's folder or its log.jsonl. `event` chooses the lines: "step" (the default: epoch, loss, lr,
    grad_norm, tokens, tokens_per_second, seconds), "eval" (loss and the metrics, each in its column), "samples",
    "checkpoint", "warning", "end", "start", or None for all. Steps that a resumed run did again appear once. A last
    line that a kill cut short is left out.

    >>> tape.read_log("runs/writer").plot(x="step", y="loss")

    OSError if the file cannot be read, ValueError with the line's number if a line is not JSON."""
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / "log.jsonl"
    events = _without_repeated(_events(path))
    rows = [_flat(row) for row in events if event is None or row.get("event") == event]
    if event is not None:
        for row in rows:
            row.pop("event", None)
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _events(path):
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    events = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            if number == len(lines):
                break
            raise ValueError(f"{os.fspath(path)}: line {number}: not JSON") from None
        if not isinstance(row, dict):
            raise ValueError(f"{os.fspath(path)}: line {number}: not an event of a run")
        events.append(row)
    return events


def _without_repeated(events):
    """What a run did again after a resume replaces the earlier lines, as in the report of the run."""
    kept = []
    for row in events:
        if row.get("event") == "resume" and "step" in row:
            kept = [old for old in kept if old.get("event") not in _REPEATED or old.get("step", 0) <= row["step"]]
        kept.append(row)
    return kept


def _flat(row):
    """Metrics as columns of their own."""
    row = dict(row)
    metrics = row.pop("metrics", None)
    return {**row, **metrics} if isinstance(metrics, dict) else row
