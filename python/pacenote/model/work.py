"""What one operation does on the wire: the Python face of `crates/plan/src/work.rs`, field for field.

An operation compiles to one of the [`Work`] types. Every type with a `kind` is a variant of a Rust enum;
its fields are written to the plan document under their own names in the order given here.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass, field
from typing import Any, ClassVar

Headers = tuple[tuple[str, str], ...]
"""HTTP headers in the order they are sent, names in lower case."""


UNTAGGED = {"untagged": True}
"""Metadata of a field that holds a variant where no other can stand: its `kind` is not written."""


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


@dataclass(frozen=True, slots=True)
class CheckEsql:
    """An ES|QL reply is not partial."""

    kind: ClassVar[str] = "esql"


Check = CheckStatus | CheckSearch | CheckHealth | CheckCondition | CheckEmpty | CheckEsql


class Comparison(enum.Enum):
    """How a value found compares with the expected one."""

    LESS = "<"
    LESS_OR_EQUAL = "<="
    EQUAL = "=="
    GREATER_OR_EQUAL = ">="
    GREATER = ">"


@dataclass(frozen=True, slots=True)
class Assertion:
    """What the track says a reply must hold: the value at the first of the dotted `paths` that leads
    somewhere; `property` is the track's word for it.
    """

    property: str
    paths: tuple[str, ...]
    condition: Comparison
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Remember:
    """Keeps the string at a dotted path of the reply under a name, as long as the operation lasts."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Puts a remembered value where `marker` stands in path and body."""

    name: str
    marker: str


@dataclass(frozen=True, slots=True)
class Poll:
    """How a polling request waits: seconds between an unmet reply and the next request."""

    every_s: float


@dataclass(frozen=True, slots=True)
class Request:
    """One request, ready to be sent. Weights are work done by a good and by an ignored reply; timeout in
    ms.
    """

    kind: ClassVar[str] = "request"
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
    assertions: tuple[Assertion, ...] = ()
    remember: Remember | None = None
    recall: Recall | None = None


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
class ActionInFile:
    """The file holds the action line of every document."""

    kind: ClassVar[str] = "in_file"


@dataclass(frozen=True, slots=True)
class ActionLine:
    """The same action line for every document, without newline."""

    kind: ClassVar[str] = "line"
    line: str


@dataclass(frozen=True, slots=True)
class ActionWithId:
    """An action line with the id that `Conflicts` decides, for this index."""

    kind: ClassVar[str] = "with_id"
    index: str


Action = ActionInFile | ActionLine | ActionWithId


@dataclass(frozen=True, slots=True)
class BulkFile:
    """One data file: absolute path, exact number of documents, and their action lines; `corpus` says which of
    the bulk's corpora it belongs to, from 0.
    """

    path: str
    documents: int
    action: Action
    corpus: int = 0


@dataclass(frozen=True, slots=True)
class LimitShare:
    """This share of the requests, in (0, 1]."""

    kind: ClassVar[str] = "share"
    share: float


@dataclass(frozen=True, slots=True)
class LimitDocuments:
    """So many documents over all clients: a multiple of bulk size and clients."""

    kind: ClassVar[str] = "documents"
    documents: int


Limit = LimitShare | LimitDocuments


class IdOrder(enum.Enum):
    """In which order new ids come."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


class OnConflict(enum.Enum):
    """What is done with a document whose id came before."""

    INDEX = "index"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Ids of which some come again. Probability and recency are from 0 to 1."""

    ids: IdOrder
    probability: float
    on_conflict: OnConflict
    recency: float


@dataclass(frozen=True, slots=True)
class Bulk:
    """The bulk source of a task. Timeout in ms."""

    kind: ClassVar[str] = "bulk"
    path: str
    headers: Headers
    files: tuple[BulkFile, ...]
    bulk_size: int
    limit: Limit
    looped: bool
    conflicts: Conflicts | None
    retries_on_429: int
    timeout_ms: int | None


@dataclass(frozen=True, slots=True)
class SearchAfter:
    """The same search after the sort values of the last hit; a renewed point in time replaces the old one."""

    kind: ClassVar[str] = "search_after"


@dataclass(frozen=True, slots=True)
class Scroll:
    """A scroll, kept so long between pages and cleared after the last."""

    kind: ClassVar[str] = "scroll"
    keep_alive: str


@dataclass(frozen=True, slots=True)
class AfterKey:
    """The same aggregation after its last bucket; `path` names aggregations from the outermost to the
    composite one.
    """

    kind: ClassVar[str] = "after_key"
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cursor:
    """The cursor of an SQL reply, closed if pages are left."""

    kind: ClassVar[str] = "cursor"


Next = SearchAfter | Scroll | AfterKey | Cursor


@dataclass(frozen=True, slots=True)
class Pages:
    """A request and those that fetch what follows its first page; its work is the number of pages.

    `pages` None fetches all. A page of fewer than `page_size` entries is the last; None: only an empty one
    is. `strict`: fewer pages than asked for are a failure.
    """

    kind: ClassVar[str] = "pages"
    first: Request = field(metadata=UNTAGGED)
    next: Next
    pages: int | None = None
    page_size: int | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause of seconds between calls."""

    kind: ClassVar[str] = "wait"
    seconds: float


@dataclass(frozen=True, slots=True)
class ItemOperation:
    """An operation within a composite one, recorded under its own name within the task."""

    kind: ClassVar[str] = "operation"
    name: str
    operation_type: str
    calls: tuple[Call, ...]
    retry: Retry = NO_RETRY


@dataclass(frozen=True, slots=True)
class Stream:
    """Items one after another, beside the streams next to it."""

    kind: ClassVar[str] = "stream"
    items: tuple[Item, ...]


Item = ItemOperation | Stream


@dataclass(frozen=True, slots=True)
class Composite:
    """Operations within an operation. An operation waits for the streams before it; streams that follow one
    another run beside one another, with at most `max_connections` requests under way (None: any number).
    """

    kind: ClassVar[str] = "composite"
    items: tuple[Item, ...]
    max_connections: int | None = None


Call = Request | Pages | Wait | Composite


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls made one after another; the operation ends with the first failure.

    Both the work of a task and one operation that a parameter source supplies.
    """

    kind: ClassVar[str] = "calls"
    calls: tuple[Call, ...]
    retry: Retry = NO_RETRY


@dataclass(frozen=True, slots=True)
class Sleep:
    """Waits this many seconds without any request."""

    kind: ClassVar[str] = "sleep"
    seconds: float


@dataclass(frozen=True, slots=True)
class Supplied:
    """Every operation is handed over while the race runs, by a parameter source written in Python that may
    be so many operations per client ahead.
    """

    kind: ClassVar[str] = "supplied"
    ahead: int


@dataclass(frozen=True, slots=True)
class Lane:
    """Every operation is carried out by a runner written in Python."""

    kind: ClassVar[str] = "lane"


Work = Bulk | Calls | Sleep | Supplied | Lane


@dataclass(frozen=True, slots=True)
class SuppliedBulk:
    """One bulk request that a parameter source supplies; its body is handed over beside it. `documents` is
    its work in the task's unit; timeout in ms.
    """

    kind: ClassVar[str] = "bulk"
    path: str
    headers: Headers
    documents: int
    timeout_ms: int | None


Supply = Calls | SuppliedBulk
"""One operation handed over while the race runs."""


def document_data(value: object) -> Any:
    """A value of the plan as the document holds it: plain JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: document_data(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        for field in dataclasses.fields(value):
            if field.metadata.get("untagged"):
                del fields[field.name]["kind"]
        kind = getattr(type(value), "kind", None)
        return fields if kind is None else {"kind": kind, **fields}
    if isinstance(value, tuple):
        return [document_data(item) for item in value]
    return value.value if isinstance(value, enum.Enum) else value
