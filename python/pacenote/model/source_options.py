"""The options that select the sources of an engine, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CURRENT = "current"
"""The revision that means the sources as they are."""

LATEST = "latest"
"""The revision that means the newest commit of the main branch."""

DEFAULT_CACHE_DAYS = 7
"""Days after which a build that was not used is removed, as in Rally."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSources:
    """The sources of a plugin with a repository of its own, as `[source]` of `rally.ini` describes them."""

    url: str = field(default="", repr=False)
    """The URL of the repository, which may contain credentials; empty if there is none."""

    path: str = ""
    """The folder of a local checkout, which may not exist; empty if there is none."""

    command: str = ""
    """The command of the build."""

    artifacts: str = ""
    """The folder of the zip archive, below that of the sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The sources that an engine is built from; fields have the names of Rally's options."""

    revision: str = CURRENT
    """The revision, or revisions by component, in the form of `--revision`."""

    source_path: str = field(default="", repr=False)
    """A local checkout, or the URL of a git repository, which may contain credentials; empty for the
    repository of the engine.
    """

    source_build_release: bool = False
    """Whether a release is built in place of a snapshot."""

    plugins: Mapping[str, PluginSources] = field(default_factory=dict)
    """The sources of plugins with repositories of their own, by name."""

    source_cache_days: int = DEFAULT_CACHE_DAYS
    """Days after which a build that was not used is removed; 0 means that builds are not kept."""
