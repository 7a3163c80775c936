"""Removes files that killed processes have left behind: unfinished folders and partial downloads."""

from __future__ import annotations

import contextlib
import time
from itertools import chain
from pathlib import Path

from pacenote.fetch.partial_file import PARTIAL_FILES
from pacenote.provision.layout import EngineLayout
from pacenote.system.folder_trees import remove_tree

MAX_AGE_S = 3600.0
"""Seconds since the last write after which a folder or file counts as abandoned."""

MAX_DATA_AGE_S = 86_400.0
"""The same for an unfinished data set, whose files do not show when they were written."""


def remove_stale_files(layout: EngineLayout) -> None:
    """Removes unfinished folders and files that were last written more than an hour ago, and unfinished data
    sets after a day. Ignores errors.
    """
    limit = time.time() - MAX_AGE_S
    for folder, oldest in (
        (layout.installs, limit),
        (layout.java, limit),
        # Copying an index to another disk may take hours.
        (layout.data, time.time() - MAX_DATA_AGE_S),
    ):
        for build in folder.glob(".build-*"):
            if _is_older(build, oldest):
                remove_tree(build)
    for partial in chain(layout.jars.glob(f"*/*/{PARTIAL_FILES}"), layout.locks.glob(".*.part")):
        if _is_older(partial, limit):
            with contextlib.suppress(OSError):
                partial.unlink()


def _is_older(path: Path, moment: float) -> bool:
    try:
        return path.lstat().st_mtime < moment
    except OSError:
        return False
