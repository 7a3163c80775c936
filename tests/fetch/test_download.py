"""Downloads from a real server that cuts connections, sends wrong headers, fails and changes its files."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from pathlib import Path

import pytest

from pacenote.errors import DiskError
from pacenote.fetch.download import Download, NotAvailable, download_file
from pacenote.fetch.http_file import Digest
from pacenote.fetch.options import DownloadOptions, DownloadRetryPolicy
from pacenote.fetch.remote_file import remote_files, resolve
from support.file_server import FileServer

QUICK = DownloadOptions(
    segment_bytes=1 << 20, retry=DownloadRetryPolicy(first_attempts=2, attempts=3, initial_pause_s=0.001)
)
CONTENT = random.Random(1).randbytes(300_000)
BIG = random.Random(2).randbytes(5_000_001)


class Here:
    """A folder to download to, and what was said meanwhile."""

    def __init__(self, folder: Path, server: FileServer) -> None:
        self.target = folder / "deep" / "notes.json.bz2"
        self.server = server
        self.said: list[tuple[str, int, int]] = []

    def download(self, size: int | None = None, options: DownloadOptions = QUICK) -> str:
        where = (resolve(f"{self.server.url}/data/notes.json.bz2"),)
        return download_file(Download(self.target, where, size), self.tell, options).display_url

    def tell(self, label: str, done: int, total: int) -> None:
        self.said.append((label, done, total))

    def files(self) -> list[str]:
        return sorted(path.name for path in self.target.parent.iterdir())


@pytest.fixture
def here(tmp_path: Path, server: FileServer) -> Here:
    server.content = CONTENT
    return Here(tmp_path, server)


def test_a_file_is_downloaded_whole(here: Here) -> None:
    assert here.download(len(CONTENT)) == f"{here.server.url}/data/notes.json.bz2"
    assert here.target.read_bytes() == CONTENT
    assert here.files() == ["notes.json.bz2"]
    assert here.said[-1] == ("downloading notes.json.bz2", len(CONTENT), len(CONTENT))
    assert here.server.asked() == ["bytes=0-"]


@pytest.mark.parametrize("etag", [True, False])
def test_a_cut_download_continues_where_it_stopped(here: Here, etag: bool) -> None:
    here.server.etag = etag
    here.server.headers = {} if etag else {"last-modified": "Sat, 01 Aug 2026 10:00:00 GMT"}
    here.server.cut_after = [100_000, 70_000]
    here.download()
    assert here.target.read_bytes() == CONTENT
    assert here.server.asked() == ["bytes=0-", "bytes=100000-299999", "bytes=170000-299999"]


def test_without_ranges_a_cut_download_starts_again(here: Here) -> None:
    here.server.ranges = False
    here.server.cut_after = [100_000]
    here.download()
    assert here.target.read_bytes() == CONTENT
    assert here.said[-1][1:] == (len(CONTENT), len(CONTENT))
    here.target.unlink()
    # Further than the last time is no progress where all begins anew.
    here.server.cut_after = [100_000, 200_000, 100_000, 200_000]
    with pytest.raises(NotAvailable, match="the response ended early"):
        here.download()


def test_ranges_without_a_validator_are_not_combined(here: Here) -> None:
    def change(number: int) -> None:
        if number == 2:
            here.server.content = CONTENT[::-1]

    here.server.etag = False
    here.server.cut_after = [100_000]
    here.server.on_request = change
    here.download(len(CONTENT))
    assert here.target.read_bytes() == CONTENT[::-1]


def test_a_range_of_a_file_of_unknown_size_is_refused(here: Here) -> None:
    here.server.headers = {"content-range": "bytes 0-299999/*"}
    with pytest.raises(NotAvailable, match="sends a range without the size of the file"):
        here.download()
    assert not here.target.exists()


def test_a_redirect_is_followed_without_credentials(here: Here, other: FileServer) -> None:
    other.content = CONTENT
    here.server.redirects = {"/data/a.json": f"{other.url}/elsewhere?signed=1"}
    where = resolve(f"{here.server.url.replace('//', '//user:secret@')}/data/a.json")
    other.cut_after = [100_000]
    assert download_file(Download(here.target, (where,)), here.tell, QUICK) is where
    assert here.target.read_bytes() == CONTENT
    assert ["authorization" in headers for _, headers in here.server.seen] == [True, True]
    assert ["authorization" in headers for _, headers in other.seen] == [False, False]
    assert other.asked() == ["bytes=0-", "bytes=100000-299999"]


def test_a_redirect_loop_ends(here: Here) -> None:
    here.server.redirects = {"/data/notes.json.bz2": f"{here.server.url}/data/notes.json.bz2"}
    with pytest.raises(NotAvailable, match="too many redirects"):
        here.download()


def test_a_body_that_the_server_compressed_is_refused(here: Here) -> None:
    here.server.headers = {"content-encoding": "gzip"}
    with pytest.raises(NotAvailable, match=r"the server compresses the file \(gzip\)"):
        here.download()
    # Of an archive it says what it is.
    here.server.headers = {"content-encoding": "x-bzip2"}
    here.download()
    assert here.target.read_bytes() == CONTENT


def test_server_errors_are_retried(here: Here) -> None:
    here.server.statuses = [503]
    here.server.cut_after = [70_000]
    here.server.on_request = lambda number: here.server.statuses.append(502) if number == 3 else None
    here.download()
    assert here.target.read_bytes() == CONTENT
    assert len(here.server.seen) == 4


def test_a_failed_download_is_continued_by_the_next_one(here: Here) -> None:
    here.server.cut_after = [100_000]
    here.server.on_request = lambda number: here.server.statuses.extend([503] * 9) if number == 2 else None
    with pytest.raises(NotAvailable, match=r"notes\.json\.bz2 cannot be downloaded: .*: HTTP status 503"):
        here.download()
    assert not here.target.exists()
    here.server.statuses.clear()
    here.server.seen.clear()
    here.server.on_request = lambda number: None
    here.download()
    assert here.server.asked() == ["bytes=100000-299999"]
    assert here.target.read_bytes() == CONTENT
    assert here.files() == ["notes.json.bz2"]


def test_a_killed_download_is_continued(here: Here) -> None:
    def kill(label: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    where = (resolve(f"{here.server.url}/data/notes.json.bz2"),)
    here.server.cut_after = [200_000]
    with pytest.raises(KeyboardInterrupt):
        download_file(Download(here.target, where), kill, QUICK)
    begun = len(CONTENT) - here.server.sent
    assert begun
    here.server.seen.clear()
    here.download()
    assert here.server.asked()[0] not in ("", "bytes=0-")
    assert here.target.read_bytes() == CONTENT


def test_a_new_version_during_the_download_starts_again(here: Here) -> None:
    def change(number: int) -> None:
        if number == 2:
            here.server.content = CONTENT[::-1]

    here.server.cut_after = [100_000]
    here.server.on_request = change
    here.download()
    assert here.target.read_bytes() == CONTENT[::-1]


def test_a_partial_file_of_another_version_is_not_used(here: Here) -> None:
    here.server.cut_after = [100_000]
    here.server.on_request = lambda number: here.server.statuses.extend([404]) if number == 2 else None
    with pytest.raises(NotAvailable, match="HTTP status 404"):
        here.download()
    here.server.content = CONTENT[:250_000][::-1]
    here.download()
    assert here.target.read_bytes() == CONTENT[:250_000][::-1]


def test_a_partial_file_of_another_size_is_not_used(here: Here) -> None:
    here.server.cut_after = [100_000]
    here.server.on_request = lambda number: here.server.statuses.extend([404]) if number == 2 else None
    with pytest.raises(NotAvailable, match="HTTP status 404"):
        here.download(len(CONTENT))
    here.server.content = CONTENT[:250_000]
    here.download(250_000)
    assert here.target.read_bytes() == CONTENT[:250_000]
    assert here.files() == ["notes.json.bz2"]


def test_a_file_that_keeps_changing_fails(here: Here) -> None:
    def change(number: int) -> None:
        here.server.content = here.server.content[1:] + b"x"
        here.server.cut_after = [70_000]

    here.server.on_request = change
    with pytest.raises(NotAvailable, match="keeps changing on the server"):
        here.download()


def test_a_body_shorter_than_announced_fails(here: Here) -> None:
    here.server.lie = 10
    with pytest.raises(NotAvailable, match=r"notes\.json\.bz2: the response ended early"):
        here.download()
    assert not here.target.exists()


def test_an_unexpected_size_is_refused_before_the_body_is_read(here: Here) -> None:
    with pytest.raises(NotAvailable, match=r"the server has 300,000 bytes, expected 299,999"):
        here.download(299_999)
    assert not here.target.exists()


def test_a_body_of_unknown_length_is_checked_against_the_expected_size(here: Here) -> None:
    here.server.ranges = False
    here.server.headers = {"content-length": "", "connection": "close"}
    here.server.cut_after = [100_000] * 2
    with pytest.raises(NotAvailable, match=r"got 100,000 bytes, expected 300,000"):
        here.download(len(CONTENT))
    here.server.cut_after = []
    here.download(len(CONTENT))
    assert here.target.read_bytes() == CONTENT


def sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content).digest()).decode()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-goog-hash", "crc32c=AAAAAA==,md5={md5}"),
        ("x-goog-hash", "md5={md5}\ncrc32c=AAAAAA=="),
        ("digest", "SHA-256={sha256}"),
        ("repr-digest", "sha-256=:{sha256}:"),
    ],
)
def test_a_declared_checksum_is_verified(here: Here, name: str, value: str) -> None:
    here.server.headers = {name: value.format(md5=md5(CONTENT), sha256=sha256(CONTENT))}
    here.download()
    here.target.unlink()
    here.server.headers = {name: value.format(md5=md5(b""), sha256=sha256(b""))}
    with pytest.raises(NotAvailable, match=r"wrong checksum: (md5|sha256) [0-9a-f]+ instead of"):
        here.download()
    # What is wrong must not be continued.
    assert here.files() == []


def test_a_declared_crc32c_is_verified_when_a_function_is_given(here: Here) -> None:
    here.server.headers = {"x-goog-hash": "crc32c=AAAAAQ=="}
    where = (resolve(f"{here.server.url}/a"),)
    download_file(Download(here.target, where), here.tell, QUICK)
    download_file(Download(here.target, where, crc32c=lambda file: 1), here.tell, QUICK)
    with pytest.raises(NotAvailable, match="wrong checksum: crc32c 00000002 instead of 00000001"):
        download_file(Download(here.target, where, crc32c=lambda file: 2), here.tell, QUICK)


def test_a_checksum_of_decompressed_content_is_ignored(here: Here) -> None:
    here.server.headers = {"x-goog-hash": f"md5={md5(b'')}", "x-goog-stored-content-encoding": "gzip"}
    here.download()
    assert here.target.read_bytes() == CONTENT


def test_content_md5_is_used_for_whole_responses_only(here: Here) -> None:
    here.server.headers = {"content-md5": md5(b"of some piece")}
    here.download()
    here.server.ranges = False
    here.target.unlink()
    with pytest.raises(NotAvailable, match="wrong checksum: md5"):
        here.download()


def test_a_large_file_is_downloaded_in_parallel_segments(here: Here) -> None:
    here.server.content = BIG
    # Of two parts that are cut, only the rest is asked for again.
    here.server.cut_after = [1 << 20, 400_000, 1 << 20, 300_000]
    here.download(len(BIG))
    assert here.target.read_bytes() == BIG
    asked = here.server.asked()
    assert {"bytes=0-", "bytes=1048576-2097151", "bytes=4194304-5000000"} <= set(asked)
    assert len(asked) == len(set(asked)) == 7
    assert here.said[-1][1:] == (len(BIG), len(BIG))


def test_partial_segments_are_continued(here: Here) -> None:
    here.server.content = BIG
    here.server.on_request = lambda number: here.server.statuses.extend([410] * 9) if number == 4 else None
    with pytest.raises(NotAvailable, match="HTTP status 410"):
        here.download(
            options=DownloadOptions(
                segment_bytes=1 << 20,
                connections=1,
                retry=DownloadRetryPolicy(attempts=2, initial_pause_s=0.001),
            )
        )
    (note,) = [path for path in here.target.parent.iterdir() if path.name.endswith(".json")]
    kept = sum(at - first for first, _, at in json.loads(note.read_text())["parts"])
    assert kept == 3 << 20
    here.server.on_request = lambda number: None
    here.server.statuses.clear()
    here.server.sent = 0
    here.download()
    assert here.server.sent == len(BIG) - kept
    assert here.target.read_bytes() == BIG


def test_the_next_source_is_tried(here: Here) -> None:
    here.server.has = lambda path: path.startswith("/second")
    mirrors = (f"{here.server.url}/first", f"{here.server.url}/second", "http://127.0.0.1:9")
    where = remote_files("http://127.0.0.1:9/geonames", "a.json", "geonames", mirrors)
    assert download_file(Download(here.target, where), here.tell, QUICK).display_url.endswith(
        "/second/geonames/a.json"
    )
    assert [path for path, _ in here.server.seen] == ["/first/geonames/a.json", "/second/geonames/a.json"]


def test_a_private_bucket_is_skipped(here: Here, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)
    monkeypatch.setenv("AWS_ENDPOINT_URL", here.server.url)
    here.server.statuses = [403]
    where = remote_files(f"{here.server.url}/open", "a.json", "notes", ("s3://closed",))
    assert download_file(Download(here.target, where), here.tell, QUICK).display_url.endswith("/open/a.json")


def test_an_unreachable_source_is_named_without_credentials(here: Here) -> None:
    where = remote_files("http://user:secret@127.0.0.1:9/data", "a.json", "notes")
    with pytest.raises(NotAvailable) as caught:
        download_file(Download(here.target, where), here.tell, QUICK)
    expected = "notes.json.bz2 cannot be downloaded: http://127.0.0.1:9/data/a.json: connection refused"
    assert caught.value.message == expected
    assert caught.value.hint == "check the network"


def test_a_full_disk_is_reported_before_anything_is_written(here: Here, monkeypatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1 << 20}))
    with pytest.raises(DiskError, match=r"no room for notes\.json\.bz2: it needs 293\.0 KiB"):
        here.download()
    assert here.files() == []


def test_a_private_bucket_is_reported_with_a_hint(here: Here, monkeypatch) -> None:
    for name, scheme in (("AWS_ENDPOINT_URL", "s3"), ("STORAGE_EMULATOR_HOST", "gs")):
        monkeypatch.setenv(name, here.server.url)
        where = (resolve(f"{scheme}://tracks/a.json"),)
        download_file(Download(here.target, where), here.tell, QUICK)
        here.server.statuses = [403]
        with pytest.raises(NotAvailable) as caught:
            download_file(Download(here.target, where), here.tell, QUICK)
        assert ("boto3" if scheme == "s3" else "GOOGLE_AUTH_TOKEN") in caught.value.hint
    assert {path for path, _ in here.server.seen} == {"/tracks/a.json"}


def test_a_partial_file_that_cannot_be_continued_is_removed(here: Here) -> None:
    here.server.ranges = False
    here.server.cut_after = [100_000] * 3
    with pytest.raises(NotAvailable, match="the response ended early"):
        here.download()
    assert here.files() == []


def test_an_expected_checksum_is_verified(here: Here) -> None:
    sources = (resolve(f"{here.server.url}/a"),)
    wrong = Digest("sha256", hashlib.sha256(b"").digest())
    with pytest.raises(NotAvailable, match="wrong checksum: sha256"):
        download_file(Download(here.target, sources, digest=wrong), here.tell, QUICK)
    assert here.files() == []
    right = Digest("sha256", hashlib.sha256(CONTENT).digest())
    download_file(Download(here.target, sources, digest=right), here.tell, QUICK)
    assert here.target.read_bytes() == CONTENT


def test_a_wrong_announced_size_is_retried(here: Here) -> None:
    here.server.content = CONTENT[:1000]
    here.server.on_request = lambda number: setattr(here.server, "content", CONTENT) if number == 2 else None
    here.download(len(CONTENT))
    assert here.target.read_bytes() == CONTENT
