"""What one operation does on the wire: the Python face of `crates/plan/src/work.rs`, field for field.

An operation compiles to one of the [`Work`] types. Every type with a `kind` is a variant of a Rust enum;
its fields are written to the plan document under their own names in the order given here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

Headers = tuple[tuple[str, str], ...]
"""HTTP headers in the order they are sent, names in lower case."""


class HealthStatus(enum.Enum):
    """Cluster health, worst first."""

    RED = "red"
    YELLOW = "yellow"
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class CheckStatus:
    """The HTTP status decides."""

    kind: ClassVar[str] = "status"


@dataclass(frozen=True, slots=True)
class CheckSearch:
    """A search succeeds if it did not time out and no shard failed."""

    kind: ClassVar[str] = "search"


@dataclass(frozen=True, slots=True)
class CheckHealth:
    """The cluster has at least this status (None: any), and no relocating shards if asked for."""

    kind: ClassVar[str] = "health"
    status: HealthStatus | None
    no_relocating_shards: bool


@dataclass(frozen=True, slots=True)
class CheckCondition:
    """The value at a dotted path, written as text, equals `expected`."""

    kind: ClassVar[str] = "condition"
    path: str
    expected: str


@dataclass(frozen=True, slots=True)
class CheckEmpty:
    """The object or list at a dotted path is empty or absent."""

    kind: ClassVar[str] = "empty"
    path: str


Check = CheckStatus | CheckSearch | CheckHealth | CheckCondition | CheckEmpty


@dataclass(frozen=True, slots=True)
class Poll:
    """How a polling request waits: seconds between an unmet reply and the next request."""

    every_s: float


@dataclass(frozen=True, slots=True)
class Request:
    """One request, ready to be sent. Weights are work done by a good and by an ignored reply; timeout in
    ms.
    """

    method: str
    path: str
    headers: Headers = ()
    body: str | None = None
    check: Check = CheckStatus()
    ignore: tuple[int, ...] = ()
    weight: int = 1
    ignored_weight: int = 0
    timeout_ms: int | None = None
    poll: Poll | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """When the whole sequence is tried again; waits in seconds."""

    retries: int
    until_success: bool
    wait_s: float
    on_timeout: bool
    on_unsuccess: bool


NO_RETRY = Retry(retries=0, until_success=False, wait_s=0.0, on_timeout=False, on_unsuccess=False)
"""For operations that Rally does not retry."""


@dataclass(frozen=True, slots=True)
class BulkFile:
    """One data file: absolute path, exact number of documents, the action line (None: the file holds its
    own).
    """

    path: str
    documents: int
    action: str | None


@dataclass(frozen=True, slots=True)
class Bulk:
    """The bulk source of a task. `share` of the requests in (0, 1]; timeout in ms."""

    kind: ClassVar[str] = "bulk"
    path: str
    headers: Headers
    files: tuple[BulkFile, ...]
    bulk_size: int
    share: float
    looped: bool
    timeout_ms: int | None


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests sent one after another; the operation ends with the first failure."""

    kind: ClassVar[str] = "requests"
    requests: tuple[Request, ...]
    retry: Retry = NO_RETRY


@dataclass(frozen=True, slots=True)
class Sleep:
    """Waits this many seconds without any request."""

    kind: ClassVar[str] = "sleep"
    seconds: float


Work = Bulk | Requests | Sleep
