"""Pages whose names the user has not given, in a folder that someone else may have made."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.races import blocks
from pacenote.store.race_store import RaceStore

SIDES = ("--baseline=tag:variant=a", "--contender=tag:variant=b")


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A home with two variants in four blocks."""
    store = RaceStore(tmp_path / "home")
    for side in blocks(4, factor=1.2, noise=0.002):
        for record in side:
            store.create(record)
    monkeypatch.setenv("PACENOTE_HOME", str(store.home))
    return store


@pytest.fixture
def working_folder(stored, tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize("command", ["compare", "trend"])
def test_a_page_is_not_written_through_a_link_of_the_working_folder(
    run, stored, working_folder, command, link
):
    """Its author may have put it there, under the name that a page has if the user gives none."""
    other = working_folder.parent / "notes.txt"
    other.write_text("of the user")
    page = working_folder / ("comparison.html" if command == "compare" else "trend.html")
    link(page, other)
    code, out, err = run(command, *(SIDES if command == "compare" else (str(stored.races),)), "--html")
    assert (code, out) == (0, f"{page.name}\n"), err
    assert (other.read_text(), page.is_symlink()) == ("of the user", False)
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert list(working_folder.iterdir()) == [page]
