"""Downloads from a real server that drops connections, sends wrong headers, fails or changes its files."""

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
from support.file_server import FileServer, file_server

QUICK = DownloadOptions(
    segment_bytes=1 << 20, retry=DownloadRetryPolicy(first_attempts=2, attempts=3, initial_pause_s=0.001)
)
CONTENT = random.Random(1).randbytes(300_000)
BIG = random.Random(2).randbytes(5_000_001)


class Downloader:
    """Downloads a file to a folder, and records the reported progress."""

    def __init__(self, folder: Path, server: FileServer) -> None:
        self.target = folder / "deep" / "notes.json.bz2"
        self.server = server
        self.reported: list[tuple[str, int, int]] = []

    def download(self, size: int | None = None, options: DownloadOptions = QUICK) -> str:
        sources = (resolve(f"{self.server.url}/data/notes.json.bz2"),)
        return download_file(Download(self.target, sources, size), self.report, options).display_url

    def report(self, label: str, done: int, total: int) -> None:
        self.reported.append((label, done, total))

    def files(self) -> list[str]:
        return sorted(path.name for path in self.target.parent.iterdir())


@pytest.fixture
def downloader(tmp_path: Path, server: FileServer) -> Downloader:
    server.content = CONTENT
    return Downloader(tmp_path, server)


def test_a_file_is_downloaded_completely(downloader: Downloader) -> None:
    assert downloader.download(len(CONTENT)) == f"{downloader.server.url}/data/notes.json.bz2"
    assert downloader.target.read_bytes() == CONTENT
    assert downloader.files() == ["notes.json.bz2"]
    assert downloader.reported[-1] == ("downloading notes.json.bz2", len(CONTENT), len(CONTENT))
    assert downloader.server.requested_ranges() == ["bytes=0-"]


@pytest.mark.parametrize("etag", [True, False])
def test_an_interrupted_download_resumes_where_it_stopped(downloader: Downloader, etag: bool) -> None:
    downloader.server.etag = etag
    downloader.server.headers = {} if etag else {"last-modified": "Sat, 01 Aug 2026 10:00:00 GMT"}
    downloader.server.cut_after = [100_000, 70_000]
    downloader.download()
    assert downloader.target.read_bytes() == CONTENT
    assert downloader.server.requested_ranges() == ["bytes=0-", "bytes=100000-299999", "bytes=170000-299999"]


def test_without_ranges_an_interrupted_download_starts_over(downloader: Downloader) -> None:
    downloader.server.ranges = False
    downloader.server.cut_after = [100_000]
    downloader.download()
    assert downloader.target.read_bytes() == CONTENT
    assert downloader.reported[-1][1:] == (len(CONTENT), len(CONTENT))
    downloader.target.unlink()
    # Receiving more bytes than the previous attempt is not progress if every attempt starts over.
    downloader.server.cut_after = [100_000, 200_000, 100_000, 200_000]
    with pytest.raises(NotAvailable, match="the response ended early"):
        downloader.download()


def test_ranges_without_a_validator_are_not_combined(downloader: Downloader) -> None:
    def change(number: int) -> None:
        if number == 2:
            downloader.server.content = CONTENT[::-1]

    downloader.server.etag = False
    downloader.server.cut_after = [100_000]
    downloader.server.on_request = change
    downloader.download(len(CONTENT))
    assert downloader.target.read_bytes() == CONTENT[::-1]


def test_a_range_of_a_file_of_unknown_size_is_rejected(downloader: Downloader) -> None:
    downloader.server.headers = {"content-range": "bytes 0-299999/*"}
    with pytest.raises(NotAvailable, match="sends a range without the size of the file"):
        downloader.download()
    assert not downloader.target.exists()


def test_a_redirect_is_followed_without_credentials(downloader: Downloader, other: FileServer) -> None:
    other.content = CONTENT
    downloader.server.redirects = {"/data/a.json": f"{other.url}/elsewhere?signed=1"}
    source = resolve(f"{downloader.server.url.replace('//', '//user:secret@')}/data/a.json")
    other.cut_after = [100_000]
    assert download_file(Download(downloader.target, (source,)), downloader.report, QUICK) is source
    assert downloader.target.read_bytes() == CONTENT
    assert ["authorization" in request.headers for request in downloader.server.requests] == [True, True]
    assert ["authorization" in request.headers for request in other.requests] == [False, False]
    assert other.requested_ranges() == ["bytes=0-", "bytes=100000-299999"]


def test_a_redirect_loop_ends(downloader: Downloader) -> None:
    downloader.server.redirects = {"/data/notes.json.bz2": f"{downloader.server.url}/data/notes.json.bz2"}
    with pytest.raises(NotAvailable, match="redirects more than 5 times"):
        downloader.download()


def test_a_body_compressed_by_the_server_is_rejected(downloader: Downloader) -> None:
    downloader.server.headers = {"content-encoding": "gzip"}
    with pytest.raises(NotAvailable, match=r"the server compresses the file \(gzip\)"):
        downloader.download()
    # For an archive, the header describes the compression of the file itself.
    downloader.server.headers = {"content-encoding": "x-bzip2"}
    downloader.download()
    assert downloader.target.read_bytes() == CONTENT


def test_server_errors_are_retried(downloader: Downloader) -> None:
    downloader.server.statuses = [503]
    downloader.server.cut_after = [70_000]
    downloader.server.on_request = lambda number: (
        downloader.server.statuses.append(502) if number == 3 else None
    )
    downloader.download()
    assert downloader.target.read_bytes() == CONTENT
    assert len(downloader.server.requests) == 4


def test_the_next_download_resumes_a_failed_one(downloader: Downloader) -> None:
    downloader.server.cut_after = [100_000]
    downloader.server.on_request = lambda number: (
        downloader.server.statuses.extend([503] * 9) if number == 2 else None
    )
    with pytest.raises(NotAvailable, match=r"notes\.json\.bz2 cannot be downloaded: .*: HTTP status 503"):
        downloader.download()
    assert not downloader.target.exists()
    downloader.server.statuses.clear()
    downloader.server.requests.clear()
    downloader.server.on_request = lambda number: None
    downloader.download()
    assert downloader.server.requested_ranges() == ["bytes=100000-299999"]
    assert downloader.target.read_bytes() == CONTENT
    assert downloader.files() == ["notes.json.bz2"]


def test_the_next_download_resumes_a_killed_one(downloader: Downloader) -> None:
    def kill(label: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    sources = (resolve(f"{downloader.server.url}/data/notes.json.bz2"),)
    downloader.server.cut_after = [200_000]
    with pytest.raises(KeyboardInterrupt):
        download_file(Download(downloader.target, sources), kill, QUICK)
    begun = len(CONTENT) - downloader.server.sent
    assert begun
    downloader.server.requests.clear()
    downloader.download()
    assert downloader.server.requested_ranges()[0] not in ("", "bytes=0-")
    assert downloader.target.read_bytes() == CONTENT


def test_the_download_starts_over_if_the_file_changes(downloader: Downloader) -> None:
    def change(number: int) -> None:
        if number == 2:
            downloader.server.content = CONTENT[::-1]

    downloader.server.cut_after = [100_000]
    downloader.server.on_request = change
    downloader.download()
    assert downloader.target.read_bytes() == CONTENT[::-1]


def test_a_partial_file_of_a_different_version_is_not_used(downloader: Downloader) -> None:
    downloader.server.cut_after = [100_000]
    downloader.server.on_request = lambda number: (
        downloader.server.statuses.extend([404]) if number == 2 else None
    )
    with pytest.raises(NotAvailable, match="HTTP status 404"):
        downloader.download()
    downloader.server.content = CONTENT[:250_000][::-1]
    downloader.download()
    assert downloader.target.read_bytes() == CONTENT[:250_000][::-1]


def test_a_partial_file_of_a_different_size_is_not_used(downloader: Downloader) -> None:
    downloader.server.cut_after = [100_000]
    downloader.server.on_request = lambda number: (
        downloader.server.statuses.extend([404]) if number == 2 else None
    )
    with pytest.raises(NotAvailable, match="HTTP status 404"):
        downloader.download(len(CONTENT))
    downloader.server.content = CONTENT[:250_000]
    downloader.download(250_000)
    assert downloader.target.read_bytes() == CONTENT[:250_000]
    assert downloader.files() == ["notes.json.bz2"]


@pytest.mark.parametrize(
    "parts", [[[0, 100, 100], [200, 300_000, 200]], [[0, 200_000, 100_000]], [[50, 300_000, 100_000]], []]
)
def test_a_partial_file_whose_parts_are_not_the_whole_file_is_not_used(
    downloader: Downloader, parts: list[list[int]]
) -> None:
    fail_after_100_000_bytes(downloader)
    (state_file,) = downloader.target.parent.glob(".*.json")
    state = json.loads(state_file.read_text())
    assert state["parts"] == [[0, 300_000, 100_000]]
    state_file.write_text(json.dumps(state | {"parts": parts}))
    downloader.download(len(CONTENT))
    assert downloader.target.read_bytes() == CONTENT
    assert downloader.server.requested_ranges()[-1] == "bytes=0-"


def test_a_link_instead_of_a_partial_file_is_not_followed(downloader: Downloader, tmp_path: Path) -> None:
    fail_after_100_000_bytes(downloader)
    (partial,) = downloader.target.parent.glob(".*.download")
    partial.rename(tmp_path / "outside")
    partial.symlink_to(tmp_path / "outside")
    before = (tmp_path / "outside").read_bytes()
    downloader.download(len(CONTENT))
    assert downloader.target.read_bytes() == CONTENT
    assert (tmp_path / "outside").read_bytes() == before


def fail_after_100_000_bytes(downloader: Downloader) -> None:
    downloader.server.cut_after = [100_000]
    downloader.server.on_request = lambda number: (
        downloader.server.statuses.extend([404]) if number == 2 else None
    )
    with pytest.raises(NotAvailable, match="HTTP status 404"):
        downloader.download(len(CONTENT))
    downloader.server.on_request = lambda number: None


def test_a_file_that_another_process_downloads_without_a_lock_is_not_mixed_up(
    downloader: Downloader,
) -> None:
    other = Downloader(downloader.target.parent.parent, downloader.server)

    def start_other(number: int) -> None:
        if number == 2:
            # The other process begins with a new partial file, and has received only a part of it.
            (partial,) = other.target.parent.glob(".*.download")
            partial.unlink()
            partial.write_bytes(CONTENT[:1000])

    downloader.server.cut_after = [100_000]
    downloader.server.on_request = start_other
    with pytest.raises(DiskError, match="another process is downloading the same file"):
        downloader.download(len(CONTENT))
    assert not downloader.target.exists()


def test_downloading_a_file_that_keeps_changing_fails(downloader: Downloader) -> None:
    def change(number: int) -> None:
        downloader.server.content = downloader.server.content[1:] + b"x"
        downloader.server.cut_after = [70_000]

    downloader.server.on_request = change
    with pytest.raises(NotAvailable, match="keeps changing on the server"):
        downloader.download()


def test_a_body_shorter_than_announced_is_an_error(downloader: Downloader) -> None:
    downloader.server.excess_length = 10
    with pytest.raises(NotAvailable, match=r"notes\.json\.bz2: the response ended early"):
        downloader.download()
    assert not downloader.target.exists()


def test_an_unexpected_size_is_rejected_before_the_body_is_read(downloader: Downloader) -> None:
    with pytest.raises(NotAvailable, match=r"the server announces 300,000 bytes instead of 299,999"):
        downloader.download(299_999)
    assert not downloader.target.exists()


def test_a_body_of_unknown_length_is_checked_against_the_expected_size(downloader: Downloader) -> None:
    downloader.server.ranges = False
    downloader.server.headers = {"content-length": "", "connection": "close"}
    downloader.server.cut_after = [100_000] * 2
    with pytest.raises(NotAvailable, match=r"received 100,000 bytes instead of 300,000"):
        downloader.download(len(CONTENT))
    downloader.server.cut_after = []
    downloader.download(len(CONTENT))
    assert downloader.target.read_bytes() == CONTENT


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
def test_a_declared_checksum_is_verified(downloader: Downloader, name: str, value: str) -> None:
    downloader.server.headers = {name: value.format(md5=md5(CONTENT), sha256=sha256(CONTENT))}
    downloader.download()
    downloader.target.unlink()
    downloader.server.headers = {name: value.format(md5=md5(b""), sha256=sha256(b""))}
    with pytest.raises(NotAvailable, match=r"wrong checksum: (md5|sha256) [0-9a-f]+ instead of"):
        downloader.download()
    # The download of a wrong file must not be resumed.
    assert downloader.files() == []


def test_a_declared_crc32c_is_verified_when_a_function_is_given(downloader: Downloader) -> None:
    downloader.server.headers = {"x-goog-hash": "crc32c=AAAAAQ=="}
    sources = (resolve(f"{downloader.server.url}/a"),)
    download_file(Download(downloader.target, sources), downloader.report, QUICK)
    download_file(Download(downloader.target, sources, crc32c=lambda file: 1), downloader.report, QUICK)
    with pytest.raises(NotAvailable, match="wrong checksum: crc32c 00000002 instead of 00000001"):
        download_file(Download(downloader.target, sources, crc32c=lambda file: 2), downloader.report, QUICK)


def test_a_checksum_of_content_that_the_server_decompressed_is_ignored(downloader: Downloader) -> None:
    downloader.server.headers = {"x-goog-hash": f"md5={md5(b'')}", "x-goog-stored-content-encoding": "gzip"}
    downloader.download()
    assert downloader.target.read_bytes() == CONTENT


def test_content_md5_is_used_for_whole_responses_only(downloader: Downloader) -> None:
    downloader.server.headers = {"content-md5": md5(b"of a part")}
    downloader.download()
    downloader.server.ranges = False
    downloader.target.unlink()
    with pytest.raises(NotAvailable, match="wrong checksum: md5"):
        downloader.download()


def test_a_large_file_is_downloaded_in_parallel_segments(downloader: Downloader) -> None:
    downloader.server.content = BIG
    # Two segments are interrupted; only their missing parts are requested afterwards.
    downloader.server.cut_after = [1 << 20, 400_000, 1 << 20, 300_000]
    downloader.download(len(BIG))
    assert downloader.target.read_bytes() == BIG
    ranges = downloader.server.requested_ranges()
    assert {"bytes=0-", "bytes=1048576-2097151", "bytes=4194304-5000000"} <= set(ranges)
    assert len(ranges) == len(set(ranges)) == 7
    assert downloader.reported[-1][1:] == (len(BIG), len(BIG))


def test_partial_segments_are_resumed(downloader: Downloader) -> None:
    downloader.server.content = BIG
    downloader.server.on_request = lambda number: (
        downloader.server.statuses.extend([410] * 9) if number == 4 else None
    )
    with pytest.raises(NotAvailable, match="HTTP status 410"):
        downloader.download(
            options=DownloadOptions(
                segment_bytes=1 << 20,
                connections=1,
                retry=DownloadRetryPolicy(attempts=2, initial_pause_s=0.001),
            )
        )
    (state,) = [path for path in downloader.target.parent.iterdir() if path.name.endswith(".json")]
    kept = sum(at - first for first, _, at in json.loads(state.read_text())["parts"])
    assert kept == 3 << 20
    downloader.server.on_request = lambda number: None
    downloader.server.statuses.clear()
    downloader.server.sent = 0
    downloader.download()
    assert downloader.server.sent == len(BIG) - kept
    assert downloader.target.read_bytes() == BIG


def test_bytes_after_the_requested_range_are_ignored(downloader: Downloader) -> None:
    downloader.server.content = BIG
    downloader.server.ignores_range_ends = True
    downloader.download(len(BIG))
    assert downloader.target.read_bytes() == BIG


def test_a_range_other_than_the_requested_one_is_rejected(downloader: Downloader) -> None:
    downloader.server.headers = {"content-range": "bytes 5-299999/300000"}
    with pytest.raises(NotAvailable, match="the server sent a range other than the requested one"):
        downloader.download(len(CONTENT))
    assert not downloader.target.exists()


def test_the_next_source_is_tried(downloader: Downloader) -> None:
    downloader.server.has = lambda path: path.startswith("/second")
    mirrors = (f"{downloader.server.url}/first", f"{downloader.server.url}/second", "http://127.0.0.1:9")
    sources = remote_files("http://127.0.0.1:9/geonames", "a.json", "geonames", mirrors)
    assert download_file(Download(downloader.target, sources), downloader.report, QUICK).display_url.endswith(
        "/second/geonames/a.json"
    )
    assert [request.target for request in downloader.server.requests] == [
        "/first/geonames/a.json",
        "/second/geonames/a.json",
    ]


def test_a_source_that_states_an_impossible_size_is_skipped(downloader: Downloader) -> None:
    with file_server() as liar:
        liar.content, liar.excess_length = CONTENT, 10**15
        mirrors = (f"{liar.url}/a", f"{downloader.server.url}/b")
        sources = remote_files(None, "a.json", "geonames", mirrors)
        download_file(Download(downloader.target, sources), downloader.report, QUICK)
        assert len(liar.requests) == 1
        assert downloader.target.read_bytes() == CONTENT
        both = (sources[0], resolve("http://127.0.0.1:9/a.json"))
        with pytest.raises(
            NotAvailable, match=r"/a/geonames/a\.json: no room for notes\.json\.bz2: it needs"
        ):
            download_file(Download(downloader.target, both), downloader.report, QUICK)
        with pytest.raises(DiskError, match=r"no room for notes\.json\.bz2: it needs 909"):
            download_file(Download(downloader.target, sources[:1]), downloader.report, QUICK)


def test_a_private_bucket_is_skipped(downloader: Downloader, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)
    monkeypatch.setenv("AWS_ENDPOINT_URL", downloader.server.url)
    downloader.server.statuses = [403]
    sources = remote_files(f"{downloader.server.url}/open", "a.json", "notes", ("s3://closed",))
    assert download_file(Download(downloader.target, sources), downloader.report, QUICK).display_url.endswith(
        "/open/a.json"
    )


def test_an_unreachable_source_is_named_without_credentials(downloader: Downloader) -> None:
    sources = remote_files("http://user:secret@127.0.0.1:9/data", "a.json", "notes")
    with pytest.raises(NotAvailable) as caught:
        download_file(Download(downloader.target, sources), downloader.report, QUICK)
    expected = "notes.json.bz2 cannot be downloaded: http://127.0.0.1:9/data/a.json: connection refused"
    assert caught.value.message == expected
    assert caught.value.hint == "check the network"


def test_a_full_disk_is_reported_before_anything_is_written(downloader: Downloader, monkeypatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1 << 20}))
    with pytest.raises(DiskError, match=r"no room for notes\.json\.bz2: it needs 293\.0 KiB") as caught:
        downloader.download()
    assert "and 64.0 MiB must stay free, but " in caught.value.message
    assert caught.value.message.endswith(" has only 1.0 MiB free")
    assert downloader.files() == []


def test_a_private_bucket_is_reported_with_a_hint(downloader: Downloader, monkeypatch) -> None:
    for name, scheme in (("AWS_ENDPOINT_URL", "s3"), ("STORAGE_EMULATOR_HOST", "gs")):
        monkeypatch.setenv(name, downloader.server.url)
        sources = (resolve(f"{scheme}://tracks/a.json"),)
        download_file(Download(downloader.target, sources), downloader.report, QUICK)
        downloader.server.statuses = [403]
        with pytest.raises(NotAvailable) as caught:
            download_file(Download(downloader.target, sources), downloader.report, QUICK)
        assert ("boto3" if scheme == "s3" else "GOOGLE_AUTH_TOKEN") in caught.value.hint
    assert {request.target for request in downloader.server.requests} == {"/tracks/a.json"}


def test_a_partial_file_that_cannot_be_resumed_is_removed(downloader: Downloader) -> None:
    downloader.server.ranges = False
    downloader.server.cut_after = [100_000] * 3
    with pytest.raises(NotAvailable, match="the response ended early"):
        downloader.download()
    assert downloader.files() == []


def test_an_expected_checksum_is_verified(downloader: Downloader) -> None:
    sources = (resolve(f"{downloader.server.url}/a"),)
    wrong = Digest("sha256", hashlib.sha256(b"").digest())
    with pytest.raises(NotAvailable, match="wrong checksum: sha256"):
        download_file(Download(downloader.target, sources, digest=wrong), downloader.report, QUICK)
    assert downloader.files() == []
    right = Digest("sha256", hashlib.sha256(CONTENT).digest())
    download_file(Download(downloader.target, sources, digest=right), downloader.report, QUICK)
    assert downloader.target.read_bytes() == CONTENT


def test_a_download_with_a_wrong_announced_size_is_retried(downloader: Downloader) -> None:
    downloader.server.content = CONTENT[:1000]
    downloader.server.on_request = lambda number: (
        setattr(downloader.server, "content", CONTENT) if number == 2 else None
    )
    downloader.download(len(CONTENT))
    assert downloader.target.read_bytes() == CONTENT
