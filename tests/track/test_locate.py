"""A track is located by path, among the bundled tracks, or in a repository, which the tests create."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from pacenote.errors import TrackError, UsageError
from pacenote.model.track_request import TrackRequest
from pacenote.repository.git import git
from pacenote.track.locate import check_track, locate_track
from track.builders import document
from track.repositories import commit


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that has only the track `books`."""
    root = tmp_path_factory.mktemp("books")
    git("init", "--quiet", "--initial-branch=master", at=root)
    commit(root)
    return root


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a track that has the name of a bundled one."""
    root = tmp_path_factory.mktemp("public")
    git("init", "--quiet", "--initial-branch=master", at=root)
    commit(root, "http_logs")
    return root


def default(root: Path, home: Path, track: str = "http_logs") -> TrackRequest:
    """Returns the request for a track of that name, if `root` is the configured default repository."""
    return TrackRequest(home=home, track=track, repository_urls={"default": str(root)})


def test_without_another_repository_the_bundled_track_is_used_and_nothing_is_cloned(tmp_path: Path) -> None:
    located = locate_track(TrackRequest(home=tmp_path / "home", track="http_logs"))
    assert (located.source.root.parent.name, located.revision) == ("tracks", None)
    assert located.notes == (
        'track "http_logs" is the one that comes with Pacenote; --track-repository=default selects the '
        "public one",
    )
    assert not (tmp_path / "home").exists()


@pytest.mark.process
def test_the_track_of_a_configured_default_repository_wins(public: Path, tmp_path: Path) -> None:
    located = locate_track(default(public, tmp_path))
    assert located.revision == git("rev-parse", "master", at=public)
    (note,) = located.notes
    assert note.startswith(f'track "http_logs" from repository "default" ({public}), branch master, ')
    assert note.endswith("; --track-repository=bundled selects the one of Pacenote")


@pytest.mark.process
@pytest.mark.parametrize("folder", ["home/tracks/default", "rally/default"])
def test_the_track_of_a_default_repository_that_is_cloned_already_wins(
    public: Path, tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).parent.mkdir(parents=True)
    git("clone", "--quiet", str(public), str(tmp_path / folder))
    git("config", "remote.origin.url", "https://github.com/elastic/rally-tracks", at=tmp_path / folder)
    request = TrackRequest(
        home=tmp_path / "home", track="http_logs", offline=True, rally_tracks=tmp_path / "rally"
    )
    assert locate_track(request).revision == git("rev-parse", "master", at=public)


@pytest.mark.process
def test_a_bundled_track_is_used_if_the_default_repository_has_none_of_that_name(
    books: Path, tmp_path: Path
) -> None:
    located = locate_track(default(books, tmp_path))
    assert located.revision is None
    assert located.notes[0].endswith('comes with Pacenote; repository "default" has none of that name')
    assert locate_track(default(books, tmp_path, "books")).revision == git("rev-parse", "master", at=books)


@pytest.mark.process
def test_the_bundled_tracks_can_be_selected(public: Path, tmp_path: Path) -> None:
    request = dataclasses.replace(default(public, tmp_path), track_repository="bundled")
    located = locate_track(request)
    assert located.revision is None
    assert located.notes == ('track "http_logs" is the one that comes with Pacenote',)
    assert not (tmp_path / "tracks").exists()
    with pytest.raises(TrackError, match='no track "geonames" comes with Pacenote') as caught:
        locate_track(dataclasses.replace(request, track="geonames"))
    assert "--track-repository=default has others" in caught.value.hint
    with pytest.raises(UsageError, match="bundled tracks have no revisions"):
        locate_track(dataclasses.replace(request, track_revision="master"))


@pytest.mark.process
def test_a_default_repository_that_cannot_be_cloned_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match='track repository "default" cannot be cloned') as caught:
        locate_track(default(tmp_path / "gone", tmp_path))
    way_out = "--track-repository=bundled selects the track that comes with Pacenote"
    assert caught.value.hint.endswith(way_out)
    with pytest.raises(TrackError, match='no track "books" comes with Pacenote, and track repository'):
        locate_track(default(tmp_path / "gone", tmp_path, "books"))


@pytest.mark.process
def test_with_a_revision_the_track_comes_from_the_repository(public: Path, tmp_path: Path) -> None:
    request = dataclasses.replace(default(public, tmp_path, "./http_logs/"), track_revision="master")
    located = locate_track(request)
    assert located.source.name == "http_logs"
    assert located.source.root.is_relative_to(tmp_path)
    assert located.notes[0].startswith('track "http_logs" from repository "default"')


@pytest.mark.process
def test_an_unknown_name_is_compared_with_the_tracks_of_the_repository_and_the_bundled_ones(
    books: Path, tmp_path: Path
) -> None:
    for name, meant in (("bok", "books"), ("htp_logs", "http_logs")):
        with pytest.raises(TrackError, match=f'there is no track "{name}" in .* .did you mean "{meant}"'):
            locate_track(default(books, tmp_path, name))


@pytest.mark.parametrize(
    ("name", "meant"), [("htp_logs", "http_logs"), ("genames", "geonames"), ("./nyc_taxi/", "nyc_taxis")]
)
def test_a_misspelled_name_is_reported_before_the_public_repository_is_cloned(
    tmp_path: Path, name: str, meant: str
) -> None:
    request = TrackRequest(home=tmp_path / "home", track=name)
    with pytest.raises(TrackError, match=f'did you mean "{meant}"') as caught:
        locate_track(request)
    assert caught.value.hint.startswith("--track-repository=default searches https://github.com/")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"track": "geonames"},
        {"track": "quite-another-one"},
        {"track_repository": "default"},
        {"track_revision": "9"},
        {"repository_urls": {"default": "https://git.example.org/mine"}},
    ],
)
def test_other_names_and_repositories_are_not_checked_without_the_network(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    fields: dict[str, object] = {"home": tmp_path, "track": "genames", **changes}
    check_track(TrackRequest(**fields))  # type: ignore[arg-type]


def test_a_path_that_does_not_exist_is_reported_without_the_network(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match="gone does not exist"):
        check_track(TrackRequest(home=tmp_path, track_path=tmp_path / "gone"))


def test_files_outside_of_the_track_can_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "track.json").write_text(json.dumps(document()))
    request = TrackRequest(home=tmp_path, track_path=tmp_path)
    assert locate_track(request).source.boundary == tmp_path
    assert locate_track(dataclasses.replace(request, allow_outside_paths=True)).source.boundary is None


@pytest.mark.parametrize("name", ["track", "track/track.json", "link.json"])
def test_a_track_that_others_could_replace_is_rejected(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "track"
    folder.mkdir()
    (folder / "track.json").write_text(json.dumps(document()))
    (tmp_path / "link.json").symlink_to("track/track.json")
    request = TrackRequest(home=tmp_path, track_path=tmp_path / name)
    locate_track(request)
    folder.chmod(0o777)
    for check in (check_track, locate_track):
        with pytest.raises(TrackError, match=f"which is code, could be replaced by others: {folder} can be"):
            check(request)
