"""The home folder of Pacenote: races, engines, corpora and caches."""

from __future__ import annotations

import os
from pathlib import Path


def default_home() -> Path:
    """Returns the folder named by `PACENOTE_HOME`, or `~/.pacenote`."""
    chosen = os.environ.get("PACENOTE_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".pacenote"
