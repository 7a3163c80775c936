"""What killed starts left half done: folders under construction, files half downloaded."""

from __future__ import annotations

import contextlib
import shutil
import time
from itertools import chain
from pathlib import Path

from pacenote.provision.layout import Place

# Nobody builds or receives for so long without writing; whoever does it now must not lose it.
MAX_AGE_SECONDS = 3600.0


def remove_leftovers(place: Place) -> None:
    """Remove what was last written more than an hour ago and never finished. Says nothing when it cannot."""
    newest = time.time() - MAX_AGE_SECONDS
    for build in chain(place.installs.glob(".build-*"), place.java.glob(".build-*")):
        if _older(build, newest):
            shutil.rmtree(build, ignore_errors=True)
    for part in chain(place.jars.glob("*/.*.part"), place.locks.glob(".*.part")):
        if _older(part, newest):
            with contextlib.suppress(OSError):
                part.unlink()


def _older(path: Path, moment: float) -> bool:
    try:
        return path.lstat().st_mtime < moment
    except OSError:
        return False
