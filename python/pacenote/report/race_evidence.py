"""What is known of a race beside its record."""

from __future__ import annotations

from msgspec import Struct, field

from pacenote.model.diagnosis import Diagnosis
from pacenote.model.race_timeline import RaceObservations
from pacenote.report.recording.hot_methods import NodeProfile


class RaceEvidence(Struct, frozen=True):
    """What was observed of a race over time, and what the diagnosis says about it."""

    observed: RaceObservations = field(default_factory=RaceObservations)
    """What was observed over time."""

    diagnosis: Diagnosis | None = None
    """The diagnosis, or None if there is none."""

    profiles: tuple[NodeProfile, ...] = ()
    """What the recordings of the JVMs show of their methods, by node; none if no JVM was recorded."""

    is_running: bool = False
    """Whether a different process runs the race."""
