"""Connection pools for control traffic: proxies for far hosts, none for loopback, TLS verified unless told
otherwise.

Nothing here is on the measured path; the load driver has its own client.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from pacenote.errors import UsageError
from pacenote.model.client_options import TlsOptions
from pacenote.net.tls import proxy_context, tls_context, tls_failure

if TYPE_CHECKING:
    from urllib3 import PoolManager
    from urllib3.exceptions import ProxyError


@dataclass(frozen=True, slots=True)
class Access:
    """How to be let in: credentials as ready headers (never shown), and whom to trust."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    tls: TlsOptions = TlsOptions()

    @classmethod
    def basic(cls, user: str, password: str) -> Access:
        """Access with a user name and a password."""
        return cls(headers=(("authorization", basic_header(user, password)),))

    @property
    def authorized(self) -> bool:
        """Whether there are credentials."""
        return any(name == "authorization" for name, _ in self.headers)


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy of the environment; `authorization` is the value of its own header, and secret."""

    scheme: str
    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{name}:{self.port}"


def basic_header(user: str, password: str) -> str:
    """The value of the Authorization header for HTTP basic authentication."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def split_url(url: str, what: str) -> tuple[SplitResult, Access]:
    """Take an http(s) URL apart; credentials in it move into an `Access`, so that the URL can be shown.

    `what` names the setting for the message. Raises UsageError when it is not an http or https URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(f"{what} is not a URL with a valid host and port") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{what} is not an http or https URL", hint="write it as https://host[:port]/path")
    access = Access()
    if parts.username is not None:
        access = Access.basic(unquote(parts.username), unquote(parts.password or ""))
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return parts._replace(netloc=host if port is None else f"{host}:{port}", query="", fragment=""), access


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def proxy_for(scheme: str, host: str, port: int | None = None) -> Proxy | None:
    """The proxy that the environment asks for (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`, also in
    capitals), None if none. Loopback never goes through one: the proxy's would be another.

    `no_proxy` holds names, beginnings of domains, addresses, networks as `10.0.0.0/8`, or `*`. Raises
    UsageError for a proxy that is no http or https URL.
    """
    if is_loopback(host):
        return None
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    proxies = getproxies_environment()
    name = host if ":" in host or port is None else f"{host}:{port}"
    if proxy_bypass_environment(name, proxies) or _in_networks(host, proxies.get("no", "")):
        return None
    found = proxies.get(scheme) or proxies.get("all")
    return _proxy(found, f"{scheme}_proxy or all_proxy in the environment") if found else None


def _in_networks(host: str, no_proxy: str) -> bool:
    """Whether an address lies in one of the networks that need no proxy."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for entry in no_proxy.split(","):
        with contextlib.suppress(ValueError):
            if "/" in entry and address in ipaddress.ip_network(entry.strip(), strict=False):
                return True
    return False


def _proxy(url: str, what: str) -> Proxy:
    parts, access = split_url(url if "://" in url else f"http://{url}", what)
    authorization = dict(access.headers).get("authorization")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return Proxy(parts.scheme, parts.hostname or "", port, authorization)


def open_pool(
    scheme: str, host: str, access: Access, connections: int, port: int | None = None
) -> PoolManager:
    """A pool for one host that keeps up to `connections` open. `port` only decides about proxies.

    Raises UsageError when files of certificates cannot be used.
    """
    import urllib3

    options: dict[str, Any] = {"maxsize": connections, "retries": False}
    if scheme == "https":
        tls = access.tls
        options |= {"ssl_context": tls_context(tls), "server_hostname": tls.server_name}
        if not (tls.verify and tls.verify_host):
            options["assert_hostname"] = False
        if not tls.verify:
            # Said once in our words, at the start; the library would say it again and again.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    proxy = proxy_for(scheme, host, port)
    if proxy is None:
        return urllib3.PoolManager(**options)
    # The proxy's own credentials travel in its own header, never in the request's.
    headers = {"proxy-authorization": proxy.authorization} if proxy.authorization else {}
    if proxy.scheme == "https":
        options["proxy_ssl_context"] = context = proxy_context(access.tls)
        # What is only forwarded, since its host speaks no TLS, goes by the pool's own.
        options.setdefault("ssl_context", context)
    return urllib3.ProxyManager(str(proxy), proxy_headers=headers, **options)


def plain_reason(failure: BaseException) -> str:
    """A network failure in plain words, without the library's class names and addresses in memory."""
    import urllib3

    exceptions = urllib3.exceptions
    if isinstance(failure, exceptions.MaxRetryError) and failure.reason is not None:
        return plain_reason(failure.reason)
    if (refused := tls_failure(failure)) is not None:
        return refused[0]
    if isinstance(failure, exceptions.ProxyError) and (said := _tunnel_reason(failure)):
        return said
    # The order matters: a failed look-up is a failed connection, which is a connect time-out to urllib3.
    known: tuple[tuple[type[Exception], str | None], ...] = (
        (exceptions.NameResolutionError, "the host name cannot be resolved"),
        (exceptions.NewConnectionError, None),
        (exceptions.ConnectTimeoutError, "no answer while connecting"),
        (exceptions.ReadTimeoutError, "no answer in time"),
        (exceptions.ProxyError, "the proxy does not answer"),
        (exceptions.IncompleteRead, "the reply ended early"),
    )
    words = next((words for kind, words in known if isinstance(failure, kind)), None)
    return words or _root_reason(failure)


def advice(failure: BaseException) -> str:
    """What to do about a network failure; empty where the reason says it all."""
    if (refused := tls_failure(failure)) is not None:
        return refused[1]
    if "407" in str(failure):
        return "give the proxy's credentials in its URL: http://user:password@host:port"
    return ""


def _tunnel_reason(failure: ProxyError) -> str:
    """What a proxy said that did not open a tunnel."""
    _, mark, said = str(failure.original_error).partition("Tunnel connection failed: ")
    return f"the proxy opens no tunnel: {said}" if mark else ""


def _root_reason(failure: BaseException) -> str:
    import http.client

    root = failure
    while (cause := root.__cause__ or root.__context__) is not None:
        root = cause
    if isinstance(root, OSError) and root.strerror:
        return root.strerror.lower()
    if isinstance(root, http.client.IncompleteRead):
        return "the reply ended early"
    if isinstance(root, http.client.HTTPException):
        return "the reply is not HTTP"
    return str(root)
