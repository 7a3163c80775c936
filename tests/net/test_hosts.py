"""Target hosts are parsed in every supported form."""

from __future__ import annotations

import pytest

from pacenote.errors import UsageError
from pacenote.net.hosts import HttpHost, parse_hosts


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("127.0.0.1:39200", ["http://127.0.0.1:39200"]),
        ("a", ["http://a:9200"]),
        ("a:1,b:2/path, c ", ["http://a:1", "http://b:2/path", "http://c:9200"]),
        ("https://es.example/", ["https://es.example:443"]),
        ("HTTPS://es.example", ["https://es.example:443"]),
        ("https://es.example:443/x/", ["https://es.example:443/x"]),
        ("[::1]:9201", ["http://[::1]:9201"]),
        ("[::1]", ["http://[::1]:9200"]),
        ("a:1,a:1", ["http://a:1"]),
        ("me:pw@[::1]/x,me:pw@b", ["http://[::1]:9200/x", "http://b:9200"]),
        ("https://me:p%2Cw@[::1]/x", ["https://[::1]:443/x"]),
        ("https://token@a:9243/x/y/", ["https://a:9243/x/y"]),
    ],
)
def test_addresses_in_all_forms_are_parsed(text: str, urls: list[str]) -> None:
    assert [str(host) for host in parse_hosts(text).hosts] == urls


def test_https_is_the_default_scheme_when_tls_is_on() -> None:
    assert parse_hosts(["a:1", "https://b"], tls=True).hosts == (
        HttpHost("https", "a", 1),
        HttpHost("https", "b", 443),
    )


@pytest.mark.parametrize(
    ("text", "tls", "message"),
    [
        ("a,http://b:1", True, "'http://b:1' in --target-hosts contradicts use_ssl:true"),
        ("https://a", False, "'https://a:443' in --target-hosts contradicts use_ssl:false"),
        ("https://me:s3cret@a,https://you:s3cret@b", None, "--target-hosts contains different credentials"),
        ("https://me:s3cret@a,https://b", None, "contains credentials for only some of its hosts"),
        ("a,b:1,me:s3cret@c", None, "contains credentials for only some of its hosts"),
    ],
)
def test_contradictory_hosts_are_rejected(text: str, tls: bool | None, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_hosts(text, tls=tls)
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        " , ",
        "a:b",
        "a b",
        "http://a<b>:1",
        "a:99999",
        "a:",
        "ftp://a",
        "http://",
        "[::1",
        "bob:s3cret@a:x",
        "bob:a,s3cret@b",
        "http://bob:s3cret,x@b",
        "bob:s3cret/x@b",
    ],
)
def test_invalid_hosts_are_rejected_without_showing_credentials(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_hosts(text)
    assert "--target-hosts" in caught.value.message
    assert "s3cret" not in caught.value.message + caught.value.hint


def test_credentials_are_removed_from_the_url() -> None:
    parsed = parse_hosts("https://bob:s%40cret@a:1")
    assert str(parsed.hosts[0]) == "https://a:1"
    assert parsed.authorization == "Basic Ym9iOnNAY3JldA=="
    assert "Basic" not in repr(parsed)


@pytest.mark.parametrize("text", ["a:1,http://b:2/x?token=s3cret", "a?s3cret=1", "https://bob:pw@a:1#s3cret"])
def test_an_address_with_a_query_string_is_rejected_without_showing_it(text: str) -> None:
    with pytest.raises(UsageError, match="in --target-hosts has a query string or a fragment") as caught:
        parse_hosts(text)
    assert "s3cret" not in caught.value.message + caught.value.hint
