"""The plan document: the Python mirror of `crates/plan`, and its JSON.

The driver rejects documents with unknown fields. Fields are written in the order of their definition, under
their own names, so that equal plans have equal text.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any, ClassVar

from msgspec import Struct

from pacenote.model.client_options import TlsOptions
from pacenote.model.pacing_options import DriverOptions
from pacenote.model.secrets import (
    REDACTED,
    body_secrets,
    query_secrets,
    redact_body,
    redact_query,
    redact_value,
)
from pacenote.model.work import (
    BulkWork,
    Headers,
    PythonRunner,
    PythonSource,
    TaskWork,
    document_data,
    requests_of,
)

VERSION = 6
"""The version of the document; the driver rejects all others."""

_PUBLIC_HEADERS = frozenset({"accept", "accept-encoding", "content-type", "user-agent", "x-opaque-id"})

_MIN_HEADER_LENGTH = 8
"""Minimum length of a header that is redacted elsewhere: shorter values occur in other text by chance."""


class OnError(enum.Enum):
    """What a failed request does to the race (`--on-error`)."""

    CONTINUE = "continue"
    CONTINUE_ON_NETWORK = "continue-on-network"
    ABORT = "abort"


class SampleRetention(enum.Enum):
    """Which individual samples are kept (`--samples`); totals and series per second are always kept."""

    ALL = "all"
    NONE = "none"
    AUTO = "auto"


class DriverScheduling(enum.Enum):
    """How the kernel schedules the threads that send requests (`--driver-scheduling`)."""

    AUTO = "auto"
    """With real-time priority if the process may have it, otherwise with a short slice."""
    REALTIME = "realtime"
    """With real-time priority; a race that may not have it does not begin."""
    NORMAL = "normal"
    """As the system does it."""


class TargetProxy(Struct, frozen=True):
    """An HTTP proxy between the driver and a host."""

    scheme: str
    """The scheme of connections to the proxy: `http` or `https`."""
    host: str
    """Host name or IP address; IPv6 addresses have no brackets."""
    port: int
    """TCP port."""
    authorization: str | None = None
    """Value of the header `proxy-authorization`, or None for no header. Secret."""


class TargetHost(Struct, frozen=True):
    """One address of a cluster."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Host name or IP address; IPv6 addresses have no brackets."""
    port: int
    """TCP port."""
    path: str = ""
    """Prefix of every path: empty, or with a leading slash and no trailing slash."""
    proxy: TargetProxy | None = None
    """The proxy to connect through; None means a direct connection."""


class Target(Struct, frozen=True):
    """A cluster, and how to connect to it."""

    hosts: tuple[TargetHost, ...]
    """The hosts, to which each client sends its requests in turn; never empty."""
    headers: Headers
    """Headers of every request; values may be secret."""
    timeout_ms: int
    """Timeout of requests that do not set their own, in milliseconds."""
    compress: bool = False
    """Whether request bodies are compressed with gzip."""
    tls: TlsOptions = TlsOptions()
    """TLS settings: trusted certificates, and the certificate that the driver presents."""
    client_headers: Headers = ()
    """A header for each client of the race, by its number, that replaces the one with its name; empty if all
    clients send the same. Values are secret.
    """


class NamedTarget(Struct, frozen=True):
    """A further cluster that runners may send requests to."""

    name: str
    """The cluster's name in `--target-hosts`; never `default`."""
    target: Target
    """The cluster."""


class DriverSettings(DriverOptions, frozen=True):
    """Settings of the driver."""

    threads: int
    """Number of threads that send requests; 0 means one per core."""
    on_error: OnError
    """The effect of a failed request on the race."""
    samples: SampleRetention = SampleRetention.ALL
    """The individual samples that are stored."""
    scheduling: DriverScheduling = DriverScheduling.AUTO
    """How the kernel schedules the threads that send requests and the one that watches them."""


class Unpaced(Struct, frozen=True):
    """Closed loop: each client sends its next operation as soon as the previous one has ended."""

    kind: ClassVar[str] = "unpaced"


class Deterministic(Struct, frozen=True):
    """Operations of the task are due at a fixed interval."""

    kind: ClassVar[str] = "deterministic"
    interval_s: float
    """Seconds between two operations of the task, over all its clients."""


class Poisson(Struct, frozen=True):
    """Operations of the task arrive as a Poisson process."""

    kind: ClassVar[str] = "poisson"
    interval_s: float
    """Mean seconds between two operations of the task, over all its clients."""


class Uniform(Struct, frozen=True):
    """Each client has one operation at a random time in each of its intervals."""

    kind: ClassVar[str] = "uniform"
    interval_s: float
    """Mean seconds between two operations of the task, over all its clients."""


class PythonScheduler(Struct, frozen=True):
    """A scheduler in Python determines when the next operation of each client is due."""

    kind: ClassVar[str] = "scheduled"


TaskPacing = Unpaced | Deterministic | Poisson | Uniform | PythonScheduler
"""When the operations of a task are due."""


class Iterations(Struct, frozen=True):
    """The task ends after a number of operations per client, warm-up first."""

    kind: ClassVar[str] = "iterations"
    warmup: int
    """Operations per client that are not measured."""
    measured: int
    """Operations per client that are measured."""


UNTIL_EXHAUSTED = 2**53
"""A number of measured iterations that no source reaches, so the task ends with its source.
"""


class TimePeriod(Struct, frozen=True):
    """The task ends after a time, warm-up first."""

    kind: ClassVar[str] = "time"
    warmup_s: float
    """Seconds from the start of the task that are not measured."""
    measured_s: float | None
    """Seconds that are measured; None means until the source is exhausted or another task
    completes the step.
    """


TaskBound = Iterations | TimePeriod
"""When a task ends; an exhausted source always ends it."""


class PlannedTask(Struct, frozen=True):
    """One task as the driver runs it."""

    name: str
    """Name of the task, unique within the plan."""
    operation: str
    """Name of the operation; several tasks may share it."""
    operation_type: str
    """The operation's type, such as `bulk`."""
    clients: int
    """Number of clients of the task; at least 1."""
    pacing: TaskPacing
    """When the operations of the task are due."""
    bound: TaskBound
    """When the task ends."""
    ramp_up_s: float
    """Ramp-up time in seconds: client i of n starts `ramp_up_s * i / n` seconds after the first."""
    unit: str
    """Unit of the work done, for example `docs` or `ops`."""
    tolerates_errors: bool
    """Whether the race continues after failures of this task even with `--on-error=abort`."""
    work: TaskWork
    """Work of each operation."""
    open_loop: bool = False
    """Whether the clients share one schedule, so a slow client does not delay other operations."""
    must_succeed: bool = False
    """Whether a failure of this task ends the race, whatever `DriverSettings.on_error` says."""
    documents_per_operation: float | None = None
    """Mean number of documents of an operation if the schedule of each client follows from the documents that
    it has sent, so that the task keeps its target in documents whatever the sizes of its bulks; None if it
    follows from the number of operations. The interval of `pacing` is that of such an operation.
    """

    @property
    def needs_python(self) -> bool:
        """Whether its operations need a parameter source, a runner or a scheduler written in Python."""
        return isinstance(self.work, PythonSource | PythonRunner) or isinstance(self.pacing, PythonScheduler)


class TaskAllocation(Struct, frozen=True):
    """The part of a task that one client runs."""

    task: int
    """Position of the task in `Plan.tasks`."""
    client: int
    """Index of the client among those of the task, from 0."""


class ClientAllocation(Struct, frozen=True):
    """The tasks that one client runs in a step."""

    client: int
    """Row of the allocation matrix; a client keeps its connections for the whole race."""
    allocations: tuple[TaskAllocation, ...]
    """Tasks that the client runs one after another; never empty."""


class CompletedByTask(Struct, frozen=True):
    """The step ends when all clients of one task have ended."""

    kind: ClassVar[str] = "task"
    task: int
    """Position of the task in `Plan.tasks`."""


class CompletedByAny(Struct, frozen=True):
    """The step ends when all clients of any of its tasks have ended."""

    kind: ClassVar[str] = "any"


CompletedBy = CompletedByTask | CompletedByAny
"""Condition that ends a step before all its tasks have ended."""


class Step(Struct, frozen=True):
    """One element of the schedule: a task, or several in parallel. All clients wait for its end."""

    name: str
    """The name of the task or of the parallel element, for messages."""
    client_allocations: tuple[ClientAllocation, ...]
    """What each client of the step runs, by ascending client."""
    completed_by: CompletedBy | None
    """Condition that ends the step early; None means that it ends with its last task."""


class Plan(Struct, frozen=True):
    """A race as data: everything the driver needs to run it."""

    race_id: str
    """Id of the race, for file names and messages."""
    seed: int
    """Seed of all random numbers of the driver; a 64-bit number."""
    target: Target
    """The cluster under test."""
    driver: DriverSettings
    """Settings of the driver."""
    tasks: tuple[PlannedTask, ...]
    """All tasks of the race; steps refer to them by position."""
    steps: tuple[Step, ...]
    """The steps, which run one after another."""
    others: tuple[NamedTarget, ...] = ()
    """Further clusters that runners may send requests to."""
    version: int = VERSION
    """The version of the document."""

    @property
    def clients(self) -> int:
        """Number of clients of the step with the most clients."""
        return max((row.client + 1 for step in self.steps for row in step.client_allocations), default=0)

    @property
    def needs_python(self) -> bool:
        """Whether any task needs a parameter source, a runner or a scheduler written in Python."""
        return any(task.needs_python for task in self.tasks)

    def to_json(self) -> str:
        """Returns the document that the driver reads; equal plans have equal text."""
        return json.dumps(document_data(self), ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def secrets(self) -> frozenset[str]:
        """Returns the values of secret keys in the queries and bodies of requests, and of their headers."""
        secrets: set[str] = set()
        for request in chain.from_iterable(requests_of(task.work) for task in self.tasks):
            secrets |= query_secrets(request.path) | body_secrets(request.body or "")
            secrets.update(_header_secrets(request.headers))
        for task in self.tasks:
            if isinstance(task.work, BulkWork):
                secrets |= query_secrets(task.work.path)
                secrets.update(_header_secrets(task.work.headers))
        return frozenset(secrets)

    def to_public_json(self, secrets: Collection[str] = ()) -> str:
        """Returns the document without credentials, to be stored or shown.

        Redacts the values of headers that may contain credentials, those of secret keys in bodies and
        queries, user names in URLs, and all occurrences of the `secrets`.
        """
        document = document_data(self)
        _redact_credentials(document)
        document = redact_value(document, secrets)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _header_secrets(headers: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields the values of headers, and credentials without their scheme, that are long enough to be redacted
    elsewhere.
    """
    for name, value in headers:
        if name not in _PUBLIC_HEADERS:
            yield from (text for text in (value, value.partition(" ")[2]) if len(text) >= _MIN_HEADER_LENGTH)


def _redact_credentials(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _redact_credentials(item)
    elif isinstance(value, dict):
        for header in (*value.get("headers", ()), *value.get("client_headers", ())):
            if header[0] not in _PUBLIC_HEADERS:
                header[1] = REDACTED
        if value.get("authorization"):
            value["authorization"] = REDACTED
        if isinstance(body := value.get("body"), str):
            value["body"] = redact_body(body)
        if isinstance(path := value.get("path"), str):
            value["path"] = redact_query(path)
        for item in value.values():
            _redact_credentials(item)
