"""The track that the user requests, with the options that affect it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pacenote.model.pacing_options import PacingOptions
from pacenote.model.shell_command import shell_command

BuildFlavor = Literal["default", "serverless"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRequest:
    """One track, as requested on the command line; fields have the names of Rally's options."""

    home: Path
    """Pacenote's home folder."""

    track: str | None = None
    """The name of the track, or None with `track_path`."""

    track_path: Path | None = None
    """The path of the track, or None with `track`."""

    track_repository: str | None = None
    """The repository of the track, or `bundled`; None means the one that `locate_track` selects."""

    track_revision: str | None = None
    """The revision of the repository; None selects the branch for the engine."""

    repository_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    """URLs of repositories by name; they may contain credentials."""

    rally_tracks: Path | None = None
    """The folder of Rally's clones of repositories, or None if there is none."""

    engine_version: str = ""
    """Selects the branch of a repository; empty if unknown or if the engine is not Elasticsearch."""

    offline: bool = False
    """Whether downloads are forbidden."""

    track_params: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Parameters of the track; they may contain secrets."""

    allow_outside_paths: bool = False
    """Whether files of the track and its data may be outside of their folders."""

    ignore_unused_track_params: bool = False
    """Whether parameters that the track does not read are accepted."""

    challenge: str | None = None
    """The name of the challenge; None means the track's default."""

    include_tasks: tuple[str, ...] = ()
    """Filters of the tasks to run; empty with `exclude_tasks`."""

    exclude_tasks: tuple[str, ...] = ()
    """Filters of the tasks to exclude; empty with `include_tasks`."""

    test_mode: bool = False
    """Whether tasks run briefly and with little data."""

    build_flavor: BuildFlavor = "default"
    """The build flavor of the engine."""

    serverless_operator: bool | None = None
    """Whether the user operates the serverless cluster; None, if it is not known, counts as false."""

    pacing: PacingOptions = field(default_factory=PacingOptions)
    """The pacing of tasks with a target rate."""

    def info_command(self) -> str:
        """Returns the command that shows this track, without secrets."""
        options = {
            "track-path": self.track_path,
            "track": self.track,
            "track-repository": self.track_repository,
            "track-revision": self.track_revision,
        }
        arguments = [f"--{name}={value}" for name, value in options.items() if value is not None]
        return shell_command("pacenote", "info", *arguments)
