"""The program: `pacenote`, and `python -m pacenote`."""

from __future__ import annotations

import os
import sys

_CHILD = "--child"
"""Argument of a process that takes its command from another process of Pacenote."""

_INTERRUPTED_EXIT_CODE = 130


def main() -> int:
    """Runs the command line and returns the exit code, also if Ctrl-C comes while it is being loaded."""
    try:
        if sys.argv[1:] == [_CHILD]:
            from pacenote.cli.child import take_arguments

            if not take_arguments():
                return _INTERRUPTED_EXIT_CODE
        from pacenote.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        # If it interrupted `exec`, as in the definition of a dataclass, `sys.exit` would end with a signal.
        os._exit(_INTERRUPTED_EXIT_CODE)


if __name__ == "__main__":
    sys.exit(main())
