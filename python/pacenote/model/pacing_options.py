"""How tasks with a target rate are driven, as chosen on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pacenote.model.codec import Integer, Stored

Arrivals = Literal["deterministic", "poisson", "uniform"]
"""The built-in schedules: regular, exponentially distributed, or uniformly distributed intervals."""

WARMUP_DRAIN = "warm-up drain"
"""The name in messages of the option that lets the measured window wait for the backlog of the warm-up."""

DEFAULT_SPIN_US = 20
"""Default spin time in microseconds. Most machines wake a sleeping thread later than this, so that spinning
costs next to nothing; on others it costs 2 % of a core at a thousand operations per second.
"""


class DriverOptions(Stored, frozen=True, kw_only=True):
    """The options of pacing that the driver itself obeys: settings of the plan, under the same names."""

    spin_us: Integer = DEFAULT_SPIN_US
    """Microseconds before an operation is due during which its client spins instead of sleeping; 0 disables
    it.
    """

    warmup_drain: bool = False
    """Whether the measured window begins when the backlog of the warm-up is gone, at the latest halfway
    through the planned window.
    """


class PacingOptions(DriverOptions, frozen=True, kw_only=True):
    """The options of a race that change how tasks with a target rate are driven. The command line has an
    option for each, whose parsed value has the name of the field.
    """

    open_loop: bool = False
    """Whether the clients of a task share its schedule, so a slow request does not delay others."""

    max_connections: Integer | None = None
    """Number of clients of an open-loop task; None means the number in the track."""

    arrivals: Arrivals | None = None
    """Replaces the schedule of tasks that have a built-in schedule."""

    titles: ClassVar[Mapping[str, str]] = {"spin_us": "spin time in µs", "warmup_drain": WARMUP_DRAIN}
    """Names of fields in messages; that of another one is its own, with spaces."""
