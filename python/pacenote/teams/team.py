"""Finds a team repository: a folder, or the revision of a git repository for an engine, as for tracks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from pacenote.errors import EngineError, UsageError
from pacenote.model.team_options import LocatedTeam, TeamOptions
from pacenote.repository.git_repository import (
    DEFAULT_REPOSITORY,
    Checkout,
    RepositoryKind,
    folder_revision,
    open_repository,
)
from pacenote.system.ownership import replaceable_folder
from pacenote.system.paths import exists, is_dir

DEFAULT_URL = "https://github.com/elastic/rally-teams"

BUILT_IN = ("bundled", "none")
"""Names of `--team-repository` that mean no repository: the cars that come with Pacenote."""


class TeamRequest(Struct, frozen=True, kw_only=True):
    """The team repository that the user has selected."""

    home: Path
    """Pacenote's home folder."""
    options: TeamOptions = field(default_factory=TeamOptions)
    """The repository."""
    engine_version: str = ""
    """The version of the engine that selects the branch; empty for the newest."""
    offline: bool = False
    """Whether cloning and updating are forbidden."""


def uses_team(options: TeamOptions) -> bool:
    """Returns whether the user has selected a team repository. Raises UsageError for contradicting
    options.
    """
    if options.path is not None:
        for option, value in (("repository", options.repository), ("revision", options.revision)):
            if value is not None:
                raise UsageError(f"--team-path and --team-{option} exclude each other")
        return True
    if options.repository in BUILT_IN:
        if options.revision is not None:
            raise UsageError("--team-revision needs a git repository; built-in cars have no revisions")
        return False
    return options.repository is not None or options.revision is not None


def locate_team(request: TeamRequest, progress: Callable[[str], None] = lambda _: None) -> LocatedTeam:
    """Returns the selected team repository, cloned or updated if necessary.

    Raises EngineError if it cannot be used, and UsageError for a malformed name.
    """
    options = request.options
    if options.path is not None:
        if not is_dir(options.path):
            what = "is not a folder" if exists(options.path) else "does not exist"
            raise EngineError(
                f"--team-path {options.path} {what}", hint="name the folder that contains cars and plugins"
            )
        if problem := replaceable_folder(options.path, trusts_owner=True):
            raise UsageError(
                f"--team-path {options.path}, which is code, could be replaced by others: {problem}",
                hint="copy it to a folder that only you can change",
            )
        warnings: list[str] = []
        revision = folder_revision(options.path, warnings.append)
        origin = f"{options.path}, revision {revision}" if revision else str(options.path)
        return LocatedTeam(options.path.absolute(), origin, revision, tuple(warnings))
    kind = RepositoryKind("team", DEFAULT_URL, EngineError)
    repository = open_repository(kind, options.repository or DEFAULT_REPOSITORY, options.urls, request.home)
    repository = dataclasses.replace(
        repository, offline=request.offline, progress=progress, rally_clones=options.rally_clones
    )
    checkout: Checkout = repository.checkout(request.engine_version, options.revision)
    return LocatedTeam(checkout.root, checkout.describe(), checkout.revision, checkout.notes)
