"""What the threads of this package send each other, and the events of the driver as one type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pacenote._core import (
    ClientEnded,
    ClientId,
    OperationEnded,
    OperationExecuted,
    PrepareStep,
    RaceEnded,
    ReplyReceived,
    RequestFailed,
    RunOperation,
    ScheduleNext,
    StepEnded,
)

BridgeEvent: TypeAlias = (
    PrepareStep
    | RunOperation
    | ScheduleNext
    | OperationEnded
    | ClientEnded
    | StepEnded
    | ReplyReceived
    | RequestFailed
    | OperationExecuted
    | RaceEnded
)
"""Any event of the driver."""


@dataclass(frozen=True, slots=True)
class RunnerStarted:
    """A runner starts an operation that a scheduler paces."""

    client: ClientId
    """The client that executes it."""

    started_s: float
    """When, in seconds of `time.perf_counter`."""


@dataclass(frozen=True, slots=True)
class RunnerEnded:
    """A runner has ended an operation that a scheduler paces."""

    client: ClientId
    """The client that executed it."""

    ended_s: float
    """When, in seconds of `time.perf_counter`."""

    weight: int
    """Work done, in `unit`."""

    unit: str
    """Unit of the work."""

    meta: Mapping[str, Any]
    """What the runner returned besides its work."""


@dataclass(frozen=True, slots=True)
class ParamsConsumed:
    """A runner has ended the operation whose parameters it was given last."""

    client: ClientId
    """The client that executed it."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The thread is to end."""


SourceMessage: TypeAlias = (
    PrepareStep
    | ScheduleNext
    | OperationEnded
    | ClientEnded
    | StepEnded
    | RunnerStarted
    | RunnerEnded
    | ParamsConsumed
    | Shutdown
)
"""Any message to the thread of sources and schedulers."""
