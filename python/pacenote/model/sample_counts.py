"""How many samples percentiles need; see docs/measuring.md."""

from __future__ import annotations

SAMPLES_NEEDED = {50.0: 6, 90.0: 36, 99.0: 368, 99.9: 3_688, 99.99: 36_887}
"""Number of samples from which on a percentile has a 95 % interval."""

PERCENTILES = tuple(SAMPLES_NEEDED)
"""The percentiles below 100 that reports may have, and that an objective may limit."""


def samples_for(q: float) -> int:
    """Returns the number of samples that a percentile needs; 1 for the 100th, which never has an interval."""
    return SAMPLES_NEEDED.get(q, 1)
