"""A race as the file of another tool describes it, before it becomes a record."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from pacenote.model.imported import ImportedForm, ImportedTool, ImportedValue


class RaceFacts(Struct, frozen=True, kw_only=True):
    """What a file states about a race, apart from its figures; None or empty if it does not state it."""

    tool: ImportedTool = "unknown"
    """The tool that ran the race."""

    tool_version: str | None = None
    """Version of the tool."""

    race_id: str | None = None
    """Id of the race."""

    timestamp: datetime | None = None
    """When the race began."""

    track: str | None = None
    """Name of the track or workload."""

    track_revision: str | None = None
    """Revision of its repository."""

    track_params: Mapping[str, object] = field(default_factory=dict)
    """Its parameters."""

    challenge: str | None = None
    """Name of the challenge or test procedure."""

    car: tuple[str, ...] = ()
    """Names of the cars or cluster configurations."""

    car_params: Mapping[str, object] = field(default_factory=dict)
    """Their parameters."""

    plugin_params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the engine's plugins."""

    team_revision: str | None = None
    """Revision of the repository of the cars."""

    pipeline: str | None = None
    """The pipeline."""

    user_tags: Mapping[str, object] = field(default_factory=dict)
    """Tags of the user."""

    environment: str | None = None
    """Name of the environment."""

    version: str | None = None
    """Version of the engine."""

    flavor: str | None = None
    """Build flavor of the engine."""

    build_hash: str | None = None
    """Revision that the engine was built from."""

    averaged_runs: int = 0
    """Number of races that the figures are averages of; 0 for one race."""


class FoundRace(Struct, frozen=True, kw_only=True):
    """A race in a file."""

    form: ImportedForm
    """The kind of file."""

    facts: RaceFacts
    """What is known about the race."""

    values: tuple[ImportedValue, ...]
    """Its figures; not empty."""

    side: Literal["", "baseline", "contender"] = ""
    """Which race of a comparison it is; empty for any other file."""

    contradictions: tuple[str, ...] = ()
    """Rows of a comparison whose difference is not that of their values, one text each."""

    cluster: str = ""
    """Name of the cluster, if the race had several; otherwise empty."""
