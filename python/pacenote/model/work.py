"""What one operation sends: the Python mirror of `crates/plan/src/{work,bulk,call,supply}.rs`.

An operation compiles to one of the `TaskWork` types. Every type with a `kind` is a variant of a Rust enum.
Its fields are written to the plan document in the order given here, under their own names.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from pacenote.model.assertion import Assertion, DetailsKind

Headers = tuple[tuple[str, str], ...]
"""HTTP headers in the order in which they are sent, with names in lower case."""


class HealthStatus(enum.Enum):
    """Cluster health, from worst to best."""

    RED = "red"
    YELLOW = "yellow"
    GREEN = "green"


class CheckStatus(Struct, frozen=True):
    """The HTTP status alone decides whether a response is a success."""

    kind: ClassVar[str] = "status"


class CheckNoError(Struct, frozen=True):
    """A response succeeds if it reports no `error`."""

    kind: ClassVar[str] = "no_error"


class CheckSearch(Struct, frozen=True):
    """A search succeeds if it did not time out, and no shard failed or is missing."""

    kind: ClassVar[str] = "search"


class CheckHealth(Struct, frozen=True):
    """A cluster health request succeeds if the cluster is healthy enough."""

    kind: ClassVar[str] = "health"
    status: HealthStatus | None
    """The worst status that is a success; None means any status."""
    no_relocating_shards: bool
    """Whether relocating shards are a failure."""


class CheckCondition(Struct, frozen=True):
    """A response succeeds if the value at a path of its body has the expected text."""

    kind: ClassVar[str] = "condition"
    path: str
    """Keys joined by dots; for a list, the key is a position."""
    expected: str
    """The expected value as text."""


class CheckEmpty(Struct, frozen=True):
    """A response succeeds if what a path of its body lists is empty or absent, and every node answered."""

    kind: ClassVar[str] = "empty"
    path: str
    """Keys joined by dots."""


class CheckEsql(Struct, frozen=True):
    """An ES|QL response succeeds if it is not partial."""

    kind: ClassVar[str] = "esql"


class CheckAsyncSearch(Struct, frozen=True):
    """The result of an asynchronous search succeeds if the search has ended, and its response is that of a
    successful search.
    """

    kind: ClassVar[str] = "async_search"
    path: str
    """Path of the value that tells whether the search has ended: keys joined by dots."""
    expected: str
    """The value, as text, if it has ended."""


class CheckSubmittedSearch(Struct, frozen=True):
    """The reply to a request that submits an asynchronous search succeeds if the search has not ended, or its
    response is that of a successful search.
    """

    kind: ClassVar[str] = "submitted_search"


class CheckAcknowledged(Struct, frozen=True):
    """A change succeeds if the engine does not report that nodes have not applied it, or that new shards are
    not ready.
    """

    kind: ClassVar[str] = "acknowledged"


class CheckShards(Struct, frozen=True):
    """A response succeeds if the object at a path, which counts shards, has no failed shard or is absent."""

    kind: ClassVar[str] = "shards"
    path: str = "_shards"
    """Keys joined by dots."""


class CheckTask(Struct, frozen=True):
    """A task of the engine succeeds if it has ended without an error or a failed shard."""

    kind: ClassVar[str] = "task"


Check = (
    CheckStatus
    | CheckNoError
    | CheckSearch
    | CheckHealth
    | CheckCondition
    | CheckEmpty
    | CheckEsql
    | CheckAsyncSearch
    | CheckSubmittedSearch
    | CheckAcknowledged
    | CheckShards
    | CheckTask
)
"""The condition for a successful response, in addition to its HTTP status."""


class Capture(Struct, frozen=True):
    """Captures a string of a response for later requests of the same operation."""

    name: str
    """The name of the captured value; it is kept until the operation of the task ends."""
    path: str
    """Path of the value in the response: keys joined by dots."""


class Placeholder(Struct, frozen=True):
    """A text in the path and the body of a request that is replaced by a captured value."""

    name: str
    """The name of the captured value."""
    marker: str
    """The text that is replaced."""
    optional: bool = False
    """Whether the response may lack the value. A request with the text in its path is then not sent; in a
    body, the text stays, and without a response, the request is not sent.
    """


class PollPolicy(Struct, frozen=True):
    """The rule by which a request is repeated until its check succeeds."""

    every_s: float
    """Seconds between a failed check, or a reply that the engine is busy, and the next request."""


class Request(Struct, frozen=True):
    """One request and the condition for its success."""

    kind: ClassVar[str] = "request"
    method: str
    """`GET`, `POST`, `PUT`, `DELETE` or `HEAD`."""
    path: str
    """Percent-encoded path with query string, starting with `/`."""
    headers: Headers = ()
    """Headers that are sent in addition to those of the target."""
    body: str | None = None
    """The body, which is sent unchanged; None means no body."""
    check: Check = CheckStatus()
    """The condition for a successful response."""
    ignore: tuple[int, ...] = ()
    """HTTP statuses outside 2xx that are not failures."""
    weight: int = 1
    """Work done by a response with status 2xx, in the task's unit."""
    ignored_weight: int = 0
    """Work done by a response with an ignored status, in the task's unit."""
    timeout_ms: int | None = None
    """Timeout in milliseconds that replaces that of the target."""
    poll: PollPolicy | None = None
    """Repeats the request until its check succeeds; None means that it is sent once."""
    assertions: tuple[Assertion, ...] = ()
    """Assertions of the track about the response, in addition to the check."""
    capture: Capture | None = None
    """Captures a value of the response."""
    placeholder: Placeholder | None = None
    """Inserts a captured value into path and body."""
    cleanup: bool = False
    """Whether it is sent even if an earlier request of the sequence or operation of the composite failed, to
    undo what came before.
    """
    details: DetailsKind | None = None
    """The details of the response that are kept with the sample; None means none."""


RETRY_LIMIT_S = 600.0
"""Seconds after which an operation that is retried until it succeeds is given up, unless the track states
them.
"""


class RetryPolicy(Struct, frozen=True):
    """When a whole sequence of calls is retried."""

    retries: int
    """Attempts after the first."""
    until_success: bool
    """Retries until it succeeds, whatever `retries` is; also while the engine is busy (429, 503)."""
    wait_s: float
    """Seconds between two attempts."""
    on_timeout: bool
    """Retries after a timeout or a connection error."""
    on_unsuccess: bool
    """Retries after a response whose check fails."""
    limit_s: float = RETRY_LIMIT_S
    """With `until_success`, no attempt begins later than this many seconds after the first one."""


NO_RETRY = RetryPolicy(retries=0, until_success=False, wait_s=0.0, on_timeout=False, on_unsuccess=False)
"""For operations that Rally does not retry."""


class ActionInFile(Struct, frozen=True):
    """The file contains the action line of every document."""

    kind: ClassVar[str] = "in_file"


class ActionLine(Struct, frozen=True):
    """Every document has the same action line."""

    kind: ClassVar[str] = "line"
    line: str
    """The action line without newline."""


class ActionWithId(Struct, frozen=True):
    """The action line of every document has an id that `ConflictSettings` determines."""

    kind: ClassVar[str] = "with_id"
    index: str
    """The index the document goes to."""


PlannedActionLines = ActionInFile | ActionLine | ActionWithId
"""Where the action lines of a file come from."""


class BulkFile(Struct, frozen=True):
    """One data file of a bulk: newline-delimited JSON, not compressed."""

    path: str
    """Absolute path of the file."""
    documents: int
    """Number of documents, which must be exactly that of the file."""
    action: PlannedActionLines
    """The origin of the documents' action lines."""
    corpus: int = 0
    """Position of the corpus among the corpora of the bulk, from 0."""


class IngestShare(Struct, frozen=True):
    """Limits a bulk operation to a share of its requests."""

    kind: ClassVar[str] = "share"
    share: float
    """Share of the requests that are sent, above 0 and at most 1."""


class IngestDocuments(Struct, frozen=True):
    """Limits a bulk operation to a number of documents."""

    kind: ClassVar[str] = "documents"
    documents: int
    """Documents over all clients: a multiple of bulk size times clients."""


IngestLimit = IngestShare | IngestDocuments
"""The part of its corpora that a bulk operation sends."""


class IdOrder(enum.Enum):
    """The order in which new ids are assigned."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


class OnConflict(enum.Enum):
    """The action of a bulk for a document whose id it has sent before."""

    INDEX = "index"
    UPDATE = "update"


class ConflictSettings(Struct, frozen=True):
    """Gives documents ids, some of which repeat."""

    ids: IdOrder
    """The order in which new ids are assigned."""
    probability: float
    """Share of documents that get an id that was sent before, from 0 to 1."""
    on_conflict: OnConflict
    """The action for a document whose id was sent before."""
    recency: float
    """From 0 (every earlier id is equally likely) to 1 (recent ids are much likelier)."""


class BulkWork(Struct, frozen=True):
    """Posts the documents of one or more corpora; every client has its own range of every file."""

    kind: ClassVar[str] = "bulk"
    path: str
    """Path with query string, for example `/_bulk?pipeline=x`."""
    headers: Headers
    """Headers that are sent in addition to those of the target."""
    files: tuple[BulkFile, ...]
    """The data files, grouped by corpus."""
    bulk_size: int
    """Documents per request; at least 1."""
    limit: IngestLimit
    """The part of the corpora that all clients together send."""
    looped: bool
    """Whether a client starts again when its range is exhausted."""
    conflicts: ConflictSettings | None
    """Gives documents ids; None means that documents have no ids, or that the files contain them."""
    retries_on_429: int
    """Number of times that documents rejected with status 429 are sent again, without the others."""
    timeout_ms: int | None
    """Timeout in milliseconds that replaces that of the target."""
    detailed_results: bool = False
    """Whether the details of the responses are kept with the samples."""
    assertions: tuple[Assertion, ...] = ()
    """Assertions of the track about the details."""


class NextBySearchAfter(Struct, frozen=True):
    """Repeats the search after the sort values of the last hit.

    A point in time that the response renews replaces the one in the body.
    """

    kind: ClassVar[str] = "search_after"


class NextByScroll(Struct, frozen=True):
    """Requests the next page of a scroll, and clears the scroll after the last page."""

    kind: ClassVar[str] = "scroll"
    keep_alive: str
    """Time for which the engine keeps the scroll between two pages, for example `10s`."""


class NextByAfterKey(Struct, frozen=True):
    """Repeats the aggregation after the key of its last bucket (`after_key`)."""

    kind: ClassVar[str] = "after_key"
    path: tuple[str, ...]
    """Names of aggregations from the outermost to the composite one."""


class NextByCursor(Struct, frozen=True):
    """Requests the page after the cursor of an SQL response; closes the cursor if pages are left."""

    kind: ClassVar[str] = "cursor"


NextPage = NextBySearchAfter | NextByScroll | NextByAfterKey | NextByCursor
"""How the next page is requested."""


class PagedRequest(Struct, frozen=True):
    """A request for the first page and those for the pages after it; its work is the number of pages."""

    kind: ClassVar[str] = "pages"
    first: Request
    """Fetches the first page; its body is a JSON object."""
    next: NextPage
    """How the next page is requested."""
    pages: int | None = None
    """The maximum number of pages to fetch; None means all pages."""
    page_size: int | None = None
    """Entries of a full page: a page with fewer is the last. None means that only an empty
    page is the last.
    """
    strict: bool = False
    """Whether fewer pages than `pages` are a failure."""


class Wait(Struct, frozen=True):
    """A pause between calls."""

    kind: ClassVar[str] = "wait"
    seconds: float
    """Duration of the pause in seconds."""


class SubOperation(Struct, frozen=True):
    """An operation within a composite operation, recorded under its own name within the task."""

    kind: ClassVar[str] = "operation"
    name: str
    """The operation's name."""
    operation_type: str
    """The operation's type, such as `search`."""
    calls: tuple[Call, ...]
    """The calls, which are made one after another; never empty."""
    retry: RetryPolicy = NO_RETRY
    """When the calls are retried."""


class OperationStream(Struct, frozen=True):
    """Items that run one after another, concurrently with adjacent streams."""

    kind: ClassVar[str] = "stream"
    items: tuple[CompositeItem, ...]
    """The items in order; never empty."""


CompositeItem = SubOperation | OperationStream
"""One element of a composite operation."""


class Composite(Struct, frozen=True):
    """Operations within an operation.

    An operation waits for the streams before it; adjacent streams run concurrently.
    """

    kind: ClassVar[str] = "composite"
    items: tuple[CompositeItem, ...]
    """The sub-operations and streams in order; never empty."""
    max_connections: int | None = None
    """The maximum number of requests in flight; None means the number of streams."""


Call = Request | PagedRequest | Wait | Composite
"""One step of an operation."""


class CallSequence(Struct, frozen=True):
    """Calls that are made one after another; the first failure ends the operation.

    A sequence is the work of a task, or one operation that a parameter source supplies.
    """

    kind: ClassVar[str] = "calls"
    calls: tuple[Call, ...]
    """The calls in order; never empty."""
    retry: RetryPolicy = NO_RETRY
    """When the whole sequence is retried."""


class Sleep(Struct, frozen=True):
    """Waits without sending a request."""

    kind: ClassVar[str] = "sleep"
    seconds: float
    """Duration of the pause in seconds."""


class PythonSource(Struct, frozen=True):
    """Operations are supplied during the race by a parameter source written in Python."""

    kind: ClassVar[str] = "supplied"
    ahead: int
    """Maximum number of operations that are queued per client; at least 1."""


class PythonRunner(Struct, frozen=True):
    """Operations are executed by a runner written in Python, which sends requests through the driver."""

    kind: ClassVar[str] = "python_runner"


TaskWork = BulkWork | CallSequence | Sleep | PythonSource | PythonRunner
"""Work of each operation of a task."""


class SuppliedBulk(Struct, frozen=True):
    """One bulk request that a parameter source supplies; its body is passed separately."""

    kind: ClassVar[str] = "bulk"
    path: str
    """Path of the request, with query string."""
    headers: Headers
    """Headers that are sent in addition to those of the target."""
    documents: int
    """Work of the request in the task's unit: the documents in its body."""
    timeout_ms: int | None
    """Timeout in milliseconds that replaces that of the target."""
    detailed_results: bool = False
    """Whether the details of the response are kept with the sample."""
    assertions: tuple[Assertion, ...] = ()
    """Assertions of the track about the details."""


def requests_of(work: TaskWork) -> Iterator[Request]:
    """Yields the requests of a call sequence, also those within composite operations, in the order of the
    plan. Other kinds of work have none that the plan shows.
    """
    for call in work.calls if isinstance(work, CallSequence) else ():
        yield from _requests_of_call(call)


def _requests_of_call(call: Call) -> Iterator[Request]:
    if isinstance(call, Request):
        yield call
    elif isinstance(call, PagedRequest):
        yield call.first
    elif isinstance(call, Composite):
        yield from _requests_of_items(call.items)


def _requests_of_items(items: Iterable[CompositeItem]) -> Iterator[Request]:
    for item in items:
        if isinstance(item, OperationStream):
            yield from _requests_of_items(item.items)
        else:
            for call in item.calls:
                yield from _requests_of_call(call)


def document_data(value: object) -> Any:
    """Converts a value of the plan to the JSON data of the plan document."""
    if isinstance(value, Struct):
        fields = {name: document_data(getattr(value, name)) for name in value.__struct_fields__}
        if isinstance(value, PagedRequest):
            # The document needs no kind where it can be only one.
            del fields["first"]["kind"]
        kind = getattr(type(value), "kind", None)
        return fields if kind is None else {"kind": kind, **fields}
    if isinstance(value, tuple):
        return [document_data(item) for item in value]
    return value.value if isinstance(value, enum.Enum) else value
