"""Control traffic: health, settings, statistics. Never used for what is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pacenote.errors import EngineError
from pacenote.model.secrets import redact
from pacenote.net.hosts import Host
from pacenote.net.http_pool import Access, advice, open_pool, plain_reason, proxy_for

if TYPE_CHECKING:
    from urllib3 import PoolManager

Params = Mapping[str, str | int | float | bool]

_CONNECTIONS = 4
_PROXY_WANTS_CREDENTIALS = 407


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the HTTP status, and the body parsed if it is JSON, else as text (None when empty).

    `data` are its bytes.
    """

    status: int
    body: Any
    data: bytes = field(default=b"", repr=False)

    @property
    def ok(self) -> bool:
        """Whether the status says success."""
        return 200 <= self.status < 300


class RestClient:
    """Talks to the first host that answers. Safe to use from several threads.

    `timeout` in seconds, for connecting and for each read.
    """

    def __init__(self, hosts: Sequence[Host], timeout: float = 10.0, access: Access = Access()) -> None:
        self.hosts = tuple(hosts)
        self._timeout = timeout
        self._access = access
        self._headers = {"accept": "application/json", **dict(access.headers)}
        self._pools: dict[Host, PoolManager] = {}

    def get(self, path: str, params: Params | None = None) -> Any:
        """The parsed reply to a GET. Raises EngineError when nobody answers or the status is an error."""
        return self.request("GET", path, None, params)

    def request(self, method: str, path: str, body: object = None, params: Params | None = None) -> Any:
        """The parsed reply. `body`: text or bytes as they are, anything else as JSON.

        Raises EngineError naming the address when nobody answers, or path, status and reason on an HTTP
        error.
        """
        reply = self.exchange(method, path, body, params)
        if reply.ok:
            return reply.body
        secrets = [value for name, value in self._access.headers if name == "authorization"]
        reason = redact(_reason(reply.body), secrets)
        raise EngineError(
            f"{method} {path} failed with status {reply.status}: {reason}", hint=self._advice(reply.status)
        )

    def _advice(self, status: int) -> str:
        if status == _PROXY_WANTS_CREDENTIALS:
            return "give the proxy's credentials in its URL: http://user:password@host:port"
        if status not in (401, 403):
            return "see the log of the engine"
        if self._access.authorized:
            return (
                "the credentials of --client-options or --target-hosts are wrong, expired or not allowed this"
            )
        return (
            "give basic_auth_user and basic_auth_password, api_key or bearer_auth in --client-options, or in "
            "PACENOTE_CLIENT_OPTIONS"
        )

    def exchange(self, method: str, path: str, body: object = None, params: Params | None = None) -> Reply:
        """Like `request`, but an HTTP error is a reply as any other."""
        failures: list[_Unreachable] = []
        for host in self.hosts:
            try:
                return self._send(host, method, path, body, params)
            except _Unreachable as failure:
                failures.append(failure)
        raise EngineError(
            f"the cluster cannot be reached at {'; '.join(str(failure) for failure in failures)}",
            hint=next(
                (failure.hint for failure in failures if failure.hint),
                "check that it runs, and --target-hosts",
            ),
        )

    def close(self) -> None:
        """Close all connections. The client can be used again."""
        while self._pools:
            self._pools.popitem()[1].clear()

    def _send(self, host: Host, method: str, path: str, body: object, params: Params | None) -> Reply:
        import urllib3

        pool = self._pools.get(host)
        if pool is None:
            pool = self._pools[host] = open_pool(
                host.scheme, host.host, self._access, _CONNECTIONS, host.port
            )
        content, headers = _encode(path, body)
        url = f"{host}/{path.lstrip('/')}" + (f"?{urlencode(_plain(params))}" if params else "")
        try:
            reply = pool.request(
                method,
                url,
                body=content,
                headers={**self._headers, **headers},
                timeout=urllib3.Timeout(connect=self._timeout, read=self._timeout),
                # Credentials must not follow a redirect to another host.
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as failure:
            raise _Unreachable(host, failure) from None
        return Reply(reply.status, _decode(reply.data), reply.data)


class _Unreachable(Exception):
    """This host did not answer; another one may. `hint` is empty where the reason says it all."""

    def __init__(self, host: Host, failure: BaseException) -> None:
        proxy = proxy_for(host.scheme, host.host, host.port)
        through = f" through the proxy {proxy}" if proxy else ""
        super().__init__(f"{host.address}{through}: {plain_reason(failure)}")
        self.hint = advice(failure)


def _encode(path: str, body: object) -> tuple[bytes | None, dict[str, str]]:
    if body is None:
        return None, {}
    lines = path.rstrip("/").rpartition("/")[2] in ("_bulk", "_msearch")
    kind = {"content-type": "application/x-ndjson" if lines else "application/json"}
    if isinstance(body, bytes):
        return body, kind
    return (body if isinstance(body, str) else json.dumps(body)).encode(), kind


def _plain(params: Params) -> dict[str, str]:
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in params.items()
    }


def _decode(data: bytes) -> Any:
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def _reason(body: Any) -> str:
    """One line saying why, from the several forms error bodies have."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("reason") or error.get("type") or json.dumps(error)
    lines = str(error or "no reason given").strip().splitlines()
    return lines[0][:300] if lines else "no reason given"
