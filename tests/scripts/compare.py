#!/usr/bin/env python3
"""benchmarks/compare.py --device cuda makes all its rows, also where sides fail or take too long, and saves each at once.

The commands are stand-ins, except for one test, which measures PyTorch on the CPU where it is installed.
"""

import contextlib
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import textwrap
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.dont_write_bytecode = True

import compare  # noqa: E402
from sides import Failed, Prepared, run  # noqa: E402

TAPEFORMER = """
import json, os, pathlib, sys, time
words = sys.argv[1:]
def value(name, default=None):
    return words[words.index(name) + 1] if name in words else default
pathlib.Path(__file__).with_name("calls").open("a").write(" ".join([os.environ.get("TAPE_CUDA_GRAPHS", "0"), *words]) + "\\n")
config = value("--config")
if words[0] == "info":
    print(json.dumps({"version": "0", "cuda_devices": [{"name": "stand-in"}]}))
elif "--profile" in words:
    if config == "gpt-char":
        sys.exit("tapeformer: cuda: out of memory")
    print("operation  GPU ms/step")
    for number in range(15):
        print(f"operation {number}  1.0")
    print("all  15.0\\npeaks measured here: 1 TFLOP/s in products, 2 GB/s of memory\\n{}")
elif words[0] == "bench":
    if config == "base" and words[1] == "train-step":
        sys.exit("usage\\ntapeformer: cuda: an | error")
    ms = 10 if value("--threads") is None else 16 / int(value("--threads"))
    print(json.dumps({"min_ms": ms, "rss_mb": 7, **({"gpu_mb": 70} if "--device" in words else {})}))
else:
    folder = pathlib.Path(value("--out"))
    folder.mkdir()
    losses = [2.0, 1.471, 1.469, 1.48]
    events = [{"event": "eval", "step": 250 * (i + 1), "seconds": 2.5 * (i + 1), "loss": loss} for i, loss in enumerate(losses)]
    (folder / "log.jsonl").write_text("".join(json.dumps(event) + "\\n" for event in [{"event": "start"}, *events]))
    print("step 1000")
    print(json.dumps({"valid_loss": 1.469, "train_seconds": 11, "steps": 1000}))
"""

PYTORCH = """
import json, sys, time
words = sys.argv[1:]
def value(name):
    return words[words.index(name) + 1] if name in words else None
if value("--config") == "gpt-char" and value("--device"):
    sys.exit("Traceback\\nModuleNotFoundError: No module named 'torch'")
if value("--config") == "tiny" and "--compile" in words:
    time.sleep(60)
print("a library says hello")
print("ready", flush=True)
for _ in sys.stdin:
    if value("--config") == "gpt-124m" and "--compile" in words:
        sys.exit("torch.OutOfMemoryError: CUDA out of memory")
    print(json.dumps({"min_ms": 12 if "--compile" in words else 20, "rss_mb": 9}), flush=True)
"""


def program(folder, name, source):
    path = pathlib.Path(folder) / name
    path.write_text(f"#!{sys.executable}\n{textwrap.dedent(source)}")
    path.chmod(0o755)
    return path


class Calls(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.tapeformer = program(self.folder, "tapeformer", TAPEFORMER)
        self.python = program(self.folder, "python", PYTORCH)
        self.text = self.folder / "input.txt"
        self.text.write_text("To be, or not to be")

    def call(self, *words):
        """What a call prints, and the figures that it saves."""
        words = ["--command", self.tapeformer, "--python", self.python, "--out", self.folder / "out", *words]
        printed = io.StringIO()
        with mock.patch.object(sys, "argv", ["compare.py", *map(str, words)]), contextlib.redirect_stdout(printed):
            compare.main()
        return printed.getvalue(), json.loads((self.folder / "out.json").read_text())

    def on_gpu(self, *words):
        return self.call("--device", "cuda", *words)

    def test_all_parts(self):
        with (
            mock.patch.object(compare.PARTS["steps"], "seconds", 6),
            mock.patch.object(compare, "PREPARING", 0.3),
            mock.patch.object(compare.os, "sched_getaffinity", lambda _: range(4)),
        ):
            printed, figures = self.on_gpu("--text", self.text)
        self.assertIn("| gpt-char | medium | 1000 | 7.5 | 1.4690 | 11.0 | 0.", printed)
        self.assertIn("operation 9  1.0\nall  15.0\npeaks measured", printed)
        self.assertNotIn("operation 10", printed)
        self.assertIn("gpt-char, precision medium:\n\n```text\ntapeformer: cuda: out of memory\n```\n", printed)
        for row in (
            "| config | dropout | precision | graphs | tapeformer | eager | compiled | speedup |",
            "| gpt-nano | 0.0 | high | True | 10.0 ms, 70 MB | 20.0 ms, 9 MB | 12.0 ms, 9 MB | 1.20 |",
            "| gpt-char | 0.2 | medium | True | 10.0 ms, 70 MB | ModuleNotFoundError: No module named 'torch' | "
            "ModuleNotFoundError: No module named 'torch' | - |",
            "| base | 0.1 | medium | False | tapeformer: cuda: an / error | 20.0 ms, 9 MB | 12.0 ms, 9 MB | - |",
            "| gpt-124m | 0.0 | medium | False | 10.0 ms, 70 MB | 20.0 ms, 9 MB | torch.OutOfMemoryError: CUDA out of memory | 2.00 |",
            "| tiny | 0.3 | high | True | 10.0 ms, 70 MB | 20.0 ms, 9 MB | was not ready in time | 2.00 |",
            "| gpt-124m | 1 | medium | 10.0 ms, 70 MB | 20.0 ms, 9 MB | 2.00 |",
            "| gpt-124m | 32 | medium | 10.0 ms, 70 MB | 20.0 ms, 9 MB | 2.00 |",
            "| config | threads | tapeformer | eager | speedup | over 1 thread(s) |",
            "| gpt-nano | 1 | 16.0 ms, 7 MB | 20.0 ms, 9 MB | 1.25 | 1.00 |",
            "| gpt-char | 4 | 4.0 ms, 7 MB | 20.0 ms, 9 MB | 5.00 | 4.00 |",
        ):
            self.assertIn(row + "\n", printed)
            self.assertIn(row + "\n", (self.folder / "out.md").read_text())
        self.assertEqual([len(figures[part]) for part in compare.PARTS], [1, 2, 5, 2, 6])
        self.assertEqual(figures["steps"][4]["sides"]["compiled"], {"failed": "was not ready in time"})
        self.assertNotIn("cells", figures["steps"][0])

    def test_commands(self):
        """The recipe of the whole run, and graphs except in profiles."""
        self.on_gpu("--what", "run", "profile", "--text", self.text)
        _, recipe, profile, _ = (self.folder / "calls").read_text().splitlines()
        for words in ("--layers 6 --width 384 --heads 6 --context 256 --batch 64 --dropout 0.2 --steps 5000 --lr 0.001 --warmup 100 "
                      "--evaluate-every 250", "--device cuda --precision medium", f"--text {self.text}"):  # fmt: skip
            self.assertIn(words, recipe)
        self.assertTrue(recipe.startswith("1 train lm"))
        self.assertTrue(profile.startswith("0 bench train-step --config gpt-124m"))
        seconds = float(recipe.split("--seconds ")[1].split()[0])
        self.assertTrue(50 < seconds <= 55, seconds)

    def test_corpus(self):
        for words, reason in (((), "needs a corpus: --text FILE"), (("--text", "/nowhere/x"), "/nowhere/x does not exist")):
            printed, figures = self.on_gpu("--what", "run", *words)
            self.assertIn(reason, printed)
            self.assertIn(reason, figures["run"][0]["failed"])

    def test_a_part_ends_when_its_time_is_over(self):
        with mock.patch.object(compare.PARTS["decoding"], "seconds", 0.5):
            began = time.monotonic()
            printed, _ = self.on_gpu("--what", "decoding", "--batch", "1")
        self.assertIn("| no time is left of the 0.5 s of this part | no time is left", printed)
        self.assertLess(time.monotonic() - began, 5)

    def test_five_minutes(self):
        self.assertLessEqual(sum(part.seconds for part in compare.PARTS.values()), 300)
        for name, part in compare.PARTS.items():
            self.assertRegex(compare.__doc__, rf"\n    {name} +{part.seconds} s ")
        self.assertIn(f"in {compare.PREPARING * compare.PARTS['steps'].seconds + 0.5:.0f} s at most", compare.__doc__)

    def test_each_row_is_saved_at_once(self):
        saved = []
        line_of = compare.lines

        def note(row, is_first):
            path = self.folder / "out.json"
            saved.append(len(json.loads(path.read_text())["decoding"]) if path.exists() else 0)
            return line_of(row, is_first)

        with mock.patch.object(compare, "save", wraps=compare.save) as save, mock.patch.object(compare, "lines", note):
            self.on_gpu("--what", "decoding")
        self.assertEqual(save.call_count, 2)
        self.assertIn(1, saved)

    def test_rounds(self):
        printed, figures = self.call("--what", "cpu", "--threads", "2", "--rounds", "2")
        self.assertIn("| gpt-nano | 2 | 8.0 ms, 7 MB | 20.0 ms, 9 MB | 2.50 | 1.00 |\n", printed)
        self.assertEqual([len(side["runs"]) for side in figures["cpu"][0]["sides"].values()], [2, 2])


class Sides(unittest.TestCase):
    def test_failures_end_a_script_with_the_output_of_the_command(self):
        with self.assertRaises(SystemExit) as failed:
            run([sys.executable, "-c", "import sys; sys.exit('first\\nlast')"])
        self.assertIn("first\nlast", str(failed.exception))
        self.assertEqual(failed.exception.reason, "last")
        with self.assertRaises(Failed) as failed:
            run(["/nowhere/tapeformer"])
        self.assertIn("No such file", failed.exception.reason)
        with self.assertRaises(Failed) as failed:
            run([sys.executable, "-c", "import os; os.abort()"])
        self.assertEqual(failed.exception.reason, "ended with status -6")
        with self.assertRaises(Failed) as failed:
            run([sys.executable, "-c", "import time; time.sleep(60)"], limit=1)
        self.assertEqual(failed.exception.reason, "was not done within 1 s")

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_pytorch_measures_for_each_line(self):
        words = ["--config", "gpt-nano", "--steps", "1", "--warm-up", "1", "--threads", "1"]
        side = Prepared([sys.executable, ROOT / "benchmarks/pytorch_train_step.py", *words])
        self.addCleanup(side.end)
        self.assertEqual([side.measure()["cfg"] for _ in range(2)], ["gpt-nano"] * 2)


if __name__ == "__main__":
    unittest.main()
