"""The options that select the official archive of an engine, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveOptions:
    """The archive to install, as requested on the command line and in configuration files."""

    repository: str | None = None
    """The name of the repository with the archive; None means that an engine is assembled if it can be."""

    location: str | None = field(default=None, repr=False)
    """The URL or the absolute path of the archive, which may contain credentials, or None for a repository.
    """

    mirrors: tuple[str, ...] = field(default=(), repr=False)
    """URLs that are tried before the vendors' addresses; they may contain credentials."""

    distributions: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The section `[distributions]` of the configuration files, with Rally's keys, such as `release.url`;
    URLs may contain credentials.
    """

    @property
    def requested(self) -> bool:
        """Whether an archive was asked for."""
        return self.repository is not None or self.location is not None
