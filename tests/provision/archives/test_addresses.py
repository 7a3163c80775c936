"""An archive is found by its version in a repository, by its URL or by its path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.errors import UsageError
from pacenote.model.archive_options import ArchiveOptions
from pacenote.provision.archives.addresses import (
    archive_location,
    archive_source,
    engine_of_archive,
    plugin_address,
    render_address,
)
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES

ELASTICSEARCH = OFFICIAL_ARCHIVES["elasticsearch"]
OPENSEARCH = OFFICIAL_ARCHIVES["opensearch"]
MACHINE = os.uname().machine


def test_a_version_is_at_the_address_of_the_vendor() -> None:
    source = archive_source(ELASTICSEARCH, "8.17.0", ArchiveOptions())
    assert source.location == (
        f"https://artifacts.elastic.co/downloads/elasticsearch/elasticsearch-8.17.0-linux-{MACHINE}.tar.gz"
    )
    assert source.reused
    assert source.checked
    other = archive_source(OPENSEARCH, "3.3.0", ArchiveOptions(repository="release"))
    architecture = {"x86_64": "x64", "aarch64": "arm64"}.get(MACHINE, MACHINE)
    assert other.address == (
        "https://artifacts.opensearch.org/releases/bundle/opensearch/3.3.0/"
        f"opensearch-3.3.0-linux-{architecture}.tar.gz"
    )
    assert other.file_name == f"opensearch-3.3.0-linux-{architecture}.tar.gz"


@pytest.mark.parametrize("engine", OFFICIAL_ARCHIVES.values(), ids=lambda each: each.name)
def test_snapshots_are_downloaded_again_because_their_content_changes(engine) -> None:
    source = archive_source(engine, "9.9.0-SNAPSHOT", ArchiveOptions(repository="snapshot"))
    assert "9.9.0-SNAPSHOT-linux" in source.address
    assert not source.reused


def test_repositories_are_those_of_rallys_section() -> None:
    section = {
        "mine.url": "https://user:secret@example.org/{{VERSION}}/{{OSNAME}}-{{ARCH}}.tar.gz?sig=1",
        "mine.cache": "true",
        "release.cache": "false",
        "plugin.mapper.mine.url": "https://example.org/mapper-{{VERSION}}.zip",
    }
    options = ArchiveOptions(repository="mine", distributions=section)
    source = archive_source(ELASTICSEARCH, "8.17.0", options)
    assert source.location == f"https://user:secret@example.org/8.17.0/linux-{MACHINE}.tar.gz?sig=1"
    assert source.address == f"https://example.org/8.17.0/linux-{MACHINE}.tar.gz"
    assert "secret" not in repr(options)
    assert "secret" not in repr(source)
    assert source.reused
    assert not source.checked
    assert not archive_source(ELASTICSEARCH, "8.17.0", ArchiveOptions(distributions=section)).reused
    assert (
        plugin_address("mapper", "8.17.0", ELASTICSEARCH, options) == "https://example.org/mapper-8.17.0.zip"
    )
    assert plugin_address("mapper", "8.17.0", ELASTICSEARCH, ArchiveOptions()) is None


def test_a_configured_address_overrides_that_of_the_vendor() -> None:
    section = {"release.url": "http://127.0.0.1:1/{{VERSION}}.tar.gz"}
    source = archive_source(ELASTICSEARCH, "8.17.0", ArchiveOptions(distributions=section))
    assert source.location == "http://127.0.0.1:1/8.17.0.tar.gz"
    assert not source.checked


def test_an_unknown_repository_is_reported_with_a_close_one() -> None:
    with pytest.raises(UsageError, match="unknown repository 'snapshots'") as caught:
        archive_source(ELASTICSEARCH, "8.17.0", ArchiveOptions(repository="snapshots"))
    assert caught.value.hint == "did you mean 'snapshot'?"
    with pytest.raises(UsageError) as caught:
        archive_source(ELASTICSEARCH, "8.17.0", ArchiveOptions(repository="ours"))
    assert caught.value.hint == "define ours.url in [distributions]"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/x/elasticsearch-8.17.0-linux-x86_64.tar.gz", ("elasticsearch", "8.17.0")),
        ("https://example.org/opensearch-min-3.3.0-linux-x64.tar.gz?sig=a/b", ("opensearch", "3.3.0")),
        ("/x/elasticsearch-oss-7.10.2-no-jdk-linux-x86_64.tar.gz", ("elasticsearch", "7.10.2")),
        ("/x/elasticsearch-9.2.0-SNAPSHOT-linux-x86_64.tar.gz", ("elasticsearch", "9.2.0-SNAPSHOT")),
        ("/x/opensearch-3.0.0-beta1.tgz", ("opensearch", "3.0.0-beta1")),
        ("/x/solr-9.8.0.tar.gz", ("", "")),
        ("/x/build.tar.gz", ("", "")),
    ],
)
def test_the_name_of_an_archive_states_engine_and_version(location: str, expected: tuple[str, str]) -> None:
    assert engine_of_archive(location, OFFICIAL_ARCHIVES) == expected


def test_a_location_is_a_url_or_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert archive_location("a.tar.gz") == f"{tmp_path}/a.tar.gz"
    assert archive_location("file:///x/a.tar.gz") == "/x/a.tar.gz"
    assert archive_location("https://example.org/a.tar.gz") == "https://example.org/a.tar.gz"
    with pytest.raises(UsageError):
        archive_location("ftp://example.org/a.tar.gz")


def test_an_address_without_placeholders_is_not_changed() -> None:
    assert render_address("https://example.org/a", "1.0", OPENSEARCH) == "https://example.org/a"
