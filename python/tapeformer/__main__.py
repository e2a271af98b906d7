"""The command tapeformer, also as python -m tapeformer."""

import os
import shutil
import signal
import sys
import sysconfig

from ._tapeformer import _run_command


def _called() -> str:
    """The command as the user could call it again: its name if the shell finds it, else its path."""
    found, path = shutil.which("tapeformer"), sys.argv[0]
    if os.path.basename(path) != "tapeformer":  # python -m tapeformer
        path = os.path.join(sysconfig.get_path("scripts"), "tapeformer")
    if not os.path.exists(path) or (found and os.path.samefile(found, path)):
        return "tapeformer"
    return path


def main() -> int:
    """Runs the command with the arguments of this process and returns its exit code."""
    # The command handles these itself, and writes past a closed pipe end it, as for a program in C++.
    for name in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(name, signal.SIG_DFL)
    return _run_command([os.fsencode(argument) for argument in (_called(), *sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
