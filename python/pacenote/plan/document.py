"""The plan document: the Python mirror of `crates/plan`, and its JSON.

The driver refuses a document with a field that it does not know. Fields are written in the order given here,
under their own names unless the metadata of a field gives another key, so that equal plans give equal texts.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pacenote.model.client_options import TlsOptions
from pacenote.model.secrets import REDACTED, redact_value
from pacenote.model.work import Headers, PythonRunner, PythonSource, TaskWork, document_data, written_as

VERSION = 3
"""The version of the document; the driver refuses any other."""

_PUBLIC_HEADERS = frozenset({"accept", "accept-encoding", "content-type", "user-agent", "x-opaque-id"})


class OnError(enum.Enum):
    """What a failed request does to the race (`--on-error`)."""

    CONTINUE = "continue"
    CONTINUE_ON_NETWORK = "continue-on-network"
    ABORT = "abort"


class SampleRetention(enum.Enum):
    """Which samples are kept one by one (`--samples`); totals and series per second are always kept."""

    ALL = "all"
    NONE = "none"
    AUTO = "auto"


@dataclass(frozen=True, slots=True)
class TargetProxy:
    """An HTTP proxy between the driver and a host."""

    scheme: str
    """How the driver connects to the proxy: `http` or `https`."""
    host: str
    """Name or address, IPv6 without brackets."""
    port: int
    """TCP port."""
    authorization: str | None = None
    """Value of the header `proxy-authorization`; secret."""


@dataclass(frozen=True, slots=True)
class TargetHost:
    """One address of a cluster."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Name or address, IPv6 without brackets."""
    port: int
    """TCP port."""
    path: str = ""
    """Prefix of every path, empty or starting with a slash, without a slash at its end."""
    proxy: TargetProxy | None = None
    """The proxy to connect through; None: the driver connects directly."""


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster under test, and how to talk to it."""

    hosts: tuple[TargetHost, ...]
    """Clients are spread over these round-robin; never empty."""
    headers: Headers
    """Sent with every request; values may be secret."""
    timeout_ms: int
    """How long a request may take unless it has its own timeout, in milliseconds."""
    compress: bool = False
    """Whether request bodies are compressed with gzip, and compressed responses are requested."""
    tls: TlsOptions = TlsOptions()
    """Which certificates are trusted, and which certificate the driver presents."""


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A further cluster that runners may send requests to."""

    name: str
    """The cluster's name in `--target-hosts`; never `default`."""
    target: Target
    """The cluster."""


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """How the driver behaves."""

    threads: int
    """Threads that send requests; 0 means one per core."""
    on_error: OnError
    """What a failed request does to the race."""
    spin_us: int = 0
    """How long before an operation is due its client stops sleeping and spins, in microseconds; 0: never."""
    samples: SampleRetention = SampleRetention.ALL
    """Which samples are kept one by one."""


@dataclass(frozen=True, slots=True)
class Unpaced:
    """Closed loop: each client sends its next operation as soon as the previous one has ended."""

    kind: ClassVar[str] = "unpaced"


@dataclass(frozen=True, slots=True)
class Deterministic:
    """Operations of the task are due at a fixed interval."""

    kind: ClassVar[str] = "deterministic"
    interval_s: float
    """Seconds between two operations of the task, over all its clients."""


@dataclass(frozen=True, slots=True)
class Poisson:
    """Operations of the task arrive as a Poisson process."""

    kind: ClassVar[str] = "poisson"
    interval_s: float
    """Mean seconds between two operations of the task, over all its clients."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Each client's operations are due at a random moment of each of its intervals."""

    kind: ClassVar[str] = "uniform"
    interval_s: float
    """Mean seconds between two operations of the task, over all its clients."""


@dataclass(frozen=True, slots=True)
class PythonScheduler:
    """A scheduler written in Python determines when each client's next operation is due."""

    kind: ClassVar[str] = "scheduled"


TaskPacing = Unpaced | Deterministic | Poisson | Uniform | PythonScheduler
"""When the operations of a task are due."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """The task ends after a number of operations per client, warm-up first."""

    kind: ClassVar[str] = "iterations"
    warmup: int
    """Operations per client that are not measured."""
    measured: int
    """Operations per client that are measured."""


UNTIL_EXHAUSTED = 2**53
"""A number of measured iterations that no source reaches: the task ends with its source, after its warm-up
iterations.
"""


@dataclass(frozen=True, slots=True)
class TimePeriod:
    """The task ends after a time, warm-up first."""

    kind: ClassVar[str] = "time"
    warmup_s: float
    """Seconds from the start of the task that are not measured."""
    measured_s: float | None
    """Seconds that are measured; None: until the source is exhausted or another task completes the step."""


TaskBound = Iterations | TimePeriod
"""When a task ends; a source that is exhausted ends it in any case."""


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task as the driver runs it."""

    name: str
    """Unique within the plan."""
    operation: str
    """Name of the operation; several tasks may share it."""
    operation_type: str
    """The operation's type, such as `bulk`."""
    clients: int
    """How many clients run the task; at least 1."""
    pace: TaskPacing
    """When operations are due."""
    bound: TaskBound
    """When the task ends."""
    ramp_up_s: float
    """Client i of n starts `ramp_up_s * i / n` seconds after the first."""
    unit: str
    """Unit of the work done, for example `docs` or `ops`."""
    tolerates_errors: bool
    """Whether failures do not end the race even with `--on-error=abort`."""
    work: TaskWork
    """What every operation does."""
    open_loop: bool = False
    """Whether the clients share one schedule, so that a slow client does not delay other operations."""

    @property
    def needs_python(self) -> bool:
        """Whether its operations need a parameter source, a runner or a scheduler written in Python."""
        return isinstance(self.work, PythonSource | PythonRunner) or isinstance(self.pace, PythonScheduler)


@dataclass(frozen=True, slots=True)
class TaskAllocation:
    """The part of a task that one client runs."""

    task: int
    """Position of the task in `Plan.tasks`."""
    client: int
    """Which of the task's clients this is, from 0."""


@dataclass(frozen=True, slots=True)
class ClientAllocation:
    """What one client runs in a step."""

    client: int
    """Row of the allocation matrix; a client keeps its connection for the whole race."""
    allocations: tuple[TaskAllocation, ...]
    """Its tasks, one after another; never empty."""


@dataclass(frozen=True, slots=True)
class CompletedByTask:
    """The step ends when all clients of one task have ended."""

    kind: ClassVar[str] = "task"
    task: int
    """Position of the task in `Plan.tasks`."""


@dataclass(frozen=True, slots=True)
class CompletedByAny:
    """The step ends when all clients of any of its tasks have ended."""

    kind: ClassVar[str] = "any"


CompletedBy = CompletedByTask | CompletedByAny
"""What ends a step before all its tasks have ended."""


@dataclass(frozen=True, slots=True)
class Step:
    """One element of the schedule: a task, or several in parallel. All clients meet at its end."""

    name: str
    """The name of the task or of the parallel element, for messages."""
    client_allocations: tuple[ClientAllocation, ...] = field(metadata=written_as("slots"))
    """What each client of the step runs, by ascending client."""
    completed_by: CompletedBy | None
    """What ends the step early; None: it ends with its last task."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A race as data: everything the driver needs to run it."""

    race_id: str
    """Identifies the race in file names and messages."""
    seed: int
    """Fixes every random choice of the driver; a 64-bit number."""
    target: Target
    """The cluster under test."""
    driver: DriverSettings
    """How the driver behaves."""
    tasks: tuple[PlannedTask, ...]
    """Every task of the race, once; steps refer to them by position."""
    steps: tuple[Step, ...]
    """Run one after another."""
    others: tuple[NamedTarget, ...] = ()
    """Further clusters that runners may send requests to."""
    version: int = VERSION
    """The version of the document."""

    @property
    def clients(self) -> int:
        """The number of clients of the widest step."""
        return max((row.client + 1 for step in self.steps for row in step.client_allocations), default=0)

    @property
    def needs_python(self) -> bool:
        """Whether any task needs a parameter source, a runner or a scheduler written in Python."""
        return any(task.needs_python for task in self.tasks)

    def to_json(self) -> str:
        """Returns the document that the driver reads; equal plans give equal texts."""
        return json.dumps(document_data(self), ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def to_public_json(self, secrets: Collection[str] = ()) -> str:
        """Returns the document as it may be stored or shown: without the values of headers that may hold
        credentials, and without the `secrets`, wherever they occur.
        """
        document = document_data(self)
        _redact_credentials(document)
        document = redact_value(document, secrets)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _redact_credentials(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _redact_credentials(item)
    elif isinstance(value, dict):
        for header in value.get("headers", ()):
            if header[0] not in _PUBLIC_HEADERS:
                header[1] = REDACTED
        if value.get("authorization"):
            value["authorization"] = REDACTED
        for item in value.values():
            _redact_credentials(item)
