"""`pacenote list tracks`: folders, repositories and bundled tracks."""

import json

import pytest

from pacenote.repository.git import git
from pacenote.track import repository


def test_tracks_of_a_folder_are_listed(run, books):
    arguments = ("list", "tracks", f"--track-path={books.parent}")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    header, _, line = out.splitlines()
    assert [" ".join(name.split()) for name in header.split("  ") if name] == [
        *("Name", "Description", "Documents", "Compressed Size", "Uncompressed Size", "Default Challenge"),
        "All Challenges",
    ]
    assert line.split() == ["books", "Books.", "10", "fast", "fast,slow"]
    (track,) = json.loads(run(*arguments, "--format=json")[1])
    assert (track["name"], track["documents"], track["challenges"]) == ("books", 10, ["fast", "slow"])


def test_the_folder_or_file_of_one_track_lists_that_track(run, books):
    (books / "more").mkdir()
    (books / "more" / "track.json").write_text("{}")
    (whole,) = json.loads(run("list", "tracks", f"--track-path={books}", "--format=json")[1])
    assert (whole["name"], whole["documents"], whole["challenges"]) == ("books", 10, ["fast", "slow"])
    for path in (books, books / "track.json"):
        code, out, err = run("list", "tracks", f"--track-path={path}")
        assert (code, err, out.splitlines()[2].split()[:2]) == (0, "", ["books", "Books."])
        assert len(out.splitlines()) == 3
    code, out, err = run("list", "tracks", f"--track-path={books}", "--track-revision=8")
    assert (code, out) == (2, "")


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


def repository_of(books):
    """Returns a repository with the track `books`."""
    root = books.parent
    git("init", "--quiet", "--initial-branch=master", at=root)
    git("add", "--all", at=root)
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")
    git(*who, "commit", "--quiet", "--message=first", at=root)
    return root


@pytest.mark.process
def test_the_default_repository_is_cloned_and_listed_before_the_bundled_tracks(run, books, home):
    home.mkdir()
    url = repository_of(books).as_uri()
    (home / "pacenote.toml").write_text(f'[tracks]\ndefault.url = "{url}"\n')
    code, out, err = run("list", "tracks")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["books", "http_logs"]
    assert f'cloning track repository "default" from {url}\n' in err
    assert run("list", "tracks", "--offline", "--quiet")[1:] == (out, "")


@pytest.mark.process
def test_the_clone_that_changes_the_meaning_of_a_bundled_track_is_announced(run, books, monkeypatch):
    books.rename(books.with_name("http_logs"))
    monkeypatch.setattr(repository, "DEFAULT_URL", repository_of(books).as_uri())
    switch = "--track-repository=bundled selects the one that comes with Pacenote\n"
    means = '--track=http_logs means the one of repository "default"'
    assert f"{means} from now on; {switch}" in run("list", "tracks")[2]
    assert f"{means}; {switch}" in run("list", "tracks")[2]


def test_a_corpus_with_a_generator_has_the_documents_that_it_generates(run):
    (bundled,) = json.loads(run("list", "tracks", "--track-repository=bundled", "--format=json")[1])
    assert (bundled["name"], bundled["documents"]) == ("http_logs", 1_000_000)


@pytest.mark.process
def test_each_step_is_shown_once_however_long_it_takes(run, books, monkeypatch):
    monkeypatch.setattr("pacenote.system.command.WAITING_INTERVAL_S", 1e-4)
    code, _, err = run("list", "tracks", f"--track-repository={repository_of(books).as_uri()}")
    assert code == 0
    assert [line.split()[0] for line in err.splitlines()] == ["cloning", "checking", "tracks"]


def test_without_the_default_repository_the_bundled_tracks_are_listed_with_the_reason(run):
    code, out, err = run("list", "tracks", "--offline")
    assert code == 0
    assert out.splitlines()[2].startswith("http_logs  HTTP server logs: append-only")
    assert err.startswith(
        'warning: only the tracks that come with Pacenote are listed: track repository "default" is not '
    )
    assert run("list", "tracks", "--track-repository=bundled") == (0, out, "")


@pytest.mark.process
def test_tracks_of_a_repository_are_listed_and_shown(run, books):
    root = repository_of(books)
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
