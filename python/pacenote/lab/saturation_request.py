"""The parameters of a search for the highest rate."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from pacenote.lab.rate_search import RateRange
from pacenote.model.race_request import RaceRequest
from pacenote.model.saturation import Objective

PrepareChoice = Literal["all", "needed"]
"""Which tasks of the challenge run before a search (`--prepare`)."""


class SaturationRequest(Struct, frozen=True, kw_only=True):
    """The parameters of a search."""

    race: RaceRequest
    """The race that prepares the engine: track, challenge, cluster and data."""

    task: str | None
    """Name of the task to saturate; None is the last task of the challenge that is not administrative."""

    objective: Objective
    """The limits that a rate must meet to pass."""

    within: RateRange
    """Range and precision of the search."""

    connections: int
    """Maximum number of open connections."""

    window_s: float
    """Measured seconds of a probe; longer if the objective needs more operations."""

    warmup_s: float
    """Seconds of warm-up before the measured window."""

    clients: int
    """Maximum number of clients of the closed-loop sweep; 0 for no sweep."""

    level_s: float
    """Measured seconds of each level of the sweep."""

    prepare: PrepareChoice = "needed"
    """Which tasks before the task run once before the search: all, or those that may change the engine."""

    repeats: int = 3
    """Number of measurements of each level of the sweep."""
