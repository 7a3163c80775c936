"""The home folder of Pacenote: races, engines, corpora and caches."""

from __future__ import annotations

import os
from pathlib import Path


def default_home() -> Path:
    """Returns the absolute path of the folder named by `PACENOTE_HOME`, or of `~/.pacenote`."""
    chosen = os.environ.get("PACENOTE_HOME")
    # A track's Python code may change the current folder.
    return (Path(chosen).expanduser() if chosen else Path.home() / ".pacenote").absolute()
