"""Rally's synchronous client, for plug-ins that create one.

The driver neither sends nor measures its requests. The module is not imported with its package,
because importing elasticsearch-py is slow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from elastic_transport import HttpHeaders, Transport
from elasticsearch import Elasticsearch

from pacenote.plugins.rally_api.esrally.utils import versions
from pacenote.plugins.rally_api.media_types import JSON, NDJSON, plain_media_types

_PRODUCT = {"x-elastic-product": "Elasticsearch"}
"""The header by which the client recognizes Elasticsearch; OpenSearch does not send it."""


class _PlainTransport(Transport):
    """A transport whose media types every engine accepts."""

    def perform_request(  # type: ignore[override]
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> Any:
        """Sends a request. Raises the errors of elastic-transport."""
        sent = {
            name: plain_media_types(value) if name.lower() in ("accept", "content-type") else value
            for name, value in (headers or {}).items()
        }
        response = super().perform_request(method, target, headers=sent, **options)
        meta = response.meta
        if "x-elastic-product" not in meta.headers:
            meta = dataclasses.replace(meta, headers=HttpHeaders({**meta.headers, **_PRODUCT}))
        return response._replace(meta=meta)


class RallySyncElasticsearch(Elasticsearch):
    """elasticsearch-py with the additions of Rally's client; it also accepts OpenSearch."""

    def __init__(
        self,
        hosts: Any = None,
        *,
        distribution_version: str | None = None,
        distribution_flavor: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(hosts, **{"transport_class": _PlainTransport, **options})
        self.distribution_version = distribution_version
        self.distribution_flavor = distribution_flavor

    @property
    def is_serverless(self) -> bool:
        """Whether the cluster is serverless."""
        return versions.is_serverless(self.distribution_flavor)

    def options(self, *arguments: Any, **options: Any) -> Any:
        """Returns a client with other credentials, headers or timeout."""
        derived = super().options(*arguments, **options)
        derived.distribution_version = self.distribution_version
        derived.distribution_flavor = self.distribution_flavor
        return derived

    def perform_request(self, method: str, path: str, **options: Any) -> Any:
        """Sends a request with a method and a path."""
        headers = {name.lower(): value for name, value in (options.get("headers") or {}).items()}
        headers.setdefault("accept", JSON)
        if options.get("body") is not None:
            bulk = path.partition("?")[0].endswith(("_bulk", "_msearch"))
            headers.setdefault("content-type", NDJSON if bulk else JSON)
        return super().perform_request(method, path, **{**options, "headers": headers})
