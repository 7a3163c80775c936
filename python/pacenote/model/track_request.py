"""Which track is wanted, and what is to be made of it, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pacenote.model.pacing_options import PacingOptions

BuildFlavor = Literal["default", "serverless"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRequest:
    """One track, as asked for on the command line; fields are Rally's options of the same name.

    `track` is a name, or else `track_path` is set. Without `track_repository` the name is looked up among the
    tracks that come along, then in the repository `default`. `repository_urls` says where repositories are,
    by name; a URL may hold credentials. `engine_version` chooses the branch of a repository, "" where it is
    not known or the engine is no Elasticsearch. `home` is Pacenote's home folder; `offline` fetches nothing.
    At most one of `include_tasks` and `exclude_tasks` is set.
    """

    home: Path
    track: str | None = None
    track_path: Path | None = None
    track_repository: str | None = None
    track_revision: str | None = None
    repository_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    engine_version: str = ""
    offline: bool = False
    track_params: Mapping[str, object] = field(default_factory=dict, repr=False)
    ignore_unused_track_params: bool = False
    challenge: str | None = None
    include_tasks: tuple[str, ...] = ()
    exclude_tasks: tuple[str, ...] = ()
    test_mode: bool = False
    build_flavor: BuildFlavor = "default"
    serverless_operator: bool = False
    pacing: PacingOptions = field(default_factory=PacingOptions)
