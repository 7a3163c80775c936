"""The program: `pacenote`, and `python -m pacenote`."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line and returns the exit code, also if Ctrl-C comes while it is being loaded."""
    try:
        from pacenote.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
