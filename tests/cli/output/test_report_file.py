"""The file of `--report-file` is checked before a race."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

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


@pytest.mark.parametrize("write", [write_page_file, _write_export, _write_report])
def test_nothing_is_created_behind_a_link_that_is_put_there_meanwhile(
    shared: Path, write: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Path.mkdir` is replaced, because only so does it always happen between the check and the creation."""
    private, link, mkdir = shared.parent / "private", shared / "link", Path.mkdir
    mkdir(private)

    def plant_first(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        if not link.is_symlink():
            link.symlink_to(private)
            os.lchown(link, 54321, 54321)
        mkdir(path, mode, parents, exist_ok)

    monkeypatch.setattr(Path, "mkdir", plant_first)
    with pytest.raises(StoreError, match=f"{link} belongs to user 54321"):
        write(link / "folder" / "new", "text")
    assert list(private.iterdir()) == []


def test_a_file_behind_a_link_that_is_put_there_while_it_is_opened_stays_as_it_was(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's own link leads to a file that does not exist. `os.open` is replaced, because only so does
    another user always create it between the check and the opening.
    """
    own, planted, private = shared.parent / "own", shared / "page", shared.parent / "private"
    own.symlink_to(planted)
    private.write_text("private")
    open_file = os.open

    def plant_first(path: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == own:
            planted.symlink_to(private)
            os.lchown(planted, 54321, 54321)
        return open_file(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", plant_first)
    with pytest.raises(StoreError, match=f"{planted} belongs to user 54321"):
        write_page_file(own, "text")
    assert private.read_text() == "private"


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
