"""The proxy that environment variables select for a host."""

from __future__ import annotations

import pytest

from pacenote.errors import UsageError
from pacenote.net.proxy import HttpProxy, proxy_for


def test_loopback_never_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    assert proxy_for("http", "engine.example") == HttpProxy("http", "proxy.example", 3128)
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost", "es.localhost"):
        assert proxy_for("http", host) is None
    assert proxy_for("http", "10.0.0.1") is not None


@pytest.mark.parametrize(
    ("no_proxy", "host", "expected"),
    [
        ("", "es.example", True),
        ("*", "es.example", False),
        ("example", "es.example", False),
        ("other.example", "es.example", True),
        ("es.example:9200", "es.example", False),
        ("es.example:9201", "es.example", True),
        ("a, 10.0.0.0/8", "10.1.2.3", False),
        ("10.0.0.0/8", "11.1.2.3", True),
        ("fd00::/8", "fd00::1", False),
        ("fd00::1", "fd00::1", False),
    ],
)
def test_no_proxy_excludes_hosts(
    no_proxy: str, host: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert proxy_for("https", host, 9200) == (HttpProxy("http", "proxy.example", 3128) if expected else None)
    assert proxy_for("http", host, 9200) is None


def test_a_proxy_with_an_unsupported_scheme_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://me:s3cret@proxy.example:1080")
    with pytest.raises(UsageError, match="https_proxy or all_proxy in the environment is not") as caught:
        proxy_for("https", "es.example")
    assert "s3cret" not in caught.value.message + caught.value.hint
