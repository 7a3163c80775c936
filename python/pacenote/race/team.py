"""The stage of a race that finds its team repository."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field, structs

from pacenote.model.engine_options import EngineOptions
from pacenote.model.race_request import RaceRequest
from pacenote.race.engine_request import engine_to_start
from pacenote.teams.team import TeamRequest, locate_team, uses_team


class TeamMessages(Struct, frozen=True):
    """What is told about a team repository."""

    progress: Callable[[str], None] = lambda _: None
    """Called with a line before what may take long."""
    info: Callable[[str], None] = lambda _: None
    """Called with where the cars come from."""
    warn: Callable[[str], None] = field(default=lambda _: None)
    """Called with warnings."""


def with_team(request: RaceRequest, messages: TeamMessages = TeamMessages()) -> RaceRequest:
    """Returns the request with its team repository located. An existing cluster needs none.

    Raises UsageError and EngineError if the repository cannot be used.
    """
    if request.pipeline == "benchmark-only":
        return request
    engine = located_engine(request.engine, request.home, messages, offline=request.offline)
    return dataclasses.replace(request, engine=engine)


def located_engine(
    engine: EngineOptions, home: Path, messages: TeamMessages = TeamMessages(), *, offline: bool = False
) -> EngineOptions:
    """Returns the engine with its team repository located, if it has one. Raises the same errors."""
    if engine.team.located is not None or not uses_team(engine.team):
        return engine
    team = TeamRequest(
        home=home,
        options=engine.team,
        engine_version=engine_to_start(engine).track_version,
        offline=offline,
    )
    located = locate_team(team, messages.progress)
    for text in located.warnings:
        messages.warn(text)
    messages.info(f"cars from {located.origin}; their templates and hooks run with your permissions")
    return structs.replace(engine, team=structs.replace(engine.team, located=located))
