"""The folder that Pacenote keeps everything in."""

from __future__ import annotations

import os
from pathlib import Path


def default_home() -> Path:
    """`PACENOTE_HOME`, or `~/.pacenote`."""
    chosen = os.environ.get("PACENOTE_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".pacenote"
