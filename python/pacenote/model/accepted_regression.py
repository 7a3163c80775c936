"""Regressions of a trend that somebody accepted (docs/trend.md)."""

from __future__ import annotations

from typing import Literal

from pacenote.model.codec import Number, Stored

AcceptedKind = Literal["step", "drift", "missing"]
"""What was accepted: a change between levels, a drift, or that a metric is missing."""


class AcceptedRegression(Stored, frozen=True):
    """A regression that somebody accepted (`pacenote trend accept`): it is not one any more."""

    race_id: str
    """The first race of its new level; of a drift, and of a metric that is missing, the newest race then."""

    metric: str
    """Label of its metric."""

    change: Number | None
    """The accepted change: relative, or of an error rate in points; None if the metric is missing."""

    reason: str
    """Why it was accepted."""

    kind: AcceptedKind | None = None
    """What was accepted; None if an earlier version did not store it. What an accepted drift went through is
    accepted, too; a later step is not."""
