"""The curve of the scalability law that was fitted to a saturation, for charts."""

from __future__ import annotations

from pacenote.model.saturation import SaturationResult
from pacenote.stats.usl import fitted_throughput

_POINTS = 60


def fitted_curve(result: SaturationResult) -> tuple[tuple[float, float], ...]:
    """Returns numbers of clients, from the smallest to the largest that was measured, with the work per
    second that the law expects; empty if no law was fitted.
    """
    clients = [level.clients for level in result.levels]
    if result.fit is None or not clients:
        return ()
    low, high = min(clients), max(clients)
    steps = (low * (high / low) ** (step / (_POINTS - 1)) for step in range(_POINTS))
    return tuple((count, fitted_throughput(result.fit, count)) for count in steps)
