"""The clients that runners of plug-ins are given: elasticsearch-py, with the driver for a transport.

There are no hidden retries, and no check whether the product is Elasticsearch: OpenSearch will do. Media
types are plain JSON, which every version of both engines reads as that version's own.

Imported only when a runner of a plug-in is called, since the client is large.
"""

from __future__ import annotations

import inspect
import io
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from elastic_transport import (
    ApiResponseMeta,
    AsyncTransport,
    BaseAsyncNode,
    ConnectionTimeout,
    HttpHeaders,
    NodeConfig,
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

from pacenote.operations.base import EngineInfo
from pacenote.plugins.rally_api.request_context import CURRENT, RequestContextHolder
from pacenote.python_tasks.builtin_operations import BuiltIns, Refusal
from pacenote.python_tasks.request_router import NoReply, Wire, WireRequest

_JSON = "application/json"
_NDJSON = "application/x-ndjson"
_ELASTIC = "application/vnd.elasticsearch+"

_NOT_SENT = frozenset({"user-agent", "x-elastic-client-meta", "connection"})
_NOT_TOLD = frozenset({"warning"})
"""Headers of replies that the client would make Python warnings of."""

_PRODUCT = ("x-elastic-product", "Elasticsearch")
"""What the client wants to see before it believes that it speaks to the product it is made for."""


class _Node(BaseAsyncNode):
    """Sends through the driver."""

    def __init__(self, config: NodeConfig, wire: Wire, cluster: str) -> None:
        super().__init__(config)
        self._wire = wire
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
        timeout_s = None if request_timeout is DEFAULT else request_timeout
        request = WireRequest(method, target, _sent(headers or {}), body, timeout_s)
        try:
            reply = await self._wire.request(self._cluster, request)
        except NoReply as failure:
            raise _as_transport_error(failure) from None
        told = [(name, value) for name, value in reply.headers if name.lower() not in _NOT_TOLD]
        if not any(name.lower() == _PRODUCT[0] for name, _ in told):
            told.append(_PRODUCT)
        meta = ApiResponseMeta(
            status=reply.status,
            http_version="1.1",
            headers=HttpHeaders(told),
            duration=0.0,
            node=self.config,
        )
        return _NodeReply(meta, reply.body)

    async def close(self) -> None:  # type: ignore[override]
        """Nothing to close: connections are the driver's."""


class _NodeReply(NamedTuple):
    """A reply as the transport takes it."""

    meta: ApiResponseMeta
    body: bytes


def _as_transport_error(failure: NoReply) -> TransportError:
    if failure.kind == "timeout":
        return ConnectionTimeout(f"Connection timed out: {failure.reason}")
    if failure.kind == "tls":
        return TlsError(failure.reason)
    error = TransportError if failure.kind == "protocol" else TransportConnectionError
    return error(failure.reason)


def _sent(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        (name.lower(), _plain(value) if name.lower() in ("accept", "content-type") else value)
        for name, value in headers.items()
        if name.lower() not in _NOT_SENT
    ]


def _plain(media_type: str) -> str:
    """The media type without the vendor and the version of its API."""
    kinds = [kind.strip().partition(";")[0].strip() for kind in media_type.split(",")]
    return ", ".join(
        f"application/{kind.removeprefix(_ELASTIC)}" if kind.startswith(_ELASTIC) else kind for kind in kinds
    )


class _Transport(AsyncTransport):
    """Also understands the form in which clients of the 7 line were called."""

    async def perform_request(self, method: str, target: str = "", **options: Any) -> Any:  # type: ignore[override]
        """A request as the client makes it; with `url` or `params`, as version 7 had it: returns the body."""
        target = options.pop("url", target)
        if "params" not in options and "otel_span" in options:
            return await super().perform_request(method, target, **options)
        params, body = options.pop("params", None), options.pop("body", None)
        target = f"{target}?{_quote_query(params)}" if params else target
        headers = _with_media_types(options.pop("headers", None), target, body)
        meta, reply = await super().perform_request(method, target, body=body, headers=headers)
        if not 200 <= meta.status < 300:
            raise HTTP_EXCEPTIONS.get(meta.status, ApiError)(message=str(reply), meta=meta, body=reply)
        return reply


def _with_media_types(headers: Mapping[str, str] | None, path: str, body: object) -> dict[str, str]:
    """Headers with those that a request needs and that plug-ins leave out."""
    known = {name.lower(): value for name, value in (headers or {}).items()}
    known.setdefault("accept", _JSON)
    if body is not None:
        bulk = path.partition("?")[0].endswith(("_bulk", "_msearch"))
        known.setdefault("content-type", _NDJSON if bulk else _JSON)
    return known


class _Serializer(JsonSerializer):
    """Leaves a reply as it came where a runner asked for that."""

    def loads(self, data: bytes) -> Any:
        """The reply, parsed unless its operation wants it raw."""
        call = CURRENT.get()
        if call is not None and call.raw:
            return io.BytesIO(data)
        return super().loads(data)


class _Namespace:
    """A part of the client, such as `indices`, whose methods take what they need by position, too."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return _by_position(method) if inspect.ismethod(method) else method


def _by_position(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any, **named: Any) -> Any:
        if values:
            parameters = inspect.signature(method).parameters.values()
            needed = [
                one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty
            ]
            if len(values) > len(needed):
                raise TypeError(f"{method.__name__}() takes at most {len(needed)} values by position")
            named = {**dict(zip(needed, values, strict=False)), **named}
        return method(**named)

    return call


class Client(AsyncElasticsearch, RequestContextHolder):
    """A client of one cluster, with what Rally's client has beside those of elasticsearch-py."""

    pacenote_cluster = "default"
    pacenote_engine = EngineInfo()
    pacenote_built_ins: BuiltIns | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._verified_elasticsearch = True
        for name, part in list(vars(self).items()):
            if not name.startswith("_") and hasattr(part, "perform_request"):
                setattr(self, name, _Namespace(part))

    @property
    def is_serverless(self) -> bool:
        """Whether the cluster is a serverless one."""
        return self.pacenote_engine.flavor == "serverless"

    @property
    def distribution_version(self) -> str | None:
        """The version of the engine, None if it is not known."""
        return self.pacenote_engine.version or None

    @property
    def distribution_flavor(self) -> str:
        """The flavor of the engine."""
        return self.pacenote_engine.flavor

    def options(self, *args: Any, **kwargs: Any) -> Client:
        """A client with other credentials, headers or timeout; its requests are timed like all others."""
        derived = super().options(*args, **kwargs)
        derived.pacenote_cluster = self.pacenote_cluster
        derived.pacenote_engine = self.pacenote_engine
        derived.pacenote_built_ins = self.pacenote_built_ins
        return derived

    async def perform_request(self, method: str, path: str, **options: Any) -> Any:
        """A request by method and path."""
        options["headers"] = _with_media_types(options.get("headers"), path, options.get("body"))
        return await super().perform_request(method, path, **options)

    async def pacenote_built_in(self, kind: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Carries out an operation of a built-in type; returns what Rally's runner of it returns.

        Raises the errors of elasticsearch-py where the whole operation failed.
        """
        if self.pacenote_built_ins is None:
            raise RuntimeError("built-in operations are carried out while a race runs")
        try:
            return await self.pacenote_built_ins.carry_out(kind, params, self.pacenote_cluster)
        except NoReply as failure:
            raise _as_transport_error(failure) from None
        except Refusal as refusal:
            raise _as_api_error(refusal) from None


def _as_api_error(refusal: Refusal) -> ApiError:
    node = NodeConfig(scheme="http", host="driver", port=1)
    headers = HttpHeaders([("content-type", _JSON)])
    meta = ApiResponseMeta(
        status=refusal.status, http_version="1.1", headers=headers, duration=0.0, node=node
    )
    body = {"error": {"type": refusal.kind, "reason": refusal.reason}, "status": refusal.status}
    kind: type[ApiError] = HTTP_EXCEPTIONS.get(refusal.status, ApiError)
    return kind(message=refusal.kind or refusal.reason, meta=meta, body=body)


def make_client(wire: Wire, cluster: str, engine: EngineInfo, built_ins: BuiltIns) -> Client:
    """The client of a cluster."""

    class Node(_Node):
        def __init__(self, config: NodeConfig) -> None:
            super().__init__(config, wire, cluster)

    for category in (ElasticsearchWarning, GeneralAvailabilityWarning, TransportWarning):
        # What the engine finds deprecated in a track is the track's business, and so is what is experimental.
        warnings.simplefilter("ignore", category)
    client = Client(
        # Where requests go is for the driver to know; the client wants an address.
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
    client.pacenote_built_ins = built_ins
    return client
