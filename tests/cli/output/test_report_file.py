"""The file of `--report-file` is checked before a race."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.output.export_file import replaced_file
from pacenote.cli.output.page_file import write_page_file
from pacenote.cli.output.report_file import check_report_file, write_report_file
from pacenote.errors import StoreError, UsageError
from support.planted_links import planted_link, shared_folder


def test_a_pipe_without_a_reader_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert check_report_file(pipe) == pipe
    assert pipe.is_fifo()


def test_a_link_to_a_file_that_does_not_exist_stays(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "report.md")
    assert check_report_file(link) == link
    assert link.is_symlink()
    assert list(tmp_path.iterdir()) == [link]


def test_a_link_to_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file" / "report.md")
    with pytest.raises(UsageError, match=r"--report-file .*/link cannot be written"):
        check_report_file(tmp_path / "link")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return shared_folder(tmp_path)


def _write_export(file: Path, text: str) -> None:
    with replaced_file(file) as path:
        path.write_text(text)


@pytest.mark.parametrize("name", ["report.md", "folder/report.md"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_nothing_is_written_to_what_another_user_has_put_there_meanwhile(
    shared: Path, name: str, kind: str
) -> None:
    """The path is checked before a race, which takes hours."""
    report = shared / name
    assert check_report_file(report) == report
    report.parent.mkdir(exist_ok=True)
    mine = shared.parent / "mine"
    mine.write_text("mine")
    if kind == "link":
        report.symlink_to(mine)
    else:
        report.touch()
    for path in {report, shared / Path(name).parts[0]}:
        os.lchown(path, 54321, 54321)
    with pytest.raises(StoreError, match="belongs to user 54321"):
        write_report_file(report, "text", None)
    with pytest.raises(StoreError, match="belongs to user 54321"):
        write_page_file(report, "text")
    with pytest.raises(StoreError, match="belongs to user 54321"):
        _write_export(report, "text")
    with pytest.raises(UsageError, match="belongs to user 54321"):
        check_report_file(report)
    assert mine.read_text() == "mine"
    assert kind == "link" or report.read_text() == ""


def test_files_of_ones_own_are_written_in_a_folder_such_as_tmp(shared: Path) -> None:
    report = shared / "report.md"
    for _ in range(2):
        assert write_report_file(report, "text", None) == report
    assert report.read_text() == "texttext"
    for text in ("long", "new"):
        write_page_file(report, text)
    assert report.read_text() == "new"
    _write_export(report, "rows")
    assert report.read_text() == "rows"


def _write_report(file: Path, text: str) -> None:
    write_report_file(file, text, "json")


@pytest.mark.parametrize("write", [write_page_file, _write_export, _write_report])
@pytest.mark.parametrize("name", ["new", "folder/new"])
def test_nothing_is_created_where_a_link_of_another_user_leads(
    tmp_path: Path, name: str, write: Callable[[Path, str], None]
) -> None:
    link, target = planted_link(tmp_path)
    with pytest.raises(StoreError, match=f"{link} belongs to user 54321"):
        write(link / name, "text")
    with pytest.raises(UsageError, match=f"{link} belongs to user 54321"):
        check_report_file(link / name)
    assert list(target.iterdir()) == []


CALLS = ("lstat", "mkdir", "open", "readlink", "stat", "unlink")
"""The functions of `os` between which another user changes what a path leads to."""


def _check(file: Path, text: str) -> None:
    check_report_file(file)


class Toggled:
    """A link of another user that appears and disappears before some of the calls."""

    def __init__(self, link: Path, target: Path, patch: pytest.MonkeyPatch) -> None:
        self.link, self.target = link, target
        self.before: tuple[int, ...] = ()
        self.count = 0
        for name in CALLS:
            patch.setattr(os, name, self.around(getattr(os, name)))
        self.is_planted, self.is_active = False, False

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            if self.is_active:
                self.is_active = False
                if self.count in self.before:
                    self.toggle()
                self.count += 1
                self.is_active = True
            return call(*arguments, **named)

        return counted

    def toggle(self) -> None:
        if self.link.is_symlink():
            self.link.unlink(missing_ok=True)
        elif not self.link.exists():
            self.link.symlink_to(self.target)
            os.lchown(self.link, 54321, 54321)

    def clear(self) -> None:
        self.is_active, self.count = False, 0
        if self.link.is_dir() and not self.link.is_symlink():
            shutil.rmtree(self.link)
        self.link.unlink(missing_ok=True)

    def run(self, action: Callable[[], object], before: tuple[int, ...]) -> int:
        """Returns the number of calls."""
        self.clear()
        self.before, self.is_active = before, True
        with contextlib.suppress(StoreError, UsageError):
            action()
        return self.count


@pytest.mark.parametrize("write", [write_page_file, _write_export, _write_report, _check])
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_link_that_comes_and_goes_leads_nowhere(
    shared: Path, write: Callable[[Path, str], None], is_folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The functions of `os` are replaced, because only so does a change happen between each two of them."""
    private, link = shared.parent / "private", shared / "link"
    private.mkdir()
    victim, file = private / "file", link / "file" if is_folder else link
    victim.write_text("mine")
    toggled = Toggled(link, private if is_folder else victim, monkeypatch)
    calls = toggled.run(lambda: write(file, "text"), ())
    assert calls > 5
    for first in range(calls):
        for length in (1, 2, calls):
            toggled.run(lambda: write(file, "text"), (first, first + length))
            toggled.is_active = False
            assert [path.name for path in private.iterdir()] == ["file"]
            assert victim.read_text() == "mine"


def test_a_report_gets_a_number_that_another_user_has_not_taken(shared: Path) -> None:
    for name in ("report.json", "report-2.json"):
        (shared / name).write_text("{}")
    os.chown(shared / "report-2.json", 54321, 54321)
    assert write_report_file(shared / "report.json", "[]", "json") == shared / "report-3.json"
    assert (shared / "report-2.json").read_text() == "{}"


def test_folders_that_are_missing_are_created(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / ".." / "page.html"
    write_page_file(file, "text")
    assert (tmp_path / "a" / "page.html").read_text() == "text"
    (tmp_path / "link").symlink_to(tmp_path / "c" / "rows.csv")
    _write_export(tmp_path / "link", "rows")
    assert (tmp_path / "c" / "rows.csv").read_text() == "rows"
