"""The options that select the sources of an engine, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import field

from pacenote.model.codec import Integer, Stored

CURRENT = "current"
"""The revision that means the sources as they are."""

LATEST = "latest"
"""The revision that means the newest commit of the main branch."""

DEFAULT_CACHE_DAYS = 7
"""Days after which a build that was not used is removed, as in Rally."""


class PluginSources(Stored, frozen=True, kw_only=True):
    """The sources of a plugin with a repository of its own, as `[source]` of `rally.ini` describes them."""

    _hidden: ClassVar[tuple[str, ...]] = ("url",)

    url: str = ""
    """The URL of the repository, which may contain credentials; empty if there is none."""

    path: str = ""
    """The folder of a local checkout, which may not exist; empty if there is none."""

    command: str = ""
    """The command of the build."""

    artifacts: str = ""
    """The folder of the zip archive, below that of the sources."""


class SourceOptions(Stored, frozen=True, kw_only=True):
    """The sources that an engine is built from; fields have the names of Rally's options."""

    _hidden: ClassVar[tuple[str, ...]] = ("source_path",)

    revision: str = CURRENT
    """The revision, or revisions by component, in the form of `--revision`."""

    source_path: str = ""
    """A local checkout, or the URL of a git repository, which may contain credentials; empty for the
    repository of the engine.
    """

    source_build_release: bool = False
    """Whether a release is built in place of a snapshot."""

    plugins: Mapping[str, PluginSources] = field(default_factory=dict)
    """The sources of plugins with repositories of their own, by name."""

    source_cache_days: Integer = DEFAULT_CACHE_DAYS
    """Days after which a build that was not used is removed; 0 means that builds are not kept."""
