"""Unpacks plugins into a copy of an assembled engine, which has no tool for them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.model.printable import single_line
from pacenote.provision.archives.archive_cache import CachedArchive, CacheLimits
from pacenote.provision.archives.engine_tree import copy_tree
from pacenote.provision.archives.hashed_file import copy_unchanged
from pacenote.provision.archives.plugin_installer import digest_of
from pacenote.provision.install import DESCRIPTOR, MARKER, publish_folder
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_registry import registered_nodes
from pacenote.provision.public_files import make_public_dir, write_public
from pacenote.provision.zip_files import MAX_MEMBERS, DamagedZip, opened_zip, read_member
from pacenote.system.folder_trees import delete_tree, discard_tree
from pacenote.system.paths import exists, is_dir

_MAX_BYTES = 2 << 30
_MAX_DESCRIPTOR_BYTES = 1 << 20
_PREFIX = "with-plugins-"


class AssembledEngineFolder(Struct, frozen=True):
    """An assembled engine that gets plugins."""

    folder: Path
    """Its folder."""
    distribution: str
    """The name of the engine."""
    version: str
    """The version of the engine."""


def unpack_plugins(engine: AssembledEngineFolder, plugins: Sequence[CachedArchive]) -> Path:
    """Returns the folder of a copy of an engine with plugins, made unless that was done before.

    Raises EngineError for an archive that is not a plugin of this version of the engine, that needs one that
    the engine lacks, or that would be written elsewhere, and DiskError.
    """
    digest = digest_of(plugins)
    target = engine.folder.with_name(f"{_PREFIX}{engine.folder.name}-{digest}")
    try:
        if exists(target / MARKER):
            # Marks it as used, for the removal of old copies.
            os.utime(target / MARKER)
            return target
        build = Path(tempfile.mkdtemp(prefix=".build-", dir=target.parent))
        try:
            build.chmod(0o755)
            home = build / "home"
            copy_tree(engine.folder, home)
            for plugin in plugins:
                copy_unchanged(plugin.path, plugin.origin.sha512, build / "plugin.zip")
                _unpack(build / "plugin.zip", plugin.path, home, engine)
                (build / "plugin.zip").unlink()
            write_public(home / MARKER, f"{engine.folder.name}\n")
            publish_folder(home, target)
        finally:
            discard_tree(build)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    return target


def prune_copies(layout: EngineLayout, limits: CacheLimits) -> None:
    """Removes copies with plugins that were not used for a while. Ignores errors."""
    # A node runs in its copy, which may have been used for the last time when the node was started.
    if registered_nodes(layout):
        return
    for folder in layout.installs.glob(f"{_PREFIX}*/"):
        with contextlib.suppress(OSError):
            if (folder / MARKER).stat().st_mtime < limits.oldest_use:
                delete_tree(folder)


def _unpack(copy: Path, archive: Path, home: Path, engine: AssembledEngineFolder) -> None:
    """Unpacks the copy of an archive, which messages name."""
    try:
        with opened_zip(copy) as members:
            descriptor = _read_descriptor(members, archive)
            _check(descriptor, archive, home, engine)
            _extract(members, archive, home / "plugins" / descriptor["name"])
    except DamagedZip as failure:
        raise EngineError(
            f"{archive} is damaged: {single_line(str(failure))}", hint="copy or download it again"
        ) from None


def _read_descriptor(members: zipfile.ZipFile, archive: Path) -> Mapping[str, str]:
    try:
        text = read_member(members, DESCRIPTOR, _MAX_DESCRIPTOR_BYTES).decode("utf-8", "replace")
    except KeyError:
        raise EngineError(
            f"{archive} is not a plugin: it has no {DESCRIPTOR}", hint="use the zip archive of the plugin"
        ) from None
    lines = (line.partition("=") for line in text.splitlines() if not line.lstrip().startswith("#"))
    return {key.strip(): value.strip() for key, _, value in lines}


def _check(descriptor: Mapping[str, str], archive: Path, home: Path, engine: AssembledEngineFolder) -> None:
    name, version = descriptor.get("name", ""), descriptor.get(f"{engine.distribution}.version", "")
    if not re.fullmatch(r"[\w-]+", name):
        raise EngineError(f"{archive} is not a plugin: its {DESCRIPTOR} has no name", hint="use another one")
    if version != engine.version:
        made_for = f"{engine.distribution} {version}" if version else "another engine"
        raise EngineError(
            f"{archive} is a plugin of {made_for}, not of {engine.distribution} {engine.version}",
            hint=f"use the release of {name} for {engine.version}",
        )
    for extended in filter(None, descriptor.get("extended.plugins", "").split(",")):
        needed, *marks = extended.strip().split(";")
        if "optional=true" not in marks and not any(
            is_dir(home / place / needed) for place in ("modules", "plugins")
        ):
            raise EngineError(
                f"plugin {name} needs {needed}, which {engine.distribution} {engine.version} lacks",
                hint=f"name {needed} before it, or use --distribution-repository=release",
            )


def _extract(members: zipfile.ZipFile, archive: Path, folder: Path) -> None:
    if exists(folder):
        raise EngineError(f"plugin {folder.name} is named twice", hint="name it once")
    make_public_dir(folder)
    if len(members.infolist()) > MAX_MEMBERS:
        raise EngineError(f"{archive} contains more than {MAX_MEMBERS:,} files", hint="use another one")
    if sum(entry.file_size for entry in members.infolist()) > _MAX_BYTES:
        raise EngineError(f"{archive} contains more than {_MAX_BYTES:,} bytes", hint="use another one")
    for entry in members.infolist():
        path = PurePosixPath(entry.filename)
        if path.is_absolute() or ".." in path.parts or "\0" in entry.filename:
            raise EngineError(
                f"{archive} is not unpacked: {entry.filename} would be written outside of its folder",
                hint="use the archive of the vendor",
            )
        if entry.filename.endswith("/"):
            make_public_dir(folder / path)
            continue
        make_public_dir((folder / path).parent)
        target = os.open(folder / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with members.open(entry) as source, os.fdopen(target, "wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
            os.fchmod(out.fileno(), 0o644)
