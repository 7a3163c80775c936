"""Messages between the threads of this package, and the events of the driver as one type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from pacenote import _core
from pacenote._core import (
    ClientEnded,
    ClientId,
    CountUnsent,
    OperationEnded,
    PrepareStep,
    StepEnded,
)

BridgeEvent: TypeAlias = "_core._Event"
"""Any event of the driver."""


class ScheduleQuery(Struct, frozen=True):
    """The driver asks when the next operation is due."""

    client: ClientId
    """The client that executes the operation."""

    query_id: int
    """Identifies the query."""

    read_s: float
    """When the event of the driver was read, in seconds of `time.perf_counter`."""


class RunnerStarted(Struct, frozen=True):
    """A runner starts an operation that a scheduler paces."""

    client: ClientId
    """The client that executes the operation."""

    started_s: float
    """Time of the event, in seconds of `time.perf_counter`."""


class RunnerEnded(Struct, frozen=True):
    """A runner has ended an operation that a scheduler paces."""

    client: ClientId
    """The client that executed the operation."""

    ended_s: float
    """Time of the event, in seconds of `time.perf_counter`."""

    weight: int
    """Work done and failed, in `unit`."""

    unit: str
    """Unit of the work."""

    meta: Mapping[str, Any]
    """Values that the runner returned besides its work."""


class ParamsConsumed(Struct, frozen=True):
    """A runner has ended the operation with the parameters that were delivered last."""

    client: ClientId
    """The client that executed the operation."""


class Shutdown(Struct, frozen=True):
    """Ends the thread."""


SourceMessage: TypeAlias = (
    PrepareStep
    | ScheduleQuery
    | CountUnsent
    | OperationEnded
    | ClientEnded
    | StepEnded
    | RunnerStarted
    | RunnerEnded
    | ParamsConsumed
    | Shutdown
)
"""Any message to the thread of sources and schedulers."""
