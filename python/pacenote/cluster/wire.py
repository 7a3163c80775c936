"""Connection pools for control traffic: proxies for far hosts, none for loopback, TLS verified unless told
otherwise.

Nothing here is on the measured path; the load driver has its own client.
"""

from __future__ import annotations

import base64
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from pacenote.errors import EngineError, UsageError

if TYPE_CHECKING:
    from urllib3 import PoolManager


@dataclass(frozen=True, slots=True)
class Access:
    """How to be let in: credentials as ready headers (never shown), and what to trust.

    `verify=False` accepts any certificate; `ca_certs` is a PEM file to trust instead of the system's.
    """

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    verify: bool = True
    ca_certs: str | None = None

    @classmethod
    def basic(cls, user: str, password: str) -> Access:
        """Access with a user name and a password."""
        return cls(headers=(("authorization", basic_header(user, password)),))

    @classmethod
    def api_key(cls, key: str) -> Access:
        """Access with an API key in its encoded form (base64 of id:key)."""
        return cls(headers=(("authorization", f"ApiKey {key}"),))


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


def proxy_for(scheme: str, host: str) -> str | None:
    """The proxy the environment asks for, or None. Loopback never goes through a proxy."""
    if is_loopback(host):
        return None
    from urllib.request import getproxies, proxy_bypass

    if proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(scheme) or proxies.get("all")


def open_pool(scheme: str, host: str, access: Access, connections: int) -> PoolManager:
    """A pool for one host that keeps up to `connections` open.

    Raises EngineError when the CA file cannot be read.
    """
    import ssl

    import urllib3

    context: ssl.SSLContext | None = None
    if scheme == "https":
        try:
            context = ssl.create_default_context(cafile=access.ca_certs)
        except OSError:
            raise EngineError(
                f"the CA file {access.ca_certs} cannot be read as PEM certificates",
                hint="check that the file exists and holds certificates in PEM format",
            ) from None
        if not access.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
    proxy = proxy_for(scheme, host)
    if proxy is None:
        return urllib3.PoolManager(maxsize=connections, ssl_context=context, retries=False)
    return _proxied(proxy, connections, context)


def _proxied(proxy: str, connections: int, context: object) -> PoolManager:
    import urllib3

    parts, access = split_url(proxy if "://" in proxy else f"http://{proxy}", "the proxy in the environment")
    # The proxy's own credentials travel in its own header, never in the request's.
    headers = {f"proxy-{name}": value for name, value in access.headers}
    return urllib3.ProxyManager(
        parts.geturl(), proxy_headers=headers, maxsize=connections, ssl_context=context, retries=False
    )


def plain_reason(failure: BaseException) -> str:
    """A network failure in plain words, without the library's class names and addresses in memory."""
    import urllib3

    exceptions = urllib3.exceptions
    if isinstance(failure, exceptions.MaxRetryError) and failure.reason is not None:
        return plain_reason(failure.reason)
    # The order matters: a failed look-up is a failed connection, which is a connect time-out to urllib3.
    known: tuple[tuple[type[Exception], str | None], ...] = (
        (exceptions.NameResolutionError, "the host name cannot be resolved"),
        (exceptions.NewConnectionError, None),
        (exceptions.ConnectTimeoutError, "no answer while connecting"),
        (exceptions.ReadTimeoutError, "no answer in time"),
        (exceptions.SSLError, "the TLS certificate is not trusted, or the port does not speak TLS"),
        (exceptions.ProxyError, "the proxy does not answer"),
        (exceptions.IncompleteRead, "the reply ended early"),
    )
    words = next((words for kind, words in known if isinstance(failure, kind)), None)
    return words or _root_reason(failure)


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
