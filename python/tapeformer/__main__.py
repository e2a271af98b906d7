"""The command tapeformer, also as python -m tapeformer."""

import os
import signal
import sys

from ._tapeformer import _run_command


def main() -> int:
    """Runs the command with the arguments of this process and returns its exit code."""
    # The command handles these itself, and writes past a closed pipe end it, as for a program in C++.
    for name in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(name, signal.SIG_DFL)
    return _run_command([b"tapeformer", *map(os.fsencode, sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
