"""`python -m pacenote`."""

from __future__ import annotations

import sys

from pacenote.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
