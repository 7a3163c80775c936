"""Base URLs, mirrors and buckets are resolved to the URLs of files."""

from __future__ import annotations

import pytest

from pacenote.errors import UsageError
from pacenote.fetch.remote_file import MissingCredentials, presign, remote_files, resolve


def test_mirrors_come_before_the_tracks_base_url() -> None:
    def shown(*mirrors: str, base: str | None = "https://tracks.example/http_logs") -> list[str]:
        return [each.display_url for each in remote_files(base, "a.json", "logs", mirrors)]

    assert shown() == ["https://tracks.example/http_logs/a.json"]
    assert shown("http://m:1/x/") == ["http://m:1/x/http_logs/a.json", *shown()]
    assert shown("https://tracks.example=http://m", "https://other=http://n") == [
        "http://m/http_logs/a.json",
        *shown(),
    ]
    assert shown("s3://bucket/x", base="gs://public/so") == [
        "s3://bucket/x/so/a.json",
        "gs://public/so/a.json",
    ]
    assert shown("http://m", base=None) == ["http://m/logs/a.json"]
    assert shown("http://m/day=1")[0] == "http://m/day=1/http_logs/a.json"
    assert shown(base=None) == []
    with pytest.raises(UsageError, match="is not an http or https URL"):
        shown(base="ftp://somewhere")


def test_a_secret_in_a_url_is_not_shown_or_sent_to_mirrors() -> None:
    mirror, own = remote_files("https://data.example/so", "a b.json?sig=s%2F3=", "so", ("http://m",))
    assert own.url == "https://data.example/so/a%20b.json?sig=s%2F3="
    assert mirror.url == "http://m/so/a%20b.json"
    assert "sig" not in own.display_url + repr(own)


def test_buckets_are_resolved_to_https_urls() -> None:
    assert resolve("s3://tracks/so/a b.json", {}).url == "https://tracks.s3.amazonaws.com/so/a%20b.json"
    assert resolve("s3://my.tracks/a.json", {}).url == "https://s3.amazonaws.com/my.tracks/a.json"
    google = resolve("gs://tracks/so/a.json", {"GOOGLE_AUTH_TOKEN": "t"})
    assert google.url == "https://storage.googleapis.com/tracks/so/a.json"
    assert google.headers == (("authorization", "Bearer t"),)
    assert "Bearer" not in repr(google)


def test_presigning_requires_boto3(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)
    with pytest.raises(MissingCredentials, match=r"needs credentials, and boto3, .* is not installed"):
        presign(resolve("s3://a/b"))
