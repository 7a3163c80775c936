"""Finds tracks in folders and reads their files."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import TrackError
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.system.ownership import replaceable_folder
from pacenote.system.paths import real_path

ENTRY_FILES = ("track.json", "workload.json")
"""Names of a track's entry file: Rally's, and OpenSearch Benchmark's."""


OUTSIDE_HINT = "move the file into that folder, or use --allow-outside-paths if you trust the track"


class TrackSource(Struct, frozen=True):
    """The location of a track. Paths are absolute."""

    name: str
    """The name of the track."""

    root: Path
    """Its folder."""

    file: Path
    """Its entry file."""

    boundary: Path | None = None
    """The folder that its files must not leave, without symbolic links; None means no limit."""

    def read(self, path: Path) -> str:
        """Returns the text of one file of the track.

        Raises `TrackError` if it cannot be read or is outside of the boundary.
        """
        self.check(path)
        return read_text(path)

    def glob(self, folder: Path, pattern: str) -> list[Path]:
        """Returns the files that match a pattern relative to a folder, sorted. Raises `TrackError` if one is
        outside of the boundary.
        """
        matches = sorted(glob.glob(pattern, root_dir=folder))  # noqa: PTH207  # Path.glob refuses absolute patterns
        paths = [Path(os.path.normpath(folder / name)) for name in matches]
        files = [path for path in paths if path.is_file()]
        for file in files:
            self.check(file)
        return files

    def check(self, path: Path) -> None:
        """Raises `TrackError` if a path or the target of its links is outside of the boundary."""
        if self.boundary is not None and not real_path(path).is_relative_to(self.boundary):
            raise TrackError(
                f"track {quoted(self.name)}: {self.display_path(path)} leads to {real_path(path)}, outside "
                f"of {self.boundary}",
                hint=OUTSIDE_HINT,
            )

    def display_path(self, path: Path) -> str:
        """Returns a path for messages, relative to the folder of the track."""
        return os.path.relpath(path, self.root)


class TrackRepository(Protocol):
    """A collection of tracks with names: a folder, or a checkout of a git repository."""

    def names(self) -> Sequence[str]:
        """Returns the names of all tracks."""

    def folder(self, name: str) -> Path | None:
        """Returns the folder of a track, or None if there is no such track."""


_MAX_DEPTH = 64
"""Folders above that of a track, at most: Python follows them with recursion."""


class FolderRepository(Struct, frozen=True):
    """Tracks in a folder, each in its own folder; the name of a track is its relative path."""

    root: Path
    """The folder of all tracks."""

    def names(self) -> Sequence[str]:
        """Returns the sorted names of all folders below the root that contain an entry file, except hidden
        ones, and those that are nested more than 64 times.
        """
        names = []
        for folder, below, files in os.walk(self.root):
            depth = len(Path(folder).relative_to(self.root).parts)
            below[:] = [name for name in below if not name.startswith(".") and depth < _MAX_DEPTH]
            if not set(ENTRY_FILES).isdisjoint(files):
                names.append(Path(folder).relative_to(self.root).as_posix())
        return sorted(name for name in names if name != ".")

    def folder(self, name: str) -> Path | None:
        """Returns the folder of a track, or None if there is no such track."""
        folder = self.root / name
        if not name or ".." in folder.parts or not folder.is_relative_to(self.root) or folder == self.root:
            return None
        return folder if any((folder / entry).is_file() for entry in ENTRY_FILES) else None


_MAX_LISTED = 12

BUNDLED_TRACKS = FolderRepository(real_path(Path(__file__)).parents[1] / "tracks")
"""The tracks that come with Pacenote."""

BUNDLED_REPOSITORY = "bundled"
"""The name that selects them in place of a repository (`--track-repository`)."""


class SearchPlace(Struct, frozen=True):
    """Where a track was searched, for the error that it is not there; by default, nothing is said."""

    where: str = ""
    """The end of a sentence, with a space before it."""

    listing: str = "pacenote list tracks"
    """The command that lists the tracks there."""


def find_track(
    name: str,
    repositories: Sequence[TrackRepository] = (BUNDLED_TRACKS,),
    place: SearchPlace = SearchPlace(),
) -> TrackSource:
    """Returns the track with this name from the first repository that has it; `./a//b/` is called `a/b`.

    Raises `TrackError` with similar names if no repository has it. The error names the `place` that
    was searched.
    """
    for repository in repositories:
        folder = repository.folder(name)
        if folder is not None:
            return replace(open_track(folder), name=Path(name).as_posix())
    known = [known for repository in repositories for known in repository.names()]
    raise TrackError(
        f"there is no track {quoted(name)}{place.where}{did_you_mean(name, known)}",
        hint=f"{_list_hint(known, place.listing)}; use --track-path for your own track",
    )


def _list_hint(known: Sequence[str], listing: str) -> str:
    return f"tracks: {quoted_list(known)}" if len(known) <= _MAX_LISTED else f"`{listing}` lists all tracks"


def open_track(path: Path) -> TrackSource:
    """Returns the track at a path, which is its folder or a JSON file named after the track (`--track-path`).

    Raises `TrackError` if there is no track.
    """
    path = path.absolute()
    if path.is_file():
        if path.suffix != ".json":
            raise TrackError(f"{path} is not a track", hint="name the track's folder or its .json file")
        name = path.parent.name if path.name in ENTRY_FILES else path.stem
        # The user named this file, so a link is followed.
        file = real_path(path) if path.is_symlink() else path
        return TrackSource(name=name, root=file.parent, file=file, boundary=boundary_of(file.parent))
    if not path.exists():
        raise TrackError(
            f"{path} does not exist", hint="--track-path names the track's folder or its .json file"
        )
    for entry in ENTRY_FILES:
        if (path / entry).is_file():
            return TrackSource(real_path(path).name, path, path / entry, boundary_of(path))
    raise TrackError(
        f"{path} does not contain track.json", hint="--track-path names the track's folder or its .json file"
    )


def open_named_track(path: Path) -> TrackSource:
    """Returns the track at a path that the user has named to run it.

    Raises `TrackError` as `open_track` does, and if other users than its owner could replace it.
    """
    source = open_track(path)
    for folder in (path if path.is_dir() else path.parent, source.root):
        if problem := replaceable_folder(folder, trusts_owner=True):
            raise TrackError(
                f"the track {path}, which is code, could be replaced by others: {problem}",
                hint="copy the track to a folder that only you can change",
            )
    return source


def is_track(path: Path) -> bool:
    """Returns whether `--track-path` can name this path: a folder with an entry file, or a JSON file."""
    if path.is_file():
        return path.suffix == ".json"
    return any((path / entry).is_file() for entry in ENTRY_FILES)


def boundary_of(root: Path) -> Path:
    """Returns the folder that the files of a track must not leave.

    This is the git work tree that contains it, because the tracks of a repository share files, otherwise the
    track's own folder.
    """
    folder, shared = real_path(root), {Path("/")}
    # Without HOME, an unknown user has no home folder.
    with contextlib.suppress(RuntimeError):
        shared.add(real_path(Path.home()))
    for candidate in (folder, *folder.parents):
        # Some users keep their whole home folder in git.
        if candidate not in shared and _is_work_tree(candidate, folder):
            return candidate
    return folder


def _is_work_tree(folder: Path, track: Path) -> bool:
    """Returns whether a folder has git's folder or file, and not one that another user than that of the track
    has put there, as in `/tmp`.
    """
    try:
        owner = (folder / ".git").lstat().st_uid
        return owner in {0, os.geteuid(), track.stat().st_uid}
    except OSError:
        return False


def read_text(path: Path) -> str:
    """Returns the text of a UTF-8 file. Raises `TrackError` if it cannot be read."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise TrackError(f"{path} cannot be read: it is a pipe, a device or a socket")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as cause:
        raise TrackError(f"{path} is not UTF-8 text: byte {cause.start} cannot be read") from cause
    except OSError as cause:
        raise TrackError(f"{path} cannot be read: {cause.strerror or cause}") from cause
