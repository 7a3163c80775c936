"""The client for runners of plug-ins: elasticsearch-py, whose requests are sent by the driver.

It retries only if a runner asks for it (`options(max_retries=…)`); each attempt is recorded. It does not
check that the product is Elasticsearch, so OpenSearch works as well. Media types are plain JSON, which every
version of both engines accepts.

Imported before the first step that has a runner of a plug-in, because importing elasticsearch-py is slow.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from elastic_transport import (
    ApiResponseMeta,
    AsyncTransport,
    BaseAsyncNode,
    ConnectionTimeout,
    HttpHeaders,
    NodeConfig,
    SerializationError,
    TlsError,
    TransportError,
    TransportWarning,
)
from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport.client_utils import DEFAULT
from elasticsearch import ApiError, AsyncElasticsearch
from elasticsearch._async.client.utils import _quote_query
from elasticsearch.exceptions import HTTP_EXCEPTIONS, ElasticsearchWarning, GeneralAvailabilityWarning
from elasticsearch.serializer import JsonSerializer
from msgspec import Struct

from pacenote._core import RunnerRequest
from pacenote.model.engine import EngineInfo
from pacenote.model.foreign_errors import brief_json, error_causes
from pacenote.model.foreign_messages import shown_value
from pacenote.operations.runner import ConnectionFailed, HttpStatusError, RequestTimedOut
from pacenote.plugins.rally_api.failed_requests import FAILED_REQUESTS
from pacenote.plugins.rally_api.media_types import JSON, NDJSON, plain_media_types
from pacenote.plugins.rally_api.request_context import CURRENT_CONTEXT, RequestContextHolder
from pacenote.python_tasks.builtin_operations import BuiltinOperations, RejectedOperation
from pacenote.python_tasks.request_router import NoResponse, RequestRouter

_UNSENT_HEADERS = frozenset({"user-agent", "x-elastic-client-meta", "connection"})
"""Headers of requests that the client adds and the engine does not need."""

_HIDDEN_HEADERS = frozenset({"warning"})
"""Headers of responses that the client would turn into Python warnings."""

_ONCE_GET = frozenset({"cat.count", "indices.resolve_index"})
"""Requests that elasticsearch-py 9 sends as POST, which Elasticsearch 7 and OpenSearch reject."""

_ALREADY_EXISTS = "resource_already_exists_exception"
"""Type of the error of a request to create something that exists."""

_PRODUCT = ("x-elastic-product", "Elasticsearch")
"""The header by which the client recognizes Elasticsearch."""


class _Attempts(Struct):
    """The attempts at one request, which the transport repeats if a runner asks for it."""

    count: int = 0


_ATTEMPTS: ContextVar[_Attempts] = ContextVar("pacenote_attempts")
"""The attempts at the current request."""


class _Node(BaseAsyncNode):
    """A node whose requests are sent by the driver."""

    def __init__(self, config: NodeConfig, router: RequestRouter, cluster: str) -> None:
        super().__init__(config)
        self._router = router
        self._cluster = cluster

    async def perform_request(  # type: ignore[override]
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: HttpHeaders | None = None,
        request_timeout: Any = DEFAULT,
    ) -> Any:
        """Sends one request. Raises the errors of elastic-transport."""
        attempts = _ATTEMPTS.get()
        attempts.count += 1
        if attempts.count > 1:
            self._router.count_retry()
        timeout_s = None if request_timeout is DEFAULT else request_timeout
        request = RunnerRequest(method, target, _sent_headers(headers or {}), body, timeout_s)
        try:
            response = await self._router.request(self._cluster, request)
        except NoResponse as failure:
            raise _as_transport_error(failure) from None
        fields = [(name, value) for name, value in response.headers if name.lower() not in _HIDDEN_HEADERS]
        if not any(name.lower() == _PRODUCT[0] for name, _ in fields):
            fields.append(_PRODUCT)
        meta = ApiResponseMeta(
            status=response.status,
            http_version="1.1",
            headers=HttpHeaders(fields),
            duration=0.0,
            node=self.config,
        )
        return _NodeResponse(meta, response.body)

    async def close(self) -> None:  # type: ignore[override]
        """Does nothing: connections belong to the driver."""


class _NodeResponse(NamedTuple):
    """A response in the form that the transport of elastic-transport expects."""

    meta: ApiResponseMeta
    body: bytes


class BrokenConnection(TransportConnectionError):
    """The connection broke before the response was complete."""


def _as_transport_error(failure: NoResponse) -> TransportError:
    if failure.kind == "timeout":
        return ConnectionTimeout(f"Connection timed out: {failure.reason}")
    if failure.kind == "tls":
        return TlsError(failure.reason)
    if failure.kind == "reset":
        return BrokenConnection(failure.reason)
    error = TransportError if failure.kind == "protocol" else TransportConnectionError
    return error(failure.reason)


def _sent_headers(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        (name.lower(), plain_media_types(value) if name.lower() in ("accept", "content-type") else value)
        for name, value in headers.items()
        if name.lower() not in _UNSENT_HEADERS
    ]


class _Transport(AsyncTransport):
    """A transport that also accepts calls in the form of elasticsearch-py 7."""

    async def perform_request(self, method: str, target: str = "", **options: Any) -> Any:  # type: ignore[override]
        """Sends a request. Calls with `url` or `params`, as in version 7, return only the body."""
        _ATTEMPTS.set(_Attempts())
        target = options.pop("url", target)
        if "params" not in options and "otel_span" in options:
            return await super().perform_request(method, target, **options)
        params, body = options.pop("params", None), options.pop("body", None)
        target = f"{target}?{_quote_query(params)}" if params else target
        headers = _with_media_types(options.pop("headers", None), target, body)
        with _counting_failures(method):
            meta, response = await super().perform_request(method, target, body=body, headers=headers)
            if not 200 <= meta.status < 300:
                error = HTTP_EXCEPTIONS.get(meta.status, ApiError)
                raise error(message=_shown(response), meta=meta, body=response)
        return response


def _shown(response: object) -> str:
    """Returns the message of an error: of a reply without a body, the client of version 8 says `None`."""
    if response is None:
        return "None"
    return brief_json(response) if isinstance(response, dict | list) else shown_value(response)


@contextlib.contextmanager
def _counting_failures(method: str) -> Iterator[None]:
    """Counts a request that fails, unless its runner may expect this. A status that it ignores is not a
    failure.
    """
    try:
        yield
    except _FAILURES as error:
        failed = FAILED_REQUESTS.get()
        if failed is not None and not _may_be_expected(method, error):
            failed.count += 1
        raise


_FAILURES = (
    *(ApiError, TransportError, NoResponse, RejectedOperation),
    *(HttpStatusError, ConnectionFailed, RequestTimedOut),
)
"""Errors of requests."""


def _may_be_expected(method: str, error: Exception) -> bool:
    """Returns whether the error only tells whether something exists, or is not about the request."""
    if not isinstance(error, ApiError):
        return isinstance(error, SerializationError)
    if error.status_code == 404:
        return method in ("GET", "HEAD", "DELETE")
    return error.status_code == 400 and _already_exists(error.body)


def _already_exists(body: object) -> bool:
    reported = body.get("error") if isinstance(body, Mapping) else None
    return any(cause.get("type") == _ALREADY_EXISTS for cause in error_causes(reported))


def _with_media_types(headers: Mapping[str, str] | None, path: str, body: object) -> dict[str, str]:
    """Returns the headers with the media types that a request needs, unless they are present."""
    known = {name.lower(): value for name, value in (headers or {}).items()}
    known.setdefault("accept", JSON)
    if body is not None:
        bulk = path.partition("?")[0].endswith(("_bulk", "_msearch"))
        known.setdefault("content-type", NDJSON if bulk else JSON)
    return known


class _Serializer(JsonSerializer):
    """Does not parse responses if a runner requested raw ones."""

    def loads(self, data: bytes) -> Any:
        """Returns the response, parsed unless its operation requested raw responses."""
        context = CURRENT_CONTEXT.get()
        if context is not None and context.raw:
            return io.BytesIO(data)
        return super().loads(data)


class _Namespace:
    """A namespace of the client, such as `indices`; its methods accept required arguments by position."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return _accept_positional(method) if inspect.ismethod(method) else method


def _accept_positional(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any, **named: Any) -> Any:
        if values:
            parameters = inspect.signature(method).parameters.values()
            required = [
                parameter.name
                for parameter in parameters
                if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
            ]
            if len(values) > len(required):
                raise TypeError(f"{method.__name__}() takes at most {len(required)} values by position")
            named = {**dict(zip(required, values, strict=False)), **named}
        return method(**named)

    return call


class PluginClient(AsyncElasticsearch, RequestContextHolder):
    """A client of one cluster for plug-ins: elasticsearch-py with the additions of Rally's client."""

    pacenote_cluster = "default"
    pacenote_engine = EngineInfo()
    pacenote_builtin_operations: BuiltinOperations | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._verified_elasticsearch = True
        for name, part in list(vars(self).items()):
            if not name.startswith("_") and hasattr(part, "perform_request"):
                setattr(self, name, _Namespace(part))

    @property
    def is_serverless(self) -> bool:
        """Whether the cluster is serverless."""
        return self.pacenote_engine.is_serverless

    @property
    def distribution_version(self) -> str | None:
        """The version of the engine, or None if unknown."""
        return self.pacenote_engine.version or None

    @property
    def distribution_flavor(self) -> str:
        """The flavor of the engine."""
        return self.pacenote_engine.flavor

    def options(self, *args: Any, **kwargs: Any) -> PluginClient:
        """Returns a client with other credentials, headers or timeout; its requests are measured as well."""
        derived = super().options(*args, **kwargs)
        derived.pacenote_cluster = self.pacenote_cluster
        derived.pacenote_engine = self.pacenote_engine
        derived.pacenote_builtin_operations = self.pacenote_builtin_operations
        return derived

    async def perform_request(self, method: str, path: str, **options: Any) -> Any:
        """Sends a request with a method and a path."""
        if options.get("endpoint_id") in _ONCE_GET and options.get("body") is None:
            method = "GET"
        options["headers"] = _with_media_types(options.get("headers"), path, options.get("body"))
        with _counting_failures(method):
            return await super().perform_request(method, path, **options)

    async def pacenote_execute(self, type_name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Executes an operation of a built-in type and returns what Rally's runner of the type returns.

        Raises the errors of elasticsearch-py if the whole operation failed.
        """
        if self.pacenote_builtin_operations is None:
            raise RuntimeError("built-in operations can only be executed while a race runs")
        try:
            with _counting_failures(""):
                return await self.pacenote_builtin_operations.execute(
                    type_name, params, self.pacenote_cluster
                )
        except NoResponse as failure:
            raise _as_transport_error(failure) from None
        except RejectedOperation as rejected:
            raise _as_api_error(rejected) from None


def _as_api_error(rejected: RejectedOperation) -> ApiError:
    node = NodeConfig(scheme="http", host="driver", port=1)
    headers = HttpHeaders([("content-type", JSON)])
    meta = ApiResponseMeta(
        status=rejected.status, http_version="1.1", headers=headers, duration=0.0, node=node
    )
    error = rejected.error
    body = {"error": {"type": error.kind, "reason": error.reason}, "status": rejected.status}
    error_class: type[ApiError] = HTTP_EXCEPTIONS.get(rejected.status, ApiError)
    return error_class(message=error.kind or error.reason, meta=meta, body=body)


def make_client(
    router: RequestRouter, cluster: str, engine: EngineInfo, builtin_operations: BuiltinOperations
) -> PluginClient:
    """Returns the client of a cluster."""

    class Node(_Node):
        def __init__(self, config: NodeConfig) -> None:
            super().__init__(config, router, cluster)

    for category in (ElasticsearchWarning, GeneralAvailabilityWarning, TransportWarning):
        # Warnings about deprecated and experimental APIs are not relevant for the race.
        warnings.simplefilter("ignore", category)
    client = PluginClient(
        # The client requires an address, which is not used: the driver uses the real addresses.
        hosts=[NodeConfig(scheme="http", host=cluster, port=9200)],
        node_class=Node,
        transport_class=_Transport,
        serializer=_Serializer(),
        max_retries=0,
        retry_on_status=(),
        retry_on_timeout=False,
        sniff_on_start=False,
        meta_header=False,
        http_compress=False,
    )
    client.pacenote_cluster = cluster
    client.pacenote_engine = engine
    client.pacenote_builtin_operations = builtin_operations
    return client
