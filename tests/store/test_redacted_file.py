"""Secrets are removed from files of any size that another program has written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.store import redacted_file
from pacenote.store.race_folder import RaceFolder
from pacenote.store.redacted_file import RedactedCopy, redact_file

SECRETS = frozenset({"hunter2hunter2"})


def test_holes_are_neither_searched_nor_stored(tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    log.write_text("hunter2hunter2\n")
    os.truncate(log, 1 << 36)
    with log.open("ab") as file:
        file.write(b"end\n")
    redact_file(log, SECRETS)
    assert log.stat().st_blocks * 512 < 1 << 20
    text = log.read_text().replace("\0", "")
    assert text == "<hidden>\nend\n"


def test_a_log_without_secrets_is_left_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    log.write_text("text\n")
    os.truncate(log, 1 << 36)
    before = log.stat().st_ino
    redact_file(log, SECRETS)
    assert (log.stat().st_ino, log.stat().st_size) == (before, 1 << 36)
    assert list(tmp_path.iterdir()) == [log]


def test_a_log_that_is_too_large_is_deleted_and_the_others_are_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redacted_file, "MAX_DATA_BYTES", 100)
    folder = RaceFolder(tmp_path, SECRETS)
    folder.artifacts.mkdir()
    large, small = folder.artifacts / "a.log", folder.artifacts / "b.log"
    large.write_text("hunter2hunter2\n" * 100)
    small.write_text("hunter2hunter2\n")
    with pytest.raises(StoreError, match=r"a\.log was deleted: it is larger than 100 B, too much"):
        folder.redact_logs()
    assert [path.name for path in folder.artifacts.iterdir()] == ["b.log"]
    assert small.read_text() == "<hidden>\n"


@pytest.mark.parametrize(
    ("name", "is_log"),
    [
        *((name, True) for name in ("engine.log", "gc.log.12", "rally_server.json", "a_search_slowlog.json")),
        *((name, True) for name in ("rally_server-2026-11-30-1.json", ".engine.copy.log", "a\nb.log")),
        *((name, False) for name in ("profile.jfr", "gc.log.gz", "log.txt", "plan.json", "a.log.x")),
    ],
)
def test_secrets_are_removed_from_all_logs_that_are_not_compressed(
    tmp_path: Path, name: str, is_log: bool
) -> None:
    folder = RaceFolder(tmp_path, SECRETS)
    folder.artifacts.mkdir()
    (folder.artifacts / name).write_text("JVM arguments [-Dx=hunter2hunter2]\n")
    folder.redact_logs()
    assert ("hunter2" in (folder.artifacts / name).read_text()) != is_log


def test_a_copy_that_a_killed_process_has_left_is_removed(tmp_path: Path) -> None:
    folder = RaceFolder(tmp_path, SECRETS)
    ended = subprocess.Popen(["true"])
    ended.wait()
    for place in (folder.artifacts, folder.artifacts / "node-1"):
        place.mkdir()
        (place / "engine.log").write_text("text\n")
        (place / f".engine.log.{ended.pid}.tmp").write_text("text\n")
        (place / f".gc.log.{os.getppid()}.tmp").write_text("text\n")
    folder.redact_logs()
    for place in (folder.artifacts, folder.artifacts / "node-1"):
        names = {path.name for path in place.iterdir()} - {"node-1"}
        assert names == {"engine.log", f".gc.log.{os.getppid()}.tmp"}


def test_a_log_in_which_too_many_lines_may_have_secrets_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redacted_file, "MAX_SEARCHED_BYTES", 10_000)
    log = tmp_path / "gc.log"
    log.write_text("[gc] Pause Young\n" * 10_000 + "token\n" * 100)
    redact_file(log, SECRETS)
    assert log.exists()
    log.write_text("token\n" * 1000)
    with pytest.raises(StoreError, match=r"gc\.log was deleted: more than 9\.8 KiB of it may be secrets"):
        redact_file(log, SECRETS)
    assert not log.exists()


LEAKS = (
    "hunter2hunter2",
    "aHVudGVyMmh1bnRlcjI=",
    "Authorization: Basic YWRtaW46MTIzNDU2Nzg=",
    "Bearer%20abcdefgh12345678",
    "Bearer 0123456789abcdefGHIJKL",
    "--token=0123456789abcdef",
    'password="0123456789 abcdef"',
    "https://me:0123456789@host/?api_key=0123456789abcdef",
)
"""Each contains a secret, of which these are parts."""

PARTS = ("hunter2h", "GHIJKL", "YWRtaW46MT", "12345678", "789 abc", "aHVudGVy")


@pytest.mark.parametrize("separator", [" ", ",", "\0"])
@pytest.mark.parametrize("leak", LEAKS)
def test_a_secret_at_the_border_of_two_parts_of_a_line_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak: str, separator: str
) -> None:
    monkeypatch.setattr(redacted_file, "_BLOCK_BYTES", 50)
    monkeypatch.setattr(redacted_file, "_MAX_LINE_BYTES", 200)
    monkeypatch.setattr(redacted_file, "_OVERLAP_BYTES", 100)
    log = tmp_path / "gc.log"
    fillers = [separator * before for before in range(150, 260)]
    # Every line begins where a block does.
    lines = [f"{filler}{leak}".ljust(596, separator) + "end\n" for filler in fillers]
    log.write_text("".join(lines))
    redact_file(log, SECRETS)
    redacted = log.read_text().splitlines()
    assert len(redacted) == len(fillers)
    for filler, line in zip(fillers, redacted, strict=True):
        assert "<hidden>" in line, len(filler)
        assert [part for part in PARTS if part in line] == [], len(filler)
        assert line.startswith(filler)


def copied(name: str, log: Path, copy: Path, size: int | None = None) -> None:
    with log.open("rb") as source, copy.open("xb") as target:
        length = log.stat().st_size if size is None else size
        RedactedCopy(SECRETS)(name, source.fileno(), target.fileno(), length)


def test_a_copy_of_a_log_has_neither_secrets_nor_holes_nor_what_was_written_later(tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    log.write_text("hunter2hunter2\n")
    os.truncate(log, 1 << 36)
    with log.open("ab") as file:
        file.write(b"end\n")
        file.flush()
        size = log.stat().st_size
        file.write(b"later\n")
    copied("gc.log", log, tmp_path / "copy", size)
    copied("gc.log.0", log, tmp_path / "begin", 10)
    assert (tmp_path / "copy").read_text().replace("\0", "") == "<hidden>\nend\n"
    assert (tmp_path / "copy").stat().st_size < 1 << 20
    assert (tmp_path / "begin").read_text() == "hunter2hun"


def test_a_copy_of_a_recording_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "profile.jfr").write_bytes(b"hunter2hunter2\0")
    copied("profile.jfr", tmp_path / "profile.jfr", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"hunter2hunter2\0"


def test_a_log_that_is_too_large_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redacted_file, "MAX_DATA_BYTES", 100)
    (tmp_path / "gc.log").write_text("text\n" * 100)
    with pytest.raises(OSError, match="it is larger than 100 B"):
        copied("gc.log", tmp_path / "gc.log", tmp_path / "copy")


_KILLED = """
import resource, signal, sys
from pathlib import Path
from pacenote.provision.node_logs import keep_logs
from pacenote.store.redacted_file import RedactedCopy

# The kernel kills the process that writes more than this to a file.
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
keep_logs(Path(sys.argv[1]), Path(sys.argv[2]), RedactedCopy({"hunter2hunter2"}))
"""


def test_a_process_that_is_killed_while_it_copies_leaves_no_secrets(tmp_path: Path) -> None:
    logs, target = tmp_path / "logs", tmp_path / "artifacts"
    logs.mkdir()
    (logs / "engine.log").write_text("hunter2hunter2\n" + "text\n" * (2 << 20))
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(logs), str(target)], check=False)
    assert killed.returncode == -signal.SIGXFSZ
    (left,) = target.iterdir()
    assert left.read_bytes()[:14] == b"<hidden>\ntext\n"
