"""Shared by the comparisons: running a side, and its environment."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time

COMMAND = str(pathlib.Path(__file__).resolve().parent.parent / "build/release/tools/tapeformer")
CLEAN = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}


class Failed(SystemExit):
    """A side that failed. Ends a script with its command and output, unless the script goes on with the others."""

    def __init__(self, command, output):
        super().__init__(f"{' '.join(map(str, command))}\n{output}")
        self.reason = textwrap.shorten(output.strip().splitlines()[-1], 120, placeholder="...")


def output_of(command, environment=None, limit=None):
    """What a command prints. Failed also if it takes more than `limit` seconds, unless that is None."""
    environment = {**CLEAN, **(environment or {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit)
    except (OSError, subprocess.TimeoutExpired) as error:
        late = isinstance(error, subprocess.TimeoutExpired)
        raise Failed(command, overdue(limit) if late else str(error)) from error
    if done.returncode != 0:
        raise Failed(command, done.stderr.strip() or f"ended with status {done.returncode}")
    return done.stdout


def overdue(limit):
    return "" if limit is None else f"was not done within {limit:.0f} s"


def run(command, environment=None, limit=None):
    """The JSON line at the end of a command's output, plus the duration of the process as "wall_seconds"."""
    start = time.perf_counter()
    line = output_of(command, environment, limit).splitlines()[-1]
    return {**json.loads(line), "wall_seconds": time.perf_counter() - start}


class Prepared:
    """A side in a process that prepares what is not measured (imports, compilation), prints "ready", and then measures and
    prints a JSON line for each line that it reads. Several can prepare at the same time."""

    def __init__(self, command, environment=None):
        self.command, self.taken = [*map(str, command), "--wait"], 0
        self.output, self.errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        environment = {**CLEAN, **(environment or {})}
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=self.output, stderr=self.errors, text=True, env=environment
        )

    def lines(self):
        """The lines printed so far, without those of libraries."""
        complete = written(self.output).rpartition("\n")[0].splitlines()
        return [line for line in complete if line == "ready" or line.startswith("{")]

    def waits(self):
        """Whether it waits for a measurement, or has ended."""
        return len(self.lines()) > self.taken or self.process.poll() is not None

    def take(self, limit, overdue):
        """The next line. After `limit` seconds the side is ended and has failed for the reason `overdue`."""
        end = None if limit is None else time.monotonic() + limit
        while not self.waits():
            if end is not None and time.monotonic() > end:
                self.end()
                raise Failed(self.command, overdue)
            time.sleep(0.01)
        lines = self.lines()
        if len(lines) == self.taken:
            raise Failed(self.command, written(self.errors).strip() or f"ended with status {self.process.returncode}")
        self.taken += 1
        return lines[self.taken - 1]

    def measure(self, limit=None):
        """The JSON line of one measurement."""
        if self.taken == 0:
            self.take(0 if limit is not None else None, "was not ready in time")
        with contextlib.suppress(OSError):  # it may have ended, for a reason that take() finds
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        return json.loads(self.take(limit, overdue(limit)))

    def end(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):  # what it has not read
            self.process.stdin.close()
        self.output.close()
        self.errors.close()


def written(file):
    """What another process has written to a file so far. Does not move the position that both share."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


def await_prepared(sides, limit):
    """Waits until all are ready or have failed, `limit` seconds at most."""
    end = None if limit is None else time.monotonic() + limit
    while not all(side.waits() for side in sides) and (end is None or time.monotonic() < end):
        time.sleep(0.05)


def measure(side, limit=None):
    """The JSON line of a Prepared side or of a (command, environment)."""
    return side.measure(limit) if isinstance(side, Prepared) else run(*side, limit)


def rounds(count, sides):
    """Runs every side, name -> (command, environment), once per round, alternating. Returns name -> its JSON lines."""
    results = {name: [] for name in sides}
    for _ in range(count):
        for name, (command, environment) in sides.items():
            results[name].append(run(command, environment))
    return results


def info(command):
    """The machine as reported by the command."""
    if not pathlib.Path(command).is_file():
        sys.exit(f"{command} does not exist: build it, or pass its path with --command")
    return json.loads(subprocess.run([command, "info", "--json"], capture_output=True, text=True, check=True, env=CLEAN).stdout)


def print_machine(command):
    print("\n".join(f"{key}: {value}" for key, value in info(command).items()))


def is_intel():
    return "GenuineIntel" in pathlib.Path("/proc/cpuinfo").read_text()


def unlocked(folder):
    """An environment in which MKL treats this CPU as Intel's."""
    source, library = folder / "vendor.c", folder / "vendor.so"
    if not library.exists():
        source.write_text("int mkl_serv_intel_cpu_true(void) { return 1; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library)}
