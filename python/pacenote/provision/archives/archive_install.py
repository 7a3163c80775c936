"""Selects the archive of an engine, and unpacks it into a folder that later races reuse."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from msgspec import Struct

from pacenote.errors import DownloadError, EngineError, UsageError
from pacenote.fetch.download import NotAvailable
from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.model.shell_command import shell_command
from pacenote.provision.archives.addresses import ArchiveSource, archive_source
from pacenote.provision.archives.archive_cache import (
    DEFAULT_CACHE_BYTES,
    DEFAULT_CACHE_DAYS,
    CachedArchive,
    CacheLimits,
    FetchSettings,
    check_archive,
    fetch_archive,
    prune_archives,
)
from pacenote.provision.archives.engine_tree import EngineTree, read_tree
from pacenote.provision.archives.extraction import extract_archive
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES, OfficialArchive
from pacenote.provision.distributions.registry import DESCRIPTIONS
from pacenote.provision.install import MARKER
from pacenote.provision.layout import EngineLayout
from pacenote.provision.maven import MavenRepository
from pacenote.provision.published_versions import listed_versions, nearest_versions
from pacenote.system.folder_trees import delete_tree
from pacenote.units import whole_number

_FOLDER_DIGITS = 32
"""Digits of a checksum in the name of a folder, so many that no two archives with the same ones can be made.

Earlier versions have folders with 16, whose content they had not compared with the checksum.
"""

_FOLDER_PREFIX = "official-"


class InstalledArchive(Struct, frozen=True):
    """An unpacked archive."""

    tree: EngineTree
    """The engine."""
    archive: CachedArchive
    """The archive that it was unpacked from."""


def requested_archive(distribution: str, version: str, options: ArchiveOptions) -> ArchiveSource | None:
    """Returns the archive of a version, or None if the engine is to be assembled.

    That is the one that the options select; without them, a version that cannot be assembled has the archive
    of the vendor. Raises UsageError for an unknown repository, and for a version whose archives have another
    form.
    """
    official = OFFICIAL_ARCHIVES.get(distribution)
    if official is None:
        return None
    if options.requested:
        if _major(version) < official.first_major:
            raise UsageError(
                f"{distribution} {version} cannot be started by Pacenote: its archive has another form",
                hint=f"choose {official.first_major}.0.0 or later",
            )
        return archive_source(official, version, options)
    if any(
        description.name == distribution and description.supports(version) for description in DESCRIPTIONS
    ):
        return None
    # What is not a complete version is reported like that of an assembled engine.
    if version.count(".") < 2 or _major(version) < official.first_major:
        return None
    return archive_source(official, version, options)


def check_requested_archive(
    source: ArchiveSource, layout: EngineLayout, settings: FetchSettings, mirror: str | None
) -> None:
    """Raises an error if an archive is known not to exist, with the nearest versions that do.

    `mirror` is the Maven repository that lists the versions. Creates no files.
    """
    try:
        check_archive(source, layout.archives, settings)
    except NotAvailable:
        raise
    except DownloadError as failure:
        if not source.checked:
            raise
        near = _nearest(OFFICIAL_ARCHIVES[source.distribution], source.version, mirror)
        # An archive of a version that was released is there; it is the network that fails.
        wrong = near and source.version not in near
        hint = f"the nearest versions are {', '.join(near)}" if wrong else failure.hint
        raise DownloadError(failure.message, hint=hint) from None


def install_archive(
    source: ArchiveSource,
    layout: EngineLayout,
    settings: FetchSettings,
    limits: CacheLimits,
    progress: ProgressCallback = no_progress,
) -> InstalledArchive:
    """Downloads an archive and unpacks it, unless that was done before.

    Raises the errors of `fetch_archive`, and EngineError for an archive that is damaged, refused, or that of
    another engine or version.
    """
    prune_archives(layout.archives, limits)
    _prune_folders(layout.installs, limits)
    archive = fetch_archive(source, layout.archives, settings, progress)
    if not archive.origin.verified:
        progress(f"{archive.path.name} has no checksum beside it: it is used as it is", 0, 0)
    return unpack(archive, source, layout, progress)


def unpack(
    archive: CachedArchive,
    source: ArchiveSource,
    layout: EngineLayout,
    progress: ProgressCallback = no_progress,
) -> InstalledArchive:
    """Unpacks an archive that is on this machine. Raises EngineError and DiskError."""
    folder = (
        layout.installs / f"{_FOLDER_PREFIX}{source.distribution}-{archive.origin.sha512[:_FOLDER_DIGITS]}"
    )
    try:
        unpacked = extract_archive(archive.path, archive.origin.sha512, folder, progress)
        tree = read_tree(unpacked, str(archive.path))
    except EngineError:
        if archive.path.is_relative_to(layout.archives):
            # A damaged download would otherwise be used again.
            with contextlib.suppress(OSError):
                archive.path.unlink()
        raise
    if (tree.official.name, tree.version) != (source.distribution, source.version):
        raise EngineError(
            f"{archive.path} is the archive of {tree.official.name} {tree.version}, not of "
            f"{source.distribution} {source.version}",
            hint="give "
            + shell_command(f"--distribution={tree.official.name}", f"--distribution-version={tree.version}"),
        )
    with contextlib.suppress(OSError):
        # Marks it as used, for the removal of old engines.
        os.utime(folder / MARKER)
    return InstalledArchive(tree, archive)


def cache_limits(options: ArchiveOptions) -> CacheLimits:
    """Returns the limits in `[distributions]`: `cache.days` and `cache.size`. Raises UsageError."""
    days = options.distributions.get("cache.days", str(DEFAULT_CACHE_DAYS))
    size = options.distributions.get("cache.size", f"{DEFAULT_CACHE_BYTES >> 30}g")
    if not re.fullmatch(r"0*[1-9]\d{0,5}", days):
        raise UsageError(f"[distributions] cache.days must be a positive number, not '{days}'")
    if not re.fullmatch(r"\d{1,9}g", size):
        raise UsageError(f"[distributions] cache.size must be a size such as 20g, not '{size}'")
    return CacheLimits(int(days), int(size[:-1]) << 30)


def _prune_folders(installs: Path, limits: CacheLimits) -> None:
    """Removes unpacked archives that were not used for a while. Running nodes have their own links."""
    for folder in installs.glob(f"{_FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError):
            if (folder / MARKER).stat().st_mtime < limits.oldest_use:
                delete_tree(folder)


def _nearest(official: OfficialArchive, version: str, mirror: str | None) -> tuple[str, ...]:
    """Returns the nearest versions of an engine that were released; empty if they cannot be read."""
    group, name = official.server.split(":")
    try:
        versions = listed_versions(group, name, MavenRepository(mirror))
    except EngineError:
        return ()
    return nearest_versions(version, (release for release in versions if release.replace(".", "").isdigit()))


def _major(version: str) -> int:
    return whole_number(version.partition(".")[0]) or 0
