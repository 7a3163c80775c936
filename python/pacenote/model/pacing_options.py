"""How tasks with a target rate are driven, as the user decides it beside the track."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Arrivals = Literal["deterministic", "poisson", "uniform"]

DEFAULT_SPIN_US = 20
"""A sleeping thread is woken later than it asked, by more than this on most machines, so that asking so much
earlier costs next to nothing; where it is not, it is 2 % of a core at a thousand operations per second.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacingOptions:
    """What of a race's schedules is not the track's to say.

    `open_loop`: the clients of a task with a target rate share its schedule, so that a slow one holds back no
    other. `max_connections` is then how many clients such a task has, None for as many as the track says.
    `arrivals` takes the place of the track's schedule where that is a built-in one. `spin_us` is how many
    microseconds before an operation is due its client watches the clock in place of sleeping, 0 for never.
    """

    open_loop: bool = False
    max_connections: int | None = None
    arrivals: Arrivals | None = None
    spin_us: int = DEFAULT_SPIN_US
