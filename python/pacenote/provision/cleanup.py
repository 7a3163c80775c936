"""Removes files that killed processes have left behind: unfinished folders, partial downloads, and files that
were about to replace others.

Archives and builds of sources, whose downloads are continued for longer, are pruned with the caches that they
are in; the folders of nodes are removed with the entry of their node.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from pacenote.fetch.disk import REPLACING_FILES
from pacenote.fetch.partial_file import PARTIAL_FILES
from pacenote.provision.layout import EngineLayout
from pacenote.provision.maven import LOCK, NEW_JARS
from pacenote.system.folder_trees import remove_tree, walk_folders
from pacenote.system.locks import open_lock, try_lock

MAX_AGE_S = 3600.0
"""Seconds since the last write after which a folder or file counts as abandoned."""

MAX_DATA_AGE_S = 86_400.0
"""The same for an unfinished data set, whose files do not show when they were written, and for jars of a
first resolve, which the next one continues.
"""


def remove_stale_files(layout: EngineLayout) -> None:
    """Removes unfinished folders and files that were last written more than an hour ago, and unfinished data
    sets and jars of a first resolve after a day. Ignores errors.
    """
    limit, data_limit = time.time() - MAX_AGE_S, time.time() - MAX_DATA_AGE_S
    for folder, oldest in (
        (layout.installs, limit),
        (layout.java, limit),
        # Copying an index to another disk may take hours.
        (layout.data, data_limit),
    ):
        for build in folder.glob(".build-*"):
            if _is_older(build, oldest):
                remove_tree(build)
    for folder, names in (
        # At any depth: earlier versions had other folders in the cache.
        (layout.jars, PARTIAL_FILES),
        (layout.profiler, REPLACING_FILES),
        (layout.locks, REPLACING_FILES),
        (layout.registry, REPLACING_FILES),
    ):
        _remove_files(_files_below(folder, names, without=NEW_JARS), limit)
    _remove_new_jars(layout.jars, data_limit)


def _remove_new_jars(jars: Path, limit: float) -> None:
    """Removes what is left of first resolves that were not continued, unless one runs."""
    if not (jars / NEW_JARS).exists():
        return
    with contextlib.suppress(OSError):
        descriptor = open_lock(jars / LOCK)
        try:
            if try_lock(descriptor):
                _remove_files(_files_below(jars / NEW_JARS, "*"), limit)
                for folder, _, _ in reversed(list(walk_folders(jars / NEW_JARS))):
                    with contextlib.suppress(OSError):
                        Path(folder).rmdir()
        finally:
            os.close(descriptor)


def _files_below(folder: Path, names: str, without: str = "") -> Iterator[Path]:
    """Yields the files in a folder, and in those below it except `without`, whose names match."""
    for path, folders, files in walk_folders(folder):
        folders[:] = [name for name in folders if name != without]
        yield from (Path(path, name) for name in files if fnmatchcase(name, names))


def _remove_files(files: Iterator[Path], limit: float) -> None:
    for file in files:
        if _is_older(file, limit):
            with contextlib.suppress(OSError):
                file.unlink()


def _is_older(path: Path, moment: float) -> bool:
    try:
        return path.lstat().st_mtime < moment
    except OSError:
        return False
