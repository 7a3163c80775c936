"""Archives are downloaded, compared with their checksums, kept and removed."""

from __future__ import annotations

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pacenote.errors import DownloadError, EngineError, UsageError
from pacenote.fetch.options import DownloadOptions, DownloadRetryPolicy
from pacenote.provision.archives.addresses import ArchiveSource
from pacenote.provision.archives.archive_cache import (
    CacheLimits,
    FetchSettings,
    cached_path,
    fetch_archive,
    is_available_offline,
    prune_archives,
    sha512_of,
)
from pacenote.system.locks import locked
from support.file_server import file_server
from support.http_server import HttpRequest, HttpResponse, ScriptedServer, http_server
from support.official_archive import sha512_line

NAME = "elasticsearch-8.17.0-linux-x86_64.tar.gz"
CONTENT = b"archive" * 1000
FAST = FetchSettings(options=DownloadOptions(retry=DownloadRetryPolicy(2, 2, initial_pause_s=0.01)))


def source_at(url: str, *, reused: bool = True, checked: bool = False) -> ArchiveSource:
    return ArchiveSource("elasticsearch", "8.17.0", f"{url}/{NAME}", reused=reused, checked=checked)


def put(server: ScriptedServer, content: bytes = CONTENT, path: str = "") -> None:
    server.put(f"{path}/{NAME}", content)
    server.put(f"{path}/{NAME}.sha512", sha512_line(content, NAME))


def remaining(cache: Path) -> list[str]:
    return sorted(file.name for file in cache.rglob("*") if file.is_file() and file.name != ".lock")


def test_an_archive_is_downloaded_verified_and_kept(server: ScriptedServer, tmp_path: Path) -> None:
    put(server)
    source = source_at(server.url.replace("http://", "http://user:secret@"), checked=True)
    archive = fetch_archive(source, tmp_path, FAST)
    assert archive.path.read_bytes() == CONTENT
    assert archive.path == cached_path(source, tmp_path)
    assert archive.origin.sha512 == hashlib.sha512(CONTENT).hexdigest()
    assert archive.origin.verified
    assert archive.origin.address == f"{server.url}/{NAME}"
    assert archive.path.stat().st_mode & 0o777 == 0o644
    assert fetch_archive(source, tmp_path, FAST) == archive
    assert len(server.requests) == 2
    assert is_available_offline(source, tmp_path)


def test_a_changed_snapshot_is_downloaded_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    content = CONTENT

    def respond(request: HttpRequest) -> HttpResponse:
        beside = request.path.endswith(".sha512")
        return HttpResponse(body=sha512_line(content, NAME) if beside else content)

    with http_server(respond) as server:
        source = source_at(server.url, reused=False)
        fetch_archive(source, tmp_path, FAST)
        fetch_archive(source, tmp_path, FAST)
        assert server.count(f"GET /{NAME}") == 1
        content = b"new"
        archive = fetch_archive(source, tmp_path, FAST)
    assert archive.path.read_bytes() == b"new"
    assert fetch_archive(source, tmp_path, FetchSettings(offline=True)) == archive


def test_an_archive_with_a_wrong_checksum_is_removed(server: ScriptedServer, tmp_path: Path) -> None:
    server.put(f"/{NAME}", CONTENT)
    server.put(f"/{NAME}.sha512", sha512_line(b"other", NAME))
    with pytest.raises(DownloadError, match=rf"{NAME} has another SHA-512 checksum than its .sha512 file"):
        fetch_archive(source_at(server.url), tmp_path, FAST)
    assert remaining(tmp_path) == []


def test_an_archive_of_a_vendor_needs_a_checksum(server: ScriptedServer, tmp_path: Path) -> None:
    server.put(f"/{NAME}", CONTENT)
    with pytest.raises(DownloadError, match="the checksum of its archive cannot be read") as caught:
        fetch_archive(source_at(server.url, checked=True), tmp_path, FAST)
    assert "\n" not in caught.value.message
    archive = fetch_archive(source_at(server.url), tmp_path, FAST)
    assert not archive.origin.verified
    assert archive.origin.sha512 == hashlib.sha512(CONTENT).hexdigest()
    # What was not compared is not taken for verified later.
    assert fetch_archive(source_at(server.url), tmp_path, FAST) == archive


def test_a_version_that_does_not_exist_is_reported(server: ScriptedServer, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"elasticsearch 8.17.0 \(.*\) does not exist on the server"):
        fetch_archive(source_at(server.url), tmp_path, FAST)


def test_an_interrupted_download_is_continued(tmp_path: Path) -> None:
    content = os.urandom(400_000)
    with file_server() as server, ScriptedServer().running() as checksums:
        checksums.put("/sum", sha512_line(content, NAME))
        server.redirects[f"/{NAME}.sha512"] = f"{checksums.url}/sum"
        server.content, server.cut_after = content, [200_000, 0, 0]
        settings = FetchSettings(options=DownloadOptions(retry=DownloadRetryPolicy(1, 1, 0.01)))
        with pytest.raises(DownloadError):
            fetch_archive(source_at(server.url), tmp_path, settings)
        server.cut_after = []
        archive = fetch_archive(source_at(server.url), tmp_path, settings)
        assert archive.origin.verified
        assert archive.path.read_bytes() == content
        assert not server.requested_ranges()[-1].startswith("bytes=0-")


def test_a_mirror_is_tried_before_the_address_of_the_vendor(server: ScriptedServer, tmp_path: Path) -> None:
    put(server, path="/downloads/elasticsearch")
    source = source_at("http://127.0.0.1:1/downloads/elasticsearch", checked=True)
    settings = FetchSettings(mirrors=(server.url,), options=FAST.options)
    archive = fetch_archive(source, tmp_path, settings)
    assert archive.path.read_bytes() == CONTENT
    assert archive.origin.address == source.address


def test_offline_nothing_is_downloaded(server: ScriptedServer, tmp_path: Path) -> None:
    put(server)
    assert not is_available_offline(source_at(server.url), tmp_path)
    with pytest.raises(EngineError, match="--offline forbids downloading it"):
        fetch_archive(source_at(server.url), tmp_path, FetchSettings(offline=True))
    assert server.requests == []


def test_a_local_archive_is_used_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / NAME
    source = ArchiveSource("elasticsearch", "8.17.0", str(file))
    with pytest.raises(UsageError, match="does not exist"):
        fetch_archive(source, tmp_path / "cache")
    file.write_bytes(CONTENT)
    archive = fetch_archive(source, tmp_path / "cache", FetchSettings(offline=True))
    assert (archive.path, archive.origin.address, archive.origin.verified) == (file, str(file), False)
    assert not (tmp_path / "cache").exists()
    Path(f"{file}.sha512").write_bytes(sha512_line(CONTENT, NAME))
    assert fetch_archive(source, tmp_path / "cache").origin.verified
    file.write_bytes(b"changed")
    with pytest.raises(EngineError, match=r"is not the file that .*sha512 describes") as caught:
        fetch_archive(source, tmp_path / "cache")
    assert len(caught.value.message) < 300
    # It is the user's file.
    assert file.exists()


def test_a_checksum_that_is_no_ordinary_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / NAME
    file.write_bytes(CONTENT)
    checksum = Path(f"{file}.sha512")
    source = ArchiveSource("elasticsearch", "8.17.0", str(file))
    os.mkfifo(checksum)
    with pytest.raises(EngineError, match=r"sha512 cannot be read: it is not a regular file"):
        fetch_archive(source, tmp_path / "cache")
    checksum.unlink()
    with checksum.open("wb") as sparse:
        sparse.truncate(8 << 30)
    with pytest.raises(EngineError, match=r"sha512 cannot be read: it is larger than"):
        fetch_archive(source, tmp_path / "cache")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("kind", ["right", "wrong", "pipe"])
def test_a_checksum_that_another_user_has_written_is_not_read(tmp_path: Path, kind: str) -> None:
    tmp_path.chmod(0o1777)
    file = tmp_path / NAME
    file.write_bytes(CONTENT)
    checksum = Path(f"{file}.sha512")
    if kind == "pipe":
        os.mkfifo(checksum)
    else:
        checksum.write_bytes(sha512_line(CONTENT if kind == "right" else b"other", NAME))
    os.chown(checksum, 65534, 65534)
    archive = fetch_archive(ArchiveSource("elasticsearch", "8.17.0", str(file)), tmp_path / "cache")
    assert not archive.origin.verified


def entry(cache: Path, name: str, *, days: float, size: int = 10) -> Path:
    folder = cache / name
    folder.mkdir(parents=True)
    (folder / "a.tar.gz").write_bytes(b"x" * size)
    moment = time.time() - days * 86400
    os.utime(folder / "a.tar.gz", (moment, moment))
    return folder


def test_archives_that_were_not_used_are_removed(tmp_path: Path) -> None:
    old, recent = entry(tmp_path, "old", days=31), entry(tmp_path, "recent", days=29)
    prune_archives(tmp_path)
    assert not old.exists()
    assert recent.exists()


def test_the_archives_that_were_not_used_for_the_longest_time_make_room(tmp_path: Path) -> None:
    folders = [entry(tmp_path, f"a{days}", days=days, size=100) for days in (3, 1, 2)]
    prune_archives(tmp_path, CacheLimits(size=250))
    assert [folder.exists() for folder in folders] == [False, True, True]


def test_a_use_makes_an_archive_recent(server: ScriptedServer, tmp_path: Path) -> None:
    put(server)
    path = fetch_archive(source_at(server.url), tmp_path, FAST).path
    for file in path.parent.iterdir():
        os.utime(file, (0, 0))
    fetch_archive(source_at(server.url), tmp_path, FAST)
    prune_archives(tmp_path)
    assert path.exists()


def test_a_query_selects_another_archive(tmp_path: Path) -> None:
    def respond(request: HttpRequest) -> HttpResponse:
        is_archive = ".sha512" not in request.target
        return HttpResponse(200, request.target.encode()) if is_archive else HttpResponse(404)

    with http_server(respond) as server:
        first, second = (
            fetch_archive(
                ArchiveSource("elasticsearch", "8.17.0", f"{server.url}/{NAME}?build={build}"), tmp_path, FAST
            )
            for build in (17, 18)
        )
    assert [first.path.read_text(), second.path.read_text()] == [f"/{NAME}?build=17", f"/{NAME}?build=18"]


def test_each_address_has_its_own_folder(server: ScriptedServer, tmp_path: Path) -> None:
    # The SHA-256 of both addresses begins with f37c34143410.
    bases = [f"https://example.org/{number}" for number in (19_728_067, 21_950_626)]
    mirrored = FetchSettings(mirrors=(server.url,), options=FAST.options)
    contents = [b"genuine", b"evil"]
    for base, content in zip(bases, contents, strict=True):
        put(server, content, path=base.removeprefix("https://example.org"))
        archive = fetch_archive(source_at(base), tmp_path, mirrored)
        assert (archive.origin.address, archive.path.read_bytes()) == (f"{base}/{NAME}", content)
    offline = FetchSettings(offline=True)
    kept = [fetch_archive(source_at(base), tmp_path, offline).path.read_bytes() for base in bases]
    assert kept == contents


def test_the_folder_of_an_earlier_version_is_not_used(server: ScriptedServer, tmp_path: Path) -> None:
    put(server)
    source = source_at(server.url)
    whole = cached_path(source, tmp_path)
    old = tmp_path / whole.parent.name[:12] / NAME
    old.parent.mkdir()
    old.write_bytes(b"of another address")
    Path(f"{old}.sha512").write_bytes(sha512_line(b"of another address", NAME))
    assert not is_available_offline(source, tmp_path)
    assert fetch_archive(source, tmp_path, FAST).path.read_bytes() == CONTENT


def test_a_pipe_that_takes_the_place_of_an_archive_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    with pytest.raises(OSError, match="it is not a regular file"):
        sha512_of(tmp_path / NAME)


def test_an_archive_that_is_used_meanwhile_is_kept(server: ScriptedServer, tmp_path: Path) -> None:
    put(server)
    path = fetch_archive(source_at(server.url), tmp_path, FAST).path
    for file in path.parent.iterdir():
        os.utime(file, (0, 0))
    with ThreadPoolExecutor() as threads:
        with locked(path.parent / ".lock"):
            pruning = threads.submit(prune_archives, tmp_path)
            while str(os.getpid()) not in waiting_for_locks():
                time.sleep(0.01)
            os.utime(path)
        pruning.result()
    assert path.exists()


def waiting_for_locks() -> set[str]:
    """Returns the ids of the processes that wait for a lock."""
    lines = Path("/proc/locks").read_text().splitlines()
    return {line.partition("->")[2].split()[3] for line in lines if "->" in line}
