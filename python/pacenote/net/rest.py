"""The REST client for control traffic (health, settings, statistics), never for measured requests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

from pacenote.errors import EngineError
from pacenote.model.foreign_errors import brief_json
from pacenote.model.foreign_messages import message_line, reason_text
from pacenote.net.failures import HTTPS_HINT, PROXY_CREDENTIALS_HINT, FailureDescription, describe_failure
from pacenote.net.hosts import HttpHost
from pacenote.net.http_pool import ClientConfig, ConnectionPools
from pacenote.net.proxy import proxy_for
from pacenote.net.reply import FailedStatus, ReplyLimitError, UnusableReply, parse_body, read_body
from pacenote.net.reply_limits import ReplyLimits
from pacenote.net.rotation import HostRotation
from pacenote.net.tls import speaks_tls

Params = Mapping[str, str | int | float | bool]
"""Query parameters of a request."""

REPLY_TIMEOUT_S = 60.0
"""Seconds within which a whole response must arrive."""

_CONNECTIONS = 4
_TLS_PROBE_TIMEOUT_S = 2.0
_BAD_REQUEST = 400
_OF_WRONG_PATHS = (301, 302, 307, 308, 400, 404, 405)
"""Statuses with which servers and engines answer a path that they do not have."""

_PROXY_AUTHENTICATION_REQUIRED = 407
_MAX_REASON_CHARS = 64 << 10
"""Characters of the reason of an error that are read; a reply may have 64 MiB."""


@dataclass(frozen=True, slots=True)
class RestResponse:
    """The response to a request."""

    status: int
    """The HTTP status."""
    body: Any
    """The body: parsed if it is JSON, otherwise text, or None when it is empty."""
    data: bytes = field(default=b"", repr=False)
    """The body as it was received, without its content encoding."""

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


class UntrustedCertificate(EngineError):
    """No host can be reached, and one presents a certificate that is not accepted."""


class RestClient:
    """Sends requests to the hosts in turn, and each to the next host if one cannot be reached. Safe to use
    from several threads.
    """

    def __init__(
        self,
        hosts: Sequence[HttpHost],
        timeout_s: float = 10.0,
        config: ClientConfig = ClientConfig(),
        reply_timeout_s: float = REPLY_TIMEOUT_S,
    ) -> None:
        """Creates a client. `timeout_s` limits, in seconds, connecting and each read of a response, and
        `reply_timeout_s` the whole response; `config` may have a lower limit for connecting.
        """
        self.hosts = tuple(hosts)
        self._rotation = HostRotation(hosts)
        self._speaking_http: set[HttpHost] = set()
        self._timeout_s = timeout_s
        self._connect_timeout_s = min(timeout_s, config.connect_timeout_s)
        self._config = config
        self._headers = {"accept": "application/json", **dict(config.headers)}
        self._pools = ConnectionPools(_CONNECTIONS, ReplyLimits(whole_s=reply_timeout_s), config)

    def get(self, path: str, params: Params | None = None) -> Any:
        """Sends a GET request and returns the parsed response. Raises the same errors as `request`."""
        return self.request("GET", path, None, params)

    def request(self, method: str, path: str, body: object = None, params: Params | None = None) -> Any:
        """Sends a request and returns the parsed response.

        Text and bytes are sent unchanged, any other `body` as JSON. Raises EngineError with the hosts if none
        can be reached, or with the limit that the response exceeds (see `reply.py`), and FailedStatus with
        path, status and reason if the status is not 2xx.
        """
        response = self.exchange(method, path, body, params)
        if response.ok:
            return response.body
        credentials = [value for name, value in self._config.headers if name == "authorization"]
        # A server may repeat the credentials without their scheme.
        secrets = [*credentials, *filter(None, (value.partition(" ")[2] for value in credentials))]
        reason = message_line(_reason(response.body), secrets)
        raise FailedStatus(
            f"{method} {path} failed with status {response.status}: {reason}",
            response.status,
            hint=self._hint(response, path),
        )

    def exchange(
        self, method: str, path: str, body: object = None, params: Params | None = None
    ) -> RestResponse:
        """Sends a request like `request`, but returns the response whatever its status."""
        if _has_dot_segments(path):
            raise EngineError(f"{method} {path} would be a request for another path")
        failures: list[_HostUnreachable] = []
        for host in self._rotation.candidates():
            try:
                response = self._send(host, method, path, body, params)
            except _HostUnreachable as failure:
                self._rotation.failed(host)
                failures.append(failure)
            else:
                self._rotation.responded(host)
                return response
        untrusted = any(failure.is_untrusted for failure in failures)
        raise (UntrustedCertificate if untrusted else EngineError)(
            f"the cluster cannot be reached at {'; '.join(str(failure) for failure in failures)}",
            hint=next(
                (failure.hint for failure in failures if failure.hint),
                "check that it is running, and check --target-hosts",
            ),
        )

    def unreachable_hosts(self) -> tuple[str, ...]:
        """Sends a request to each host. Returns a message for each that cannot be reached."""
        messages = []
        for host in self.hosts:
            try:
                self._send(host, "GET", "/", None, None)
            except _HostUnreachable as failure:
                self._rotation.failed(host)
                messages.append(f"{failure}; {failure.hint}" if failure.hint else str(failure))
            else:
                self._rotation.responded(host)
        return tuple(messages)

    def close(self) -> None:
        """Closes all connections. The client can be used again."""
        self._pools.close()

    def _hint(self, response: RestResponse, path: str) -> str:
        status = response.status
        if status == _BAD_REQUEST and isinstance(response.body, str) and "https" in response.body.lower():
            # For example nginx: "The plain HTTP request was sent to HTTPS port".
            return HTTPS_HINT
        if status == _PROXY_AUTHENTICATION_REQUIRED:
            return PROXY_CREDENTIALS_HINT
        if status not in (401, 403):
            hint = "" if _is_of_engine(response.body) else self._path_hint(status, path)
            return hint or "see the log of the engine"
        if self._config.has_credentials:
            return "the credentials of --client-options or --target-hosts are wrong, expired or insufficient"
        return (
            "give basic_auth_user and basic_auth_password, api_key or bearer_auth in --client-options, or in "
            "PACENOTE_CLIENT_OPTIONS"
        )

    def _path_hint(self, status: int, path: str) -> str:
        """Returns advice if the server may not have the path of the request because of that in the hosts."""
        if status not in _OF_WRONG_PATHS:
            return ""
        if prefixes := sorted({host.path for host in self.hosts if host.path}):
            return (
                f"check the path {' and '.join(prefixes)} in --target-hosts: the cluster has no {path} there"
            )
        if path.strip("/"):
            return ""
        return "check --target-hosts: a cluster answers at its root; behind a proxy, it may need a path there"

    def _send(
        self, host: HttpHost, method: str, path: str, body: object, params: Params | None
    ) -> RestResponse:
        import urllib3

        pool = self._pools.get(host.scheme, host.host, host.port)
        headers = {} if body is None else {"content-type": _content_type(path)}
        url = f"{host}/{path.lstrip('/')}" + (f"?{urlencode(_texts(params))}" if params else "")
        try:
            response = pool.request(
                method,
                url,
                body=_encode(body),
                headers={**self._headers, **headers},
                timeout=urllib3.Timeout(connect=self._connect_timeout_s, read=self._timeout_s),
                # Credentials must not follow a redirect to another host.
                redirect=False,
                preload_content=False,
            )
            self._speaking_http.add(host)
            data = read_body(response)
            return RestResponse(response.status, parse_body(data), data)
        except urllib3.exceptions.HTTPError as failure:
            raise _HostUnreachable(host, self._describe(host, failure)) from None
        except UnusableReply as failure:
            raise ReplyLimitError(
                f"the reply of {host.address} to {method} {path} {failure}", hint="check --target-hosts"
            ) from None

    def _describe(self, host: HttpHost, failure: BaseException) -> FailureDescription:
        described = describe_failure(failure)
        timeout_s = min(_TLS_PROBE_TIMEOUT_S, self._timeout_s)
        is_unknown = host.scheme == "http" and host not in self._speaking_http
        if is_unknown and described.may_be_foreign and speaks_tls(host, timeout_s):
            return FailureDescription("the port speaks TLS", HTTPS_HINT)
        return described


def _has_dot_segments(path: str) -> bool:
    """Returns whether HTTP clients and servers would remove segments of a path (RFC 3986, 5.2.4), also
    encoded: an object with such a name, which a server may have, cannot be addressed.
    """
    segments = path.partition("?")[0].split("/")
    return any(unquote(segment) in (".", "..") for segment in segments)


class _HostUnreachable(Exception):
    """A host did not respond; the next host is tried."""

    def __init__(self, host: HttpHost, described: FailureDescription) -> None:
        proxy = proxy_for(host.scheme, host.host, host.port)
        through = f" through the proxy {proxy}" if proxy else ""
        super().__init__(f"{host.address}{through}: {described.reason}")
        self.hint = described.hint
        self.is_untrusted = described.is_untrusted


def _encode(body: object) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def _content_type(path: str) -> str:
    is_ndjson = path.rstrip("/").rpartition("/")[2] in ("_bulk", "_msearch")
    return "application/x-ndjson" if is_ndjson else "application/json"


def _texts(params: Params) -> dict[str, str]:
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in params.items()
    }


def _is_of_engine(body: Any) -> bool:
    """Returns whether an engine replied that a request failed, not that it does not have its path."""
    error = body.get("error") if isinstance(body, dict) else None
    return isinstance(error, dict) and isinstance(error.get("type"), str) and "reason" in error


def _reason(body: Any) -> str:
    """Returns the reason of an error in one line, from any form of error body."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("reason") or error.get("type") or error
    text = brief_json(error) if isinstance(error, dict | list) else reason_text(error)
    lines = text.lstrip()[:_MAX_REASON_CHARS].splitlines()
    return lines[0] if lines else "no reason given"
