"""Downloads arrive whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from pacenote.errors import DiskError, EngineError
from pacenote.fetch.options import DownloadOptions, DownloadRetryPolicy
from pacenote.fetch.partial_file import PARTIAL_FILES
from pacenote.provision.maven import MavenArtifact, fetch_artifacts
from support.http_server import Server

from .conftest import jar

FAST = DownloadOptions(retry=DownloadRetryPolicy(first_attempts=4, attempts=4, initial_pause_s=0.01))


def path_of(artifact: MavenArtifact) -> str:
    return f"/{artifact.repository_path}"


def leftovers(folder: Path) -> list[str]:
    return [file.name for file in folder.rglob(PARTIAL_FILES)]


def test_fetches_in_parallel_and_tells_bytes(server: Server, tmp_path: Path) -> None:
    contents = {f"a{n}": os.urandom(1000 + n) for n in range(12)}
    artifacts = [jar(name, content) for name, content in contents.items()]
    for artifact in artifacts:
        server.put(path_of(artifact), contents[artifact.name])
    told: list[tuple[str, int, int]] = []
    cache = tmp_path / "cache"
    found = fetch_artifacts(
        [*artifacts, artifacts[0]], cache, mirror=server.url, progress=lambda *each: told.append(each)
    )
    assert found == (*artifacts, artifacts[0])
    assert all(each.path_in(cache).read_bytes() == contents[each.name] for each in artifacts)
    assert told[-1][1] == told[-1][2] == sum(map(len, contents.values()))
    assert len(server.seen) == 12
    assert artifacts[0].path_in(cache).stat().st_mode & 0o777 == 0o644


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"content")
    fetch_artifacts([artifact], tmp_path, mirror=server.url)
    fetch_artifacts([artifact], tmp_path, mirror="http://127.0.0.1:1")
    assert len(server.seen) == 1


def test_a_file_of_the_wrong_size_is_fetched_again(server: Server, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"content")
    artifact.path_in(tmp_path).parent.mkdir()
    artifact.path_in(tmp_path).write_bytes(b"cont")
    fetch_artifacts([artifact], tmp_path, mirror=server.url)
    assert artifact.path_in(tmp_path).read_bytes() == b"content"


def test_busy_twice_then_fine(server: Server, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"busy", 503)
    server.put(path_of(artifact), b"busy", 503)
    server.put(path_of(artifact), b"content")
    fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert server.count(path_of(artifact)) == 3


@pytest.mark.parametrize("announced", ["7", "3"])
def test_truncated_is_tried_again_and_counted_once(server: Server, tmp_path: Path, announced: str) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"con", 200, **{"content-length": announced})
    server.put(path_of(artifact), b"content")
    told: list[int] = []
    fetch_artifacts(
        [artifact], tmp_path, mirror=server.url, options=FAST, progress=lambda _, done, __: told.append(done)
    )
    assert artifact.path_in(tmp_path).read_bytes() == b"content"
    assert told[-1] == 7


def test_always_busy_names_artifact_and_status(server: Server, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"busy", 503)
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 cannot be fetched .*status 503") as caught:
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert "--maven-mirror" in caught.value.hint
    assert server.count(path_of(artifact)) == 4


def test_wrong_checksum_is_refused_and_leaves_nothing(server: Server, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"CONTENT")
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 has the wrong checksum"):
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert not artifact.path_in(tmp_path).exists()
    assert not leftovers(tmp_path)


def test_a_new_artifact_is_held_against_the_published_sha1(server: Server, tmp_path: Path) -> None:
    artifact = MavenArtifact("org.example", "a", "1.0")
    server.put(path_of(artifact), b"content")
    server.put(path_of(artifact) + ".sha1", hashlib.sha1(b"content").hexdigest().encode() + b"  a.jar\n")
    assert fetch_artifacts([artifact], tmp_path, mirror=server.url) == (jar("a", b"content"),)
    server.put(path_of(MavenArtifact("org.example", "b", "1.0")), b"content")
    server.put(path_of(MavenArtifact("org.example", "b", "1.0")) + ".sha1", b"0" * 40)
    with pytest.raises(EngineError, match="wrong checksum: sha1"):
        fetch_artifacts([MavenArtifact("org.example", "b", "1.0")], tmp_path, mirror=server.url)


def test_not_there_is_not_tried_again(server: Server, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 is not in the Maven repository"):
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert len(server.seen) == 1


def test_unreachable_names_the_artifact(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 cannot be fetched .*connection refused"):
        fetch_artifacts([jar("a", b"x")], tmp_path, mirror="http://127.0.0.1:1", options=FAST)


def test_credentials_of_a_mirror_are_sent_and_never_shown(server: Server, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    mirror = server.url.replace("//", "//bob:s3cret@")
    with pytest.raises(EngineError) as caught:
        fetch_artifacts([artifact], tmp_path, mirror=mirror, options=FAST)
    assert "s3cret" not in str(caught.value) + caught.value.hint
    assert server.seen[0][2]["authorization"] == "Basic Ym9iOnMzY3JldA=="


def test_full_disk_says_so(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"content")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(DiskError, match="no space left") as caught:
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert "PACENOTE_HOME" in caught.value.hint
    assert not leftovers(tmp_path)
