"""The program: `pacenote`, and `python -m pacenote`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command line and returns the exit code, also if Ctrl-C comes while it is being loaded."""
    try:
        from pacenote.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        # If it interrupted `exec`, as in the definition of a dataclass, `sys.exit` would end with a signal.
        os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
