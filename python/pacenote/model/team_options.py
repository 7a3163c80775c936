"""The options that select a team repository, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from msgspec import field

from pacenote.model.codec import Stored


class LocatedTeam(Stored, frozen=True):
    """A team repository, ready to be read."""

    root: Path
    """Its folder."""

    origin: str
    """What it is, for the user, with the revision."""

    revision: str | None = None
    """The revision of the git repository, followed by `-dirty` if files of a folder differ from it; None for
    a folder outside of git.
    """

    warnings: tuple[str, ...] = ()
    """Warnings, such as that it cannot be updated."""


class TeamOptions(Stored, frozen=True, kw_only=True):
    """The team repository of a race, as requested on the command line."""

    _hidden: ClassVar[tuple[str, ...]] = ("urls",)

    path: Path | None = None
    """The folder of a local repository (`--team-path`), or None."""

    repository: str | None = None
    """The name or URL of a git repository; None means the cars that come with Pacenote."""

    revision: str | None = None
    """A commit, a branch or a tag; None selects the branch for the engine."""

    urls: Mapping[str, str] = field(default_factory=dict)
    """URLs of repositories by name; they may contain credentials."""

    rally_clones: Path | None = None
    """The folder of Rally's clones of team repositories, or None if there is none."""

    located: LocatedTeam | None = None
    """Where it was found, or None if it was not searched yet."""
