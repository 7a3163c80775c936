"""The unpacked archive of an engine, and the copy of it that a node gets.

A copy shares its large files with the unpacked archive by hard links. Files that hooks and tools may change
are copied: those of `bin`, `config` and `plugins`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES, OfficialArchive
from pacenote.provision.install import MARKER
from pacenote.provision.public_files import copy_file, make_public_dir
from pacenote.system.paths import is_dir, is_file, is_link, paths_in, real_path

COPIED_FOLDERS = ("bin", "config", "plugins")
"""Folders of an engine whose files a node may change."""

RUNTIME_FOLDERS = ("data", "logs")
"""Folders that an engine has by default inside its own, and that are elsewhere for a node."""

_VERSION = r"\d{1,9}\.\d{1,9}\.\d{1,9}[\w.-]{0,60}"


class EngineTree(Struct, frozen=True):
    """An unpacked archive."""

    folder: Path
    """The folder with `bin`, `config` and `lib`."""
    official: OfficialArchive
    """What is known of the archives of this engine."""
    version: str
    """The version of the engine, as its jar names it: with ASCII digits only."""

    @property
    def bundled_java(self) -> Path | None:
        """The folder of the Java that is part of the archive, or None."""
        java = real_path(self.folder / "jdk")
        return java if is_file(java / "bin" / "java") else None

    @property
    def plugin_tool(self) -> Path:
        """The engine's tool that installs plugins."""
        return self.folder / "bin" / f"{self.official.name}-plugin"

    @property
    def minor_version(self) -> tuple[int, int]:
        """The first two numbers of the version."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    def default_settings(self) -> dict[str, object]:
        """Returns the settings of the parts that this archive has."""
        return {
            key: value
            for part in self.official.optional_parts
            if self.minor_version >= part.since and is_dir(self.folder / part.folder)
            for key, value in part.settings.items()
        }


def read_tree(folder: Path, described_as: str) -> EngineTree:
    """Returns the engine in a folder. Raises EngineError if it is not an official archive.

    `described_as` is where the folder comes from, for messages.
    """
    for official in OFFICIAL_ARCHIVES.values():
        jar = re.compile(rf"{official.name}-({_VERSION})\.jar", re.ASCII)
        names = (path.name for path in paths_in(folder / "lib"))
        versions = [match[1] for name in names if (match := jar.fullmatch(name))]
        if versions and is_file(folder / "bin" / official.name):
            return EngineTree(folder, official, versions[0])
    needed = " or ".join(f"bin/{name} with lib/{name}-VERSION.jar" for name in OFFICIAL_ARCHIVES)
    raise EngineError(
        f"{described_as} is not the archive of an engine: it has no {needed}",
        hint="use the tar.gz archive of the vendor for Linux",
    )


def copy_tree(source: Path, target: Path, *, without: tuple[str, ...] = ()) -> None:
    """Copies an engine into a folder that does not exist, with hard links for files that never change.

    `without` are folders that the copy does not get. Raises OSError.
    """
    target.mkdir()
    target.chmod(0o755)
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        if entry.name not in (MARKER, *without):
            link = entry.name not in COPIED_FOLDERS
            _copy(Path(entry.path), target / entry.name, link=link)


def _copy(source: Path, target: Path, *, link: bool) -> None:
    if is_link(source):
        target.symlink_to(source.readlink())
    elif is_dir(source):
        make_public_dir(target)
        for entry in os.scandir(source):
            _copy(Path(entry.path), target / entry.name, link=link)
    elif link:
        _link(source, target)
    else:
        copy_file(source, target)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        # The folders are on different file systems, or on one without hard links.
        copy_file(source, target)
