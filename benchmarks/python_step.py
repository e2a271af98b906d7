"""A training step of gpt-nano whose loop is written in Python, compared with the same step in C++.

    PYTHONPATH=build/release/python build/python-env/bin/python benchmarks/python_step.py --command build/release/tools/tapeformer

Both take turns, since other programs slow down a machine in phases: in each round each one trains for some steps in a
process of its own. Prints the least time of a step per round, and the ratio of the medians.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

VOCAB, BATCH, LENGTH = 65, 12, 64


def train(steps, warm_up):
    """Times of the steps of the loop in Python, in ms."""
    import tapeformer as tape

    tape.manual_seed(1)
    model = tape.models.Gpt(
        vocab=VOCAB,
        d_model=128,
        layers=4,
        heads=4,
        d_ff=512,
        max_length=LENGTH,
        activation="gelu",
        dropout=0,
        attention_dropout=0,
        embedding_dropout=0,
        tie_output=False,
    )
    adam = tape.optim.Adam(model.parameters(), lr=1e-4)
    tokens = tape.randint(0, VOCAB, (BATCH, LENGTH + 1))
    ids, target = tokens[:, :-1], tokens[:, 1:]
    times = []
    for step in range(steps + warm_up):
        start = time.perf_counter()
        adam.zero_grad()
        loss = tape.cross_entropy(model(ids), target)
        loss.backward()
        adam.step()
        loss.item()
        if step >= warm_up:
            times.append(1e3 * (time.perf_counter() - start))
    return times


def run_python(options):
    arguments = [sys.executable, __file__, "--once", "--steps", str(options.steps), "--warm-up", str(options.warm_up)]
    return min(json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout))


def run_cpp(options):
    arguments = [
        options.command,
        "bench",
        "train-step",
        "--config",
        "gpt-nano",
        "--steps",
        str(options.steps),
        "--warmup",
        str(options.warm_up),
        "--json",
    ]
    return json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)["min_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="tapeformer", help="the command tapeformer")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of both")
    parser.add_argument("--steps", type=int, default=20, help="timed steps per round")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before them")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(train(options.steps, options.warm_up)))
        return
    python, cpp = [], []
    for _ in range(options.rounds):
        python.append(run_python(options))
        cpp.append(run_cpp(options))
        print(f"Python {python[-1]:7.2f} ms   C++ {cpp[-1]:7.2f} ms", flush=True)
    print(
        f"medians: Python {statistics.median(python):.2f} ms, C++ {statistics.median(cpp):.2f} ms, "
        f"ratio {statistics.median(python) / statistics.median(cpp):.3f}; "
        f"least: {min(python):.2f} ms, {min(cpp):.2f} ms, ratio {min(python) / min(cpp):.3f}"
    )


if __name__ == "__main__":
    main()
