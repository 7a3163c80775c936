"""A threshold of one race, and what a figure of the race says of it."""

from __future__ import annotations

from msgspec import Struct


class Threshold(Struct, frozen=True):
    """What a figure of one race must be below or, of a custom metric, above."""

    q: float | None
    """The percentile of latency, or of service time without a target rate, from 0 to 100; None for errors and
    custom metrics.
    """

    limit: float
    """The limit in milliseconds, as a share of the operations from 0 to 1, or of a custom metric in its unit.
    """

    task: str = ""
    """Name of the task; empty for each task of the report."""

    text: str = ""
    """As it was given."""

    key: str = ""
    """The key of a custom metric; empty for times and errors."""

    is_minimum: bool = False
    """Whether a custom metric must be above the limit, and not below it."""


class ThresholdResult(Struct, frozen=True):
    """Whether a figure of a task is within a threshold."""

    threshold: Threshold
    """The threshold."""

    task: str
    """Name of the task."""

    problem: str
    """Why it is not; empty if it is."""

    value: str = ""
    """The figure with its 95 % interval; empty if it is not known."""
