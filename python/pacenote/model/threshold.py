"""A threshold of one race, and what a figure of the race says of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a figure of one race must be below."""

    q: float | None
    """The percentile of latency, or of service time without a target rate, from 0 to 100; None for errors."""

    limit: float
    """The limit in milliseconds, or as a share of the operations from 0 to 1."""

    task: str = ""
    """Name of the task; empty for each task of the report."""

    text: str = ""
    """As it was given."""


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """Whether a figure of a task is within a threshold."""

    threshold: Threshold
    """The threshold."""

    task: str
    """Name of the task."""

    problem: str
    """Why it is not; empty if it is."""

    value: str = ""
    """The figure with its 95 % interval; empty if it is not known."""
