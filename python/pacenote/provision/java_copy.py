"""Copies a Java runtime to a folder from which the user of nodes can run it.

The runtime may be that of an archive without a checksum, whose links lead around in it: a copy that follows
them has no end.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from msgspec import Struct, field

from pacenote.system.folder_trees import MAX_DEPTH, discard_tree, too_deep
from pacenote.system.paths import exists, is_dir, is_file, is_link, leads_through_proc, real_path
from pacenote.system.regular_files import open_regular_file
from pacenote.system.sparse_files import copy_content
from pacenote.units import format_bytes

_MAX_NAMES = 20_000
"""Largest number of files, folders and links in a runtime: those of vendors have about a thousand."""

_MAX_BYTES = 4 << 30
"""Size of the largest runtime, with the holes in its files: those of vendors have up to 1 GiB."""

_PROGRAMS = ("jspawnhelper", "jexec")
"""Programs of a JDK that are in its folder `lib`."""


def copy_java(home: Path, target: Path) -> None:
    """Copies the runtime in `home` to `target`, where every user can read it and run its programs, unless
    that exists.

    Links that lead to something in the runtime stay links; files and folders elsewhere, to which links lead,
    are copied. Raises the first OSError, also for a runtime that is too large or nested too deeply.
    """
    build = Path(tempfile.mkdtemp(prefix=".build-", dir=target.parent))
    try:
        _Copy(real_path(home), real_path(build)).fill()
        build.rename(target)
    except OSError:
        if not exists(target):
            raise
    finally:
        discard_tree(build)


class _Copy(Struct):
    """A copy of a runtime; both paths are without links."""

    home: Path
    target: Path
    names: int = 0
    size: int = 0
    waiting: list[tuple[Path, Path, bool]] = field(default_factory=list)
    """Folders that are not copied yet, where their copies are, and whether they are outside of the
    runtime.
    """

    def fill(self) -> None:
        """Copies everything. Raises OSError."""
        self.waiting = [(self.home, self.target, False)]
        while self.waiting:
            folder, copy, is_outside = self.waiting.pop()
            if len(copy.relative_to(self.target).parts) > MAX_DEPTH:
                raise too_deep()
            copy.mkdir(exist_ok=copy == self.target)
            copy.chmod(0o755)
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._count_name()
                    self._add(entry, copy / entry.name, is_outside=is_outside)

    def _count_name(self) -> None:
        self.names += 1
        if self.names > _MAX_NAMES:
            raise OSError(errno.EFBIG, f"the Java in {self.home} has more than {_MAX_NAMES:,} files")

    def _add(self, entry: os.DirEntry[str], copy: Path, *, is_outside: bool) -> None:
        path = Path(entry.path)
        if is_link(path):
            self._add_link(path, copy, is_outside=is_outside)
        elif entry.is_dir(follow_symlinks=False):
            self.waiting.append((path, copy, is_outside))
        else:
            self._add_file(path, copy)

    def _add_link(self, link: Path, copy: Path, *, is_outside: bool) -> None:
        if leads_through_proc(link):
            # It leads nowhere.
            return
        place = real_path(link)
        if place.is_relative_to(self.home):
            inner = self.target / place.relative_to(self.home)
            copy.symlink_to(os.path.relpath(inner, copy.parent))
        elif is_file(place):
            self._add_file(place, copy)
        elif is_dir(place):
            if is_outside:
                raise OSError(errno.ELOOP, f"{link} is a link from one folder outside of the Java to another")
            self.waiting.append((place, copy, True))

    def _add_file(self, path: Path, copy: Path) -> None:
        with open_regular_file(path) as source, copy.open("xb") as target:
            status = os.fstat(source.fileno())
            self.size += status.st_size
            if self.size > _MAX_BYTES:
                limit = format_bytes(_MAX_BYTES)
                raise OSError(errno.EFBIG, f"the Java in {self.home} has more than {limit}")
            copy_content(source.fileno(), target.fileno(), status.st_size)
            # Some installers unpack programs without the permission to execute them.
            is_program = status.st_mode & 0o100 or copy.parent.name == "bin" or copy.name in _PROGRAMS
            os.fchmod(target.fileno(), 0o755 if is_program else 0o644)
