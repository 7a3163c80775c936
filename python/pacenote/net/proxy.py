"""HTTP proxies from environment variables."""

from __future__ import annotations

import contextlib
import ipaddress
from dataclasses import dataclass, field

from pacenote.net.url import host_and_port, is_loopback, parse_url


@dataclass(frozen=True, slots=True)
class HttpProxy:
    """An HTTP proxy that the environment specifies."""

    scheme: str
    """`http` or `https`: the scheme of connections to the proxy itself."""
    host: str
    """Host name or address, without the brackets of IPv6."""
    port: int
    """TCP port."""
    authorization: str | None = field(default=None, repr=False)
    """The value of the Proxy-Authorization header; secret. None if there are no credentials."""

    def __str__(self) -> str:
        return f"{self.scheme}://{host_and_port(self.host, self.port)}"


def proxy_for(scheme: str, host: str, port: int | None = None) -> HttpProxy | None:
    """Returns the proxy that the environment specifies for a host, or None if there is none.

    Reads `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`, also in upper case; `no_proxy` holds names,
    domain suffixes, addresses, networks such as `10.0.0.0/8`, or `*`. Loopback addresses never go through a
    proxy, because they would refer to the proxy's own host. Raises UsageError if the proxy is not an http or
    https URL.
    """
    if is_loopback(host):
        return None
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    proxies = getproxies_environment()
    name = host if ":" in host or port is None else f"{host}:{port}"
    if proxy_bypass_environment(name, proxies) or _in_networks(host, proxies.get("no", "")):
        return None
    url = proxies.get(scheme) or proxies.get("all")
    return _parse(url, f"{scheme}_proxy or all_proxy in the environment") if url else None


def environment_proxies() -> tuple[str, ...]:
    """Returns the URLs of all proxies in the environment; they may contain credentials."""
    from urllib.request import getproxies_environment

    return tuple(url for name, url in getproxies_environment().items() if name != "no")


def _in_networks(host: str, no_proxy: str) -> bool:
    """Returns whether an address is in one of the networks that `no_proxy` lists."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for entry in no_proxy.split(","):
        with contextlib.suppress(ValueError):
            if "/" in entry and address in ipaddress.ip_network(entry.strip(), strict=False):
                return True
    return False


def _parse(url: str, setting: str) -> HttpProxy:
    parsed = parse_url(url if "://" in url else f"http://{url}", setting)
    return HttpProxy(parsed.parts.scheme, parsed.host, parsed.port, parsed.authorization)
