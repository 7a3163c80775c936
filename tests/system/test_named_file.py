"""A file that the user names, in folders that others may write to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.cli.output.export_file import replaced_file
from pacenote.cli.output.report_file import write_report_file
from pacenote.system.named_file import (
    FileChangedError,
    FileMode,
    NamedFile,
    PlantedPathError,
    named_file,
    open_named,
)
from support.planted_links import OTHER, shared_folder


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return shared_folder(tmp_path)


def reached(path: Path) -> Path:
    with named_file(path) as file:
        return file.path


def test_what_another_user_has_created_where_all_may_is_planted(shared: Path) -> None:
    for name in ("folder", "own"):
        (shared / name).mkdir()
    (shared / "file").touch()
    (shared / "link").symlink_to(shared.parent / "target")
    assert reached(shared / "link") == shared.parent / "target"
    for name in ("folder", "file", "link"):
        os.lchown(shared / name, OTHER, OTHER)
        path = shared / name / ("report" if name == "folder" else "")
        for way in (path, shared / "own" / ".." / path.relative_to(shared)):
            with pytest.raises(PlantedPathError, match=f"{shared / name} belongs to user {OTHER}"):
                reached(way)
    assert reached(shared / "own" / "report") == shared / "own" / "report"
    assert reached(shared / "new") == shared / "new"
    # Elsewhere, the user who names a file decides.
    shared.chmod(0o755)
    assert reached(shared / "folder" / "report") == shared / "folder" / "report"


@pytest.mark.parametrize("path", ["file", "own/../file", "link", "absolute", "own/./up", "."])
def test_links_and_dots_lead_where_the_kernel_says(tmp_path: Path, path: str) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to("own/file")
    (tmp_path / "absolute").symlink_to(tmp_path / "own" / ".." / "other")
    (tmp_path / "own" / "up").symlink_to("../../up")
    assert os.path.realpath(reached(tmp_path / path)) == os.path.realpath(tmp_path / path)


def test_links_that_lead_to_each_other_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        reached(tmp_path / "a")


def test_folders_are_created_only_on_request_and_removed_if_they_are_empty(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    with pytest.raises(FileNotFoundError):
        reached(path)
    with named_file(path, creates_folders=True) as file:
        assert path.parent.is_dir()
        file.remove_created_folders()
    assert not (tmp_path / "a").exists()
    with named_file(path, creates_folders=True) as file:
        path.touch()
        file.remove_created_folders()
    assert path.exists()


@pytest.mark.parametrize("change", ["replaced", "removed", "created"])
def test_another_file_than_the_one_that_was_looked_at_is_not_opened(tmp_path: Path, change: str) -> None:
    path = tmp_path / "file"
    if change != "created":
        path.write_text("old")
    with named_file(path) as file:
        if change != "created":
            path.unlink()
        if change != "removed":
            path.write_text("new")
        with pytest.raises(FileChangedError):
            file.open_descriptor("w")
    # A file that changed once is opened at the next attempt.
    os.close(open_named(path, "w"))
    assert path.read_text() == ""


@pytest.mark.parametrize("mode", ["a", "w"])
def test_another_name_of_a_file_is_not_written_to_where_all_may_create_names(
    shared: Path, mode: FileMode
) -> None:
    mine = shared.parent / "mine"
    mine.write_text("mine")
    (shared / "report").hardlink_to(mine)
    with pytest.raises(PlantedPathError, match="has several names"):
        open_named(shared / "report", mode)
    assert mine.read_text() == "mine"
    shared.chmod(0o755)
    os.close(open_named(shared / "report", "a"))


def test_a_link_of_another_user_is_not_followed_in_a_folder_that_all_may_change(shared: Path) -> None:
    shared.chmod(0o777)
    (shared / "link").symlink_to(shared.parent / "target")
    (shared / "file").touch()
    assert reached(shared / "link") == shared.parent / "target"
    for name in ("link", "file"):
        os.lchown(shared / name, OTHER, OTHER)
    with pytest.raises(PlantedPathError, match=f"{shared / 'link'} belongs to user {OTHER}"):
        reached(shared / "link")
    assert reached(shared / "file") == shared / "file"


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
@pytest.mark.parametrize("mode", ["a", "w"])
def test_a_descriptor_of_the_process_is_written_to(folder: str, mode: FileMode) -> None:
    """As `--report-file=/dev/stdout` and `>(COMMAND)` of a shell are."""
    reading, writing = os.pipe()
    try:
        descriptor = open_named(Path(folder, str(writing)), mode)
        os.write(descriptor, b"text")
        os.close(descriptor)
        assert os.read(reading, 10) == b"text"
    finally:
        os.close(reading)
        os.close(writing)


def test_a_descriptor_that_leads_to_a_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    """As `/dev/stdout` is if output is redirected: there is no folder for another file."""
    log = tmp_path / "log"
    with log.open("w") as stream, named_file(Path("/proc/self/fd", str(stream.fileno()))) as file:
        assert file.is_special
        with replaced_file(Path("/proc/self/fd", str(stream.fileno()))) as path:
            path.write_text("rows")
        write_report_file(Path("/proc/self/fd", str(stream.fileno())), "{}", "json")
    assert log.read_text() == "rows{}"


@pytest.mark.parametrize("path", ["..", "a/..", "/"])
def test_a_folder_is_not_a_file(tmp_path: Path, path: str) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        open_named(tmp_path / path, "w")


def test_only_the_file_that_was_looked_at_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with named_file(path) as file:
        os.close(file.open_descriptor("a"))
        path.rename(tmp_path / "kept")
        path.write_text("of another")
        file.remove()
    assert path.exists()


def descriptors() -> list[Path]:
    return sorted(Path("/proc/self/fd").iterdir())


def test_every_descriptor_is_closed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b" / "new")
    before = descriptors()
    for name in ("file", "link", "file/below", "a/../file"):
        try:
            NamedFile(tmp_path / name, creates_folders=True).close()
        except OSError:
            continue
    assert descriptors() == before
