"""`pacenote list tracks`: folders, repositories and bundled tracks."""

import json

import pytest

from pacenote.track.git import git


def test_tracks_of_a_folder_are_listed(run, books):
    arguments = ("list", "tracks", f"--track-path={books.parent}")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    header, _, line = out.splitlines()
    assert header.split("  ")[0] == "Name"
    assert line.split() == ["books", "10", "fast", "Books."]
    (found,) = json.loads(run(*arguments, "--format=json")[1])
    assert (found["name"], found["documents"], found["challenges"]) == ("books", 10, ["fast", "slow"])


def test_a_list_is_cached_until_a_file_changes(run, books, home):
    arguments = ("list", "tracks", f"--track-path={books.parent}", "--format=json")
    first = run(*arguments)
    (kept,) = (home / "cache").iterdir()
    kept.write_text(kept.read_text().replace("Books.", "Remembered."))
    (remembered,) = json.loads(run(*arguments)[1])
    assert remembered["description"] == "Remembered."
    (books / "more.json").write_text("{}")
    assert run(*arguments) == first
    kept.write_text("{")
    assert run(*arguments) == first


def test_an_unreadable_track_is_listed_with_its_error(run, books):
    (books / "track.json").write_text("{{ 1 / 0 }}")
    code, out, _ = run("list", "tracks", f"--track-path={books.parent}")
    assert code == 0
    assert "cannot be read: track.json, line 1: cannot be rendered: ZeroDivisionError" in out


def test_bundled_tracks_are_listed_with_a_hint_to_more(run):
    code, out, err = run("list", "tracks")
    assert code == 0
    assert out.splitlines()[2].startswith("http_logs  247,249,096")
    assert err == "more tracks: --track-repository=default, or the name or URL of another\n"
    assert run("list", "tracks", "--quiet")[2] == ""


def test_tracks_of_a_repository_are_listed_and_shown(run, books):
    root = books.parent
    git("init", "--quiet", "--initial-branch=master", at=root)
    git("add", "--all", at=root)
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")
    git(*who, "commit", "--quiet", "--message=first", at=root)
    code, out, err = run("list", "tracks", f"--track-repository={root.as_uri()}")
    assert (code, out.splitlines()[2].split()[0]) == (0, "books")
    assert ", branch master, revision " in err
    code, out, err = run("info", "--track=books", f"--track-repository={root.as_uri()}", "--offline")
    assert (code, out.splitlines()[0]) == (0, "Track books")
    assert "its templates and code run with your permissions" in err


@pytest.mark.parametrize(("name", "what"), [("nonexistent", "does not exist"), ("file", "is not a folder")])
def test_a_track_path_that_is_not_a_folder_is_rejected(run, tmp_path, name, what):
    (tmp_path / "file").touch()
    code, out, err = run("list", "tracks", f"--track-path={tmp_path / name}")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: --track-path {tmp_path / name} {what}\n")


def test_a_track_path_excludes_other_sources(run, books):
    code, out, err = run("list", "tracks", f"--track-path={books.parent}", "--track-revision=8")
    assert (code, out) == (2, "")
    assert err.startswith("error: give either --track-revision or --track-path, not both\n")
