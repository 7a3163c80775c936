"""The plan document: the Python face of `crates/plan`, field for field, and its JSON.

`crates/plan/src/*.rs` says what each field means; the driver refuses a field it does not know. Fields are
written in the order given here, so that equal plans are equal texts.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from pacenote.model.client_options import TlsOptions
from pacenote.model.secrets import REDACTED, redact_value
from pacenote.model.work import Headers, Lane, Supplied, Work, document_data

VERSION = 3
"""The version of the document."""

_PUBLIC_HEADERS = frozenset({"accept", "accept-encoding", "content-type", "user-agent", "x-opaque-id"})


class OnError(enum.Enum):
    """What a failed request does to the race (`--on-error`)."""

    CONTINUE = "continue"
    CONTINUE_ON_NETWORK = "continue-on-network"
    ABORT = "abort"


class Samples(enum.Enum):
    """Which samples are kept one by one (`--samples`)."""

    ALL = "all"
    NONE = "none"
    AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy, to be talked to by http or https; `authorization` is secret."""

    scheme: str
    host: str
    port: int
    authorization: str | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """One address of the cluster; `scheme` is http or https, `path` a prefix without a slash at its end."""

    scheme: str
    host: str
    port: int
    path: str = ""
    proxy: Proxy | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster under test. Headers may be secret. Timeout in milliseconds. `compress`: bodies are sent
    compressed, and compressed replies asked for.
    """

    hosts: tuple[Host, ...]
    headers: Headers
    timeout_ms: int
    compress: bool = False
    tls: TlsOptions = TlsOptions()


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A cluster beside the one under test, as `--target-hosts` names it."""

    name: str
    target: Target


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """How the driver behaves; 0 threads means one per core. `spin_us` is how long before an operation is due
    its client watches the clock instead of sleeping.
    """

    threads: int
    on_error: OnError
    spin_us: int = 0
    samples: Samples = Samples.ALL


@dataclass(frozen=True, slots=True)
class Unpaced:
    """Closed loop: as fast as replies come."""

    kind: ClassVar[str] = "unpaced"


@dataclass(frozen=True, slots=True)
class Deterministic:
    """Operations of the task are due every `interval_s` seconds, over all its clients."""

    kind: ClassVar[str] = "deterministic"
    interval_s: float


@dataclass(frozen=True, slots=True)
class Poisson:
    """Operations of the task arrive at random, every `interval_s` seconds on average, over all its
    clients.
    """

    kind: ClassVar[str] = "poisson"
    interval_s: float


@dataclass(frozen=True, slots=True)
class Uniform:
    """Each client's operations are due at a random moment of each of its intervals; `interval_s` seconds on
    average, over all clients.
    """

    kind: ClassVar[str] = "uniform"
    interval_s: float


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A scheduler written in Python says when each client's next operation is due."""

    kind: ClassVar[str] = "scheduled"


Pace = Unpaced | Deterministic | Poisson | Uniform | Scheduled


@dataclass(frozen=True, slots=True)
class Iterations:
    """Ends after a number of operations per client, warm-up first."""

    kind: ClassVar[str] = "iterations"
    warmup: int
    measured: int


UNTIL_EXHAUSTED = 2**53
"""So many measured iterations that the source ends before: what follows a number of warm-up iterations."""


@dataclass(frozen=True, slots=True)
class Time:
    """Ends after seconds, warm-up first; `measured_s` None: when the source is exhausted or the step
    completed.
    """

    kind: ClassVar[str] = "time"
    warmup_s: float
    measured_s: float | None


Bound = Iterations | Time


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task as the driver runs it."""

    name: str
    operation: str
    operation_type: str
    clients: int
    pace: Pace
    bound: Bound
    ramp_up_s: float
    unit: str
    tolerates_errors: bool
    work: Work
    open_loop: bool = False

    @property
    def needs_python(self) -> bool:
        """Whether a parameter source, a runner or a scheduler in Python takes part in it."""
        return isinstance(self.work, Supplied | Lane) or isinstance(self.pace, Scheduled)


@dataclass(frozen=True, slots=True)
class Allocation:
    """A share of a task: its position in the plan, and which of its clients this is."""

    task: int
    client: int


@dataclass(frozen=True, slots=True)
class Slot:
    """What one client does in a step, one after another."""

    client: int
    allocations: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True)
class CompletedByTask:
    """The step ends when all clients of this task have ended."""

    kind: ClassVar[str] = "task"
    task: int


@dataclass(frozen=True, slots=True)
class CompletedByAny:
    """The step ends when all clients of any one task have ended."""

    kind: ClassVar[str] = "any"


CompletedBy = CompletedByTask | CompletedByAny


@dataclass(frozen=True, slots=True)
class Step:
    """One element of the schedule; all clients meet at its end."""

    name: str
    slots: tuple[Slot, ...]
    completed_by: CompletedBy | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A race as data: everything the driver needs."""

    race_id: str
    seed: int
    target: Target
    driver: DriverSettings
    tasks: tuple[PlannedTask, ...]
    steps: tuple[Step, ...]
    others: tuple[NamedTarget, ...] = ()
    version: int = VERSION

    @property
    def clients(self) -> int:
        """How many clients the widest step needs."""
        return max((slot.client + 1 for step in self.steps for slot in step.slots), default=0)

    @property
    def needs_python(self) -> bool:
        """Whether Python takes part in any task."""
        return any(task.needs_python for task in self.tasks)

    def to_json(self) -> str:
        """The document the driver reads; equal plans give equal texts."""
        return json.dumps(document_data(self), ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def to_public_json(self, secrets: Collection[str] = ()) -> str:
        """The document as it may be stored or shown: what headers can hold of credentials is `<hidden>`, and
        so is each of the `secrets` in every string.
        """
        document = document_data(self)
        _hide_credentials(document)
        document = redact_value(document, secrets)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _hide_credentials(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _hide_credentials(item)
    elif isinstance(value, dict):
        for header in value.get("headers", ()):
            if header[0] not in _PUBLIC_HEADERS:
                header[1] = REDACTED
        if value.get("authorization"):
            value["authorization"] = REDACTED
        for item in value.values():
            _hide_credentials(item)
