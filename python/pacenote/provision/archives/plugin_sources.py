"""Where the plugins of an engine are: at the vendor, in `[distributions]`, a URL, a file, a Maven repository.

They are downloaded like archives: compared with their checksums, continued, mirrored and kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pacenote.errors import UsageError
from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision.archives.addresses import (
    ArchiveSource,
    archive_location,
    plugin_address,
    render_address,
)
from pacenote.provision.archives.archive_cache import CachedArchive, FetchSettings, fetch_archive
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES
from pacenote.provision.layout import EngineLayout
from pacenote.provision.maven import MavenRepository

MAVEN_COORDINATE = re.compile(r"([\w-]+(?:\.[\w-]+)+):([\w.-]+):(\w[\w.-]*)")
"""Group id, artifact id and version of a plugin."""


@dataclass(frozen=True, slots=True)
class PluginOrigin:
    """What determines the addresses of plugins."""

    distribution: str
    """The name of the engine."""
    version: str
    """The version of the engine."""
    archive: ArchiveOptions
    """The repository, and the section `[distributions]`."""
    maven_mirror: str | None = field(default=None, repr=False)
    """The URL of a Maven repository, which may contain credentials, or None for the default one."""


def is_location(name: str) -> bool:
    """Returns whether a plugin is named by its URL, its path or its Maven coordinate."""
    return "/" in name or name.endswith(".zip") or MAVEN_COORDINATE.fullmatch(name) is not None


def plugin_source(name: str, origin: PluginOrigin) -> ArchiveSource:
    """Returns where a plugin is. Raises UsageError for an unusable location, and EngineError."""
    official = OFFICIAL_ARCHIVES[origin.distribution]
    title = f"plugin {name} for {origin.distribution}"
    if match := MAVEN_COORDINATE.fullmatch(name):
        group, artifact, version = match.groups()
        repository = MavenRepository(origin.maven_mirror)
        path = f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.zip"
        return ArchiveSource(f"plugin {artifact}", version, f"{repository.location}/{path}")
    if is_location(name):
        location = archive_location(name)
        title = f"plugin {Path(location.partition('?')[0]).name} for {origin.distribution}"
        return ArchiveSource(title, origin.version, location)
    configured = plugin_address(name, origin.version, official, origin.archive)
    if configured is not None:
        return ArchiveSource(title, origin.version, configured)
    if not re.fullmatch(r"[\w-]+", name):
        raise UsageError(f"'{name}' is not the name of a plugin", hint="name it as analysis-icu")
    address = render_address(official.plugins, origin.version, official).replace("{{PLUGIN}}", name)
    return ArchiveSource(title, origin.version, address, checked=True)


def fetch_plugins(
    names: Sequence[str],
    origin: PluginOrigin,
    layout: EngineLayout,
    settings: FetchSettings,
    progress: ProgressCallback = no_progress,
) -> tuple[CachedArchive, ...]:
    """Returns the zip archives of plugins. Raises the errors of `fetch_archive`, with the plugin's name."""
    archives = []
    for name in names:
        archive = fetch_archive(plugin_source(name, origin), layout.archives, settings, progress)
        if not archive.origin.verified:
            progress(f"{archive.path.name} has no checksum beside it: it is used as it is", 0, 0)
        archives.append(archive)
    return tuple(archives)
