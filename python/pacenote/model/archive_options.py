"""The options that select the official archive of an engine, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import field

from pacenote.model.codec import Stored


class ArchiveOptions(Stored, frozen=True, kw_only=True):
    """The archive to install, as requested on the command line and in configuration files."""

    _hidden: ClassVar[tuple[str, ...]] = (
        "location",
        "mirrors",
        "distributions",
    )

    repository: str | None = None
    """The name of the repository with the archive; None means that an engine is assembled if it can be."""

    location: str | None = None
    """The URL or the absolute path of the archive, which may contain credentials, or None for a repository.
    """

    mirrors: tuple[str, ...] = ()
    """URLs that are tried before the vendors' addresses; they may contain credentials."""

    distributions: Mapping[str, str] = field(default_factory=dict)
    """The section `[distributions]` of the configuration files, with Rally's keys, such as `release.url`;
    URLs may contain credentials.
    """

    @property
    def requested(self) -> bool:
        """Whether an archive was asked for."""
        return self.repository is not None or self.location is not None
