"""Data files, the home folder or the race folder change while a race runs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.main import main
from support.disks import small_disk
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

DOCUMENTS = 10
"""Documents of the corpus, each of the same length."""


def race(tmp_path: Path, change: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Races a track that indexes a file and then sends two requests; `change` is called before the reply to
    the first of them. Returns the exit code.
    """
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    (tmp_path / "docs.json").write_text('{"n": 1}\n' * DOCUMENTS)
    file = {"source-file": str(tmp_path / "docs.json"), "document-count": DOCUMENTS, "target-index": "i"}
    schedule: list[dict[str, Any]] = [
        {"name": "index", "operation": {"operation-type": "bulk", "bulk-size": DOCUMENTS}},
        {"name": "change", "operation": {"operation-type": "raw-request", "path": "/change"}},
        {"name": "after", "operation": {"operation-type": "raw-request", "path": "/after"}},
    ]
    document = {"version": 2, "corpora": [{"name": "c", "documents": [file]}], "schedule": schedule}
    (tmp_path / "track.json").write_text(json.dumps(document))
    changed = []

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/change":
            changed.append(change())
        if request.target.startswith("/_bulk"):
            items = [{"index": {"_index": "i", "status": 201}}] * DOCUMENTS
            return json_response({"took": 1, "errors": False, "items": items})
        if request.target.startswith("/i/_count"):
            return json_response({"count": DOCUMENTS})
        return json_response(engine_document(request.target))

    with http_server(respond) as server:
        target = f"--target-hosts={server.address}"
        code = main(["race", f"--track-path={tmp_path}", "--race-id=r", "--pipeline=benchmark-only", target])
    assert len(changed) == 1
    return code


def rewrite(path: Path, text: str) -> None:
    """Changes the content of a file in place."""
    with path.open("r+") as file:
        file.write(text)
        file.truncate()


def rewrite_and_restore_time(path: Path) -> None:
    """Changes the content of a file in place, as `rsync --inplace -t` does with a copy of the same time."""
    status = path.stat()
    rewrite(path, '{"n": 2}\n' * DOCUMENTS)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def rewrite_and_restrict(path: Path) -> None:
    """Changes the content and the mode of a file, but not its time."""
    rewrite_and_restore_time(path)
    path.chmod(0o640)


def replace(path: Path) -> None:
    """Replaces a file with another one that has the same size and time."""
    status = path.stat()
    (path.parent / "other").write_bytes(path.read_bytes())
    (path.parent / "other").replace(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda path: rewrite(path, '{"n": 2}\n' * DOCUMENTS), "was modified"),
        (lambda path: rewrite(path, "{}\n"), "was changed from 90 to 3 bytes"),
        (lambda path: rewrite(path, '{"n": 1}\n' * 11), "was changed from 90 to 99 bytes"),
        (replace, "was replaced by another file"),
        (rewrite_and_restore_time, "was modified and its time set back"),
        (rewrite_and_restrict, "was modified and its time set back"),
        (Path.unlink, "cannot be found any more (No such file or directory)"),
    ],
)
def test_a_data_file_that_is_changed_voids_the_race(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Path], object],
    expected: str,
) -> None:
    assert race(tmp_path, lambda: change(tmp_path / "docs.json"), monkeypatch) == 3
    record = json.loads((tmp_path / "home/races/r/race.json").read_text())
    (reason,) = [text for text in record["verdict"]["reasons"] if text.startswith("data file")]
    expected = f"docs.json {expected} while the race used it: which documents were sent is not known"
    assert expected in reason
    assert reason[:40] in capsys.readouterr().out.replace("\n", " ")
    assert (record["complete"], len(record["tasks"])) == (True, 3)


def test_a_data_file_that_is_not_changed_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def touch_other_times() -> None:
        (tmp_path / "docs.json").read_bytes()
        (tmp_path / "docs.json").chmod(0o600)
        for name in ("link.json", "backup.json"):
            (tmp_path / name).hardlink_to(tmp_path / "docs.json")
        (tmp_path / "backup.json").unlink()

    race(tmp_path, touch_other_times, monkeypatch)
    record = json.loads((tmp_path / "home/races/r/race.json").read_text())
    assert record["driver"]["changed_files"] == record["driver"]["possibly_changed_files"] == []
    assert record["verdict"]["state"] != "void"


@pytest.mark.parametrize("lost", ["home", "race", "disk", "file"])
def test_a_race_whose_folder_vanishes_prints_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lost: str
) -> None:
    home = tmp_path / "home"

    def change() -> None:
        if lost == "disk":
            # Its mount point then belongs to an empty disk that cannot be written.
            subprocess.run(["umount", "-l", home], check=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "pacenote-test", home], check=True)
        else:
            (home if lost == "home" else home / "races/r").rename(tmp_path / "elsewhere")
        if lost == "file":
            (home / "races/r").write_text("")

    with small_disk(home, 8192) if lost == "disk" else nullcontext():
        assert race(tmp_path, change, monkeypatch) == 3
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    (warning,) = [line for line in printed.err.splitlines() if "not stored" in line]
    assert "race.json" in warning
    assert "index" in printed.out
    assert "void" in printed.out


def test_a_plan_that_changed_during_the_race_is_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "home/races/r/plan.json"
    assert race(tmp_path, lambda: rewrite(plan, plan.read_text() + "\n"), monkeypatch) == 0
    warning = f"warning: {plan} was changed: its checksum is not that in race.json"
    assert warning in capsys.readouterr().err
    assert main(["report", "r"]) == 0
    assert warning in capsys.readouterr().err
