"""Connection pools of urllib3 that use the environment's proxy and verify TLS certificates by default."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pacenote.model.client_options import TlsOptions
from pacenote.net.proxy import proxy_for
from pacenote.net.reply_limits import ReplyLimits
from pacenote.net.tls import proxy_context, tls_context

if TYPE_CHECKING:
    from urllib3 import PoolManager


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Headers and TLS settings of an HTTP client."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Headers of every request, with names in lower case; they may contain credentials."""
    tls: TlsOptions = TlsOptions()
    """The certificates to accept and the one to present."""
    connect_timeout_s: float = math.inf
    """Longest time in which a connection is opened, in seconds, if the timeout of the requests is longer."""

    @property
    def has_credentials(self) -> bool:
        """Whether requests carry an Authorization header."""
        return any(name == "authorization" for name, _ in self.headers)


class ConnectionPools:
    """One pool of connections per host. Safe to use from several threads."""

    def __init__(
        self,
        connections: int,
        limits: ReplyLimits,
        config: ClientConfig = ClientConfig(),
    ) -> None:
        """`connections` is the number of connections that a pool keeps open, and `limits` are those of every
        response.
        """
        self._connections = connections
        self._limits = limits
        self._config = config
        self._lock = threading.Lock()
        self._pools: dict[tuple[str, str, int | None], PoolManager] = {}

    def get(self, scheme: str, host: str, port: int | None = None) -> PoolManager:
        """Returns the pool of a host, which the first call opens.

        Raises UsageError if a certificate file cannot be used, or if a proxy is not a URL.
        """
        key = scheme, host, port
        with self._lock:
            if key not in self._pools:
                self._pools[key] = self._open(*key)
            return self._pools[key]

    def close(self) -> None:
        """Closes all connections. The pools can be used again."""
        with self._lock:
            while self._pools:
                manager = self._pools.popitem()[1]
                # `clear` only forgets the pools; their connections would stay open until they are collected.
                keys = manager.pools.keys()
                for key in keys:
                    if (pool := manager.pools.get(key)) is not None:
                        pool.close()
                manager.clear()

    def _open(self, scheme: str, host: str, port: int | None) -> PoolManager:
        from pacenote.net.deadline import pool_classes

        manager = self._manager(scheme, host, port)
        manager.pool_classes_by_scheme = pool_classes(self._limits)
        return manager

    def _manager(self, scheme: str, host: str, port: int | None) -> PoolManager:
        import urllib3

        options: dict[str, Any] = {"maxsize": self._connections, "retries": False}
        if scheme == "https":
            tls = self._config.tls
            options |= {"ssl_context": tls_context(tls), "server_hostname": tls.server_name}
            if not (tls.verify and tls.verify_host):
                options["assert_hostname"] = False
            if not tls.verify:
                # Pacenote warns once, when the race starts; the library would warn for each request.
                urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        proxy = proxy_for(scheme, host, port)
        if proxy is None:
            return urllib3.PoolManager(**options)
        # The proxy's credentials are sent in a header for the proxy, never in a header of the request.
        headers = {"proxy-authorization": proxy.authorization} if proxy.authorization else {}
        if proxy.scheme == "https":
            options["proxy_ssl_context"] = context = proxy_context(self._config.tls)
            # A plain HTTP request is forwarded on the connection to the proxy, with the pool's own context.
            options.setdefault("ssl_context", context)
        return urllib3.ProxyManager(str(proxy), proxy_headers=headers, **options)
