"""Jars are downloaded from a Maven repository, verified and cached."""

from __future__ import annotations

import errno
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import DiskError, EngineError
from pacenote.fetch.options import DownloadOptions, DownloadRetryPolicy
from pacenote.fetch.partial_file import PARTIAL_FILES
from pacenote.provision import maven
from pacenote.provision.maven import MavenArtifact, fetch_artifacts, missing_artifacts, verified_jar
from support.http_server import ScriptedServer

from .conftest import jar, put_in_cache

FAST = DownloadOptions(retry=DownloadRetryPolicy(first_attempts=4, attempts=4, initial_pause_s=0.01))


def path_of(artifact: MavenArtifact) -> str:
    return f"/{artifact.repository_path}"


def remaining_files(folder: Path) -> list[str]:
    return [file.name for file in folder.rglob(PARTIAL_FILES)]


def test_artifacts_are_downloaded_in_parallel_with_progress(server: ScriptedServer, tmp_path: Path) -> None:
    contents = {f"a{n}": os.urandom(1000 + n) for n in range(12)}
    artifacts = [jar(name, content) for name, content in contents.items()]
    for artifact in artifacts:
        server.put(path_of(artifact), contents[artifact.name])
    reported: list[tuple[str, int, int]] = []
    cache = tmp_path / "cache"
    fetched = fetch_artifacts(
        [*artifacts, artifacts[0]], cache, mirror=server.url, progress=lambda *each: reported.append(each)
    )
    assert fetched == (*artifacts, artifacts[0])
    assert all(each.path_in(cache).read_bytes() == contents[each.name] for each in artifacts)
    assert reported[-1][1] == reported[-1][2] == sum(map(len, contents.values()))
    assert len(server.requests) == 12
    assert artifacts[0].path_in(cache).stat().st_mode & 0o777 == 0o644


def test_cached_artifacts_are_not_downloaded_again(server: ScriptedServer, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"content")
    fetch_artifacts([artifact], tmp_path, mirror=server.url)
    fetch_artifacts([artifact], tmp_path, mirror="http://127.0.0.1:1")
    assert len(server.requests) == 1


def test_a_cached_file_with_a_wrong_size_is_downloaded_again(server: ScriptedServer, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"content")
    put_in_cache(artifact, tmp_path, b"cont")
    fetch_artifacts([artifact], tmp_path, mirror=server.url)
    assert artifact.path_in(tmp_path).read_bytes() == b"content"


def test_downloads_from_a_busy_repository_are_retried(server: ScriptedServer, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"busy", 503)
    server.put(path_of(artifact), b"busy", 503)
    server.put(path_of(artifact), b"content")
    fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert server.count(path_of(artifact)) == 3


@pytest.mark.parametrize("announced", ["7", "3"])
def test_a_download_with_a_truncated_body_is_retried_and_counted_once(
    server: ScriptedServer, tmp_path: Path, announced: str
) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"con", 200, **{"content-length": announced})
    server.put(path_of(artifact), b"content")
    reported: list[int] = []
    fetch_artifacts(
        [artifact],
        tmp_path,
        mirror=server.url,
        options=FAST,
        progress=lambda _, done, __: reported.append(done),
    )
    assert artifact.path_in(tmp_path).read_bytes() == b"content"
    assert reported[-1] == 7


def test_a_repository_that_stays_busy_is_reported(server: ScriptedServer, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"busy", 503)
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 cannot be fetched .*status 503") as caught:
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert "--maven-mirror" in caught.value.hint
    assert server.count(path_of(artifact)) == 4


def test_a_file_with_a_wrong_checksum_is_rejected_and_removed(server: ScriptedServer, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"CONTENT")
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 has the wrong checksum"):
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert not artifact.path_in(tmp_path).exists()
    assert not remaining_files(tmp_path)


def test_a_new_artifact_is_verified_against_the_published_sha1(
    server: ScriptedServer, tmp_path: Path
) -> None:
    artifact = MavenArtifact("org.example", "a", "1.0")
    server.put(path_of(artifact), b"content")
    server.put(path_of(artifact) + ".sha1", hashlib.sha1(b"content").hexdigest().encode() + b"  a.jar\n")
    assert fetch_artifacts([artifact], tmp_path, mirror=server.url) == (jar("a", b"content"),)
    server.put(path_of(MavenArtifact("org.example", "b", "1.0")), b"content")
    server.put(path_of(MavenArtifact("org.example", "b", "1.0")) + ".sha1", b"0" * 40)
    with pytest.raises(EngineError, match="wrong checksum: sha1"):
        fetch_artifacts([MavenArtifact("org.example", "b", "1.0")], tmp_path, mirror=server.url)


def test_the_download_of_a_missing_artifact_is_not_retried(server: ScriptedServer, tmp_path: Path) -> None:
    artifact = jar("a", b"content")
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 is not in the Maven repository"):
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert len(server.requests) == 1


def test_an_unreachable_repository_is_reported_with_the_artifact(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 cannot be fetched .*connection refused"):
        fetch_artifacts([jar("a", b"x")], tmp_path, mirror="http://127.0.0.1:1", options=FAST)


def test_the_credentials_for_a_mirror_are_sent_but_never_shown(
    server: ScriptedServer, tmp_path: Path
) -> None:
    artifact = jar("a", b"content")
    mirror = server.url.replace("//", "//bob:s3cret@")
    with pytest.raises(EngineError) as caught:
        fetch_artifacts([artifact], tmp_path, mirror=mirror, options=FAST)
    assert "s3cret" not in str(caught.value) + caught.value.hint
    assert server.requests[0].headers["authorization"] == "Basic Ym9iOnMzY3JldA=="


def test_a_full_disk_is_reported(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = jar("a", b"content")
    server.put(path_of(artifact), b"content")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(DiskError, match="no space left") as caught:
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert "PACENOTE_HOME" in caught.value.hint
    assert not remaining_files(tmp_path)


def test_the_path_is_derived_from_the_coordinates() -> None:
    assert MavenArtifact("a.b", "c", "1").repository_path == "a/b/c/1/c-1.jar"


def test_concurrent_races_download_an_artifact_once(server: ScriptedServer, tmp_path: Path) -> None:
    content = os.urandom(200_000)
    artifact = jar("a", content)
    server.put(path_of(artifact), content)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(fetch_artifacts, [artifact], tmp_path, mirror=server.url) for _ in range(4)]
        assert {call.result() for call in calls} == {(artifact,)}
    assert server.count(path_of(artifact)) == 1


def test_an_artifact_without_a_published_checksum_is_rejected(server: ScriptedServer, tmp_path: Path) -> None:
    artifact = MavenArtifact("org.example", "a", "1.0")
    server.put(path_of(artifact), b"content")
    with pytest.raises(EngineError, match=r"org\.example:a:1\.0 has no checksum in the Maven repository"):
        fetch_artifacts([artifact], tmp_path, mirror=server.url, options=FAST)
    assert not list(tmp_path.rglob("*.jar"))


def test_a_failed_download_cancels_the_others(server: ScriptedServer, tmp_path: Path) -> None:
    missing = [jar(f"a{n}", b"content") for n in range(40)]
    with pytest.raises(EngineError, match="is not in the Maven repository"):
        fetch_artifacts(missing, tmp_path, mirror=server.url, options=FAST)
    assert len(server.requests) < len(missing)


def put_without_checksum(server: ScriptedServer, artifact: MavenArtifact, content: bytes) -> None:
    server.put(path_of(artifact), content)
    server.put(path_of(artifact) + ".sha1", hashlib.sha1(content).hexdigest().encode())


def test_a_jar_without_a_checksum_never_replaces_one_with_a_checksum(
    server: ScriptedServer, tmp_path: Path
) -> None:
    pinned = jar("tool", b"content")
    server.put(path_of(pinned), b"content")
    fetch_artifacts([pinned], tmp_path, mirror=server.url)
    other = MavenArtifact("org.example", "tool", "1.0")
    with ScriptedServer().running() as hostile:
        put_without_checksum(hostile, other, b"CONTENT")
        (fetched,) = fetch_artifacts([other], tmp_path, mirror=hostile.url)
        assert fetched == jar("tool", b"CONTENT")
    assert pinned.path_in(tmp_path).read_bytes() == b"content"
    assert fetched.path_in(tmp_path).read_bytes() == b"CONTENT"
    assert missing_artifacts([pinned, fetched], tmp_path) == []


@pytest.mark.parametrize("failure", ["missing", "checksum"])
def test_what_was_verified_before_another_jar_failed_is_not_downloaded_again(
    server: ScriptedServer, tmp_path: Path, failure: str
) -> None:
    artifacts = [MavenArtifact("org.example", name, "1.0") for name in ("a", "b", "bad")]
    bad = artifacts[-1]
    if failure == "missing":
        server.put(path_of(bad), b"", 404)
    else:
        server.put(path_of(bad), b"other")
    for artifact in artifacts:
        put_without_checksum(server, artifact, artifact.name.encode())
    # One after the other.
    options = replace(FAST, parallel_files=1)
    with pytest.raises(EngineError, match=r"org\.example:bad:1\.0"):
        fetch_artifacts(artifacts, tmp_path, mirror=server.url, options=options)
    assert missing_artifacts([jar("a", b"a"), jar("b", b"b")], tmp_path)
    assert remaining_files(tmp_path) == []
    fetched = fetch_artifacts(artifacts, tmp_path, mirror=server.url, options=options)
    assert [artifact.path_in(tmp_path).read_bytes() for artifact in fetched] == [b"a", b"b", b"bad"]
    assert [server.count(path_of(artifact)) for artifact in artifacts] == [1, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "org.example"]


def test_what_was_left_is_downloaded_again_if_the_repository_has_another_file(
    server: ScriptedServer, tmp_path: Path
) -> None:
    artifacts = [MavenArtifact("org.example", name, "1.0") for name in ("a", "gone")]
    put_without_checksum(server, artifacts[0], b"one")
    server.put(path_of(artifacts[1]) + ".sha1", b"0" * 40)
    with pytest.raises(EngineError, match="gone"):
        fetch_artifacts(artifacts, tmp_path, mirror=server.url, options=replace(FAST, parallel_files=1))
    with ScriptedServer().running() as other:
        put_without_checksum(other, artifacts[0], b"two")
        (fetched,) = fetch_artifacts(artifacts[:1], tmp_path, mirror=other.url)
    assert fetched == jar("a", b"two")
    assert fetched.path_in(tmp_path).read_bytes() == b"two"


@pytest.mark.parametrize("announced", [True, False])
def test_the_size_of_a_jar_without_a_checksum_is_limited(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, announced: bool
) -> None:
    monkeypatch.setattr(maven, "MAX_JAR_BYTES", 1000)
    for name, size in (("a", 1000), ("b", 1001)):
        artifact = MavenArtifact("org.example", name, "1.0")
        server.put(path_of(artifact) + ".sha1", hashlib.sha1(b"x" * size).hexdigest().encode())
        if announced:
            server.put(path_of(artifact), b"x" * size)
        else:
            chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (size, b"x" * size)
            server.put(path_of(artifact), chunks, 200, **{"transfer-encoding": "chunked"})
    (fetched,) = fetch_artifacts([MavenArtifact("org.example", "a", "1.0")], tmp_path, mirror=server.url)
    assert fetched.size == 1000
    with pytest.raises(EngineError, match=r"b:1\.0 cannot be fetched .*: it is larger than 1000 B"):
        fetch_artifacts([MavenArtifact("org.example", "b", "1.0")], tmp_path, mirror=server.url)
    assert remaining_files(tmp_path) == []
    # One with a checksum has the size that it must have.
    pinned = jar("c", b"x" * 1001)
    server.put(path_of(pinned), b"x" * 1001)
    assert fetch_artifacts([pinned], tmp_path, mirror=server.url) == (pinned,)


def test_names_and_versions_with_the_same_file_name_are_two_jars(
    server: ScriptedServer, tmp_path: Path
) -> None:
    artifacts = [
        MavenArtifact("g", "a-b", "c"),
        MavenArtifact("g", "a", "b-c"),
        MavenArtifact("h", "a", "b-c"),
    ]
    for number, artifact in enumerate(artifacts):
        put_without_checksum(server, artifact, b"%d" % number)
    fetched = fetch_artifacts(artifacts, tmp_path, mirror=server.url)
    assert [artifact.path_in(tmp_path).read_bytes() for artifact in fetched] == [b"0", b"1", b"2"]
    assert len({artifact.file_name for artifact in fetched}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "g", "h"]


def test_jars_that_were_cached_by_group_alone_are_moved_once_they_are_verified(tmp_path: Path) -> None:
    good, changed = jar("good", b"content"), jar("changed", b"content")
    for artifact, content in ((good, b"content"), (changed, b"CONTENT")):
        (tmp_path / artifact.group).mkdir(exist_ok=True)
        (tmp_path / artifact.group / artifact.file_name).write_bytes(content)
    assert missing_artifacts([good, changed], tmp_path) == [changed]
    assert good.path_in(tmp_path).read_bytes() == b"content"
    assert not changed.path_in(tmp_path).exists()
    assert not (tmp_path / good.group / good.file_name).exists()


def test_a_jar_is_compared_with_its_checksum_before_it_is_run(tmp_path: Path) -> None:
    artifact = jar("tool", b"content")
    put_in_cache(artifact, tmp_path, b"content")
    assert verified_jar(artifact, tmp_path) == artifact.path_in(tmp_path)
    put_in_cache(artifact, tmp_path, b"CONTENT")
    with pytest.raises(EngineError, match=r"tool-1\.0\.jar does not have the checksum of org\.example:tool"):
        verified_jar(artifact, tmp_path)


@pytest.mark.parametrize(
    "name", ["", "..", "/tmp/x", "a/b", "../../a", "a\x1b[2J", "a b", "${a}", "-a", "a" * 101]
)
def test_coordinates_that_are_not_names_are_refused(name: str) -> None:
    for coordinates in ((name, "a", "1"), ("g", name, "1"), ("g", "a", name)):
        with pytest.raises(ValueError, match="is not a valid name"):
            MavenArtifact(*coordinates)
    with pytest.raises(ValueError, match="no valid sha256"):
        MavenArtifact("g", "a", "1", "../" * 21 + "a")
