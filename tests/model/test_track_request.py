"""The request for a track: the command that shows the track."""

from __future__ import annotations

from pathlib import Path

from pacenote.model.track_request import TrackRequest


def test_the_command_that_shows_a_track_names_its_source() -> None:
    home = Path("home")
    assert TrackRequest(home=home, track="a", track_repository="bundled").info_command() == (
        "pacenote info --track=a --track-repository=bundled"
    )
    named = TrackRequest(home=home, track_path=Path("my tracks/a"))
    assert named.info_command() == "pacenote info '--track-path=my tracks/a'"
    hidden = TrackRequest(home=home, track="a", track_repository="https://me:pw@host/r.git")
    assert "pw" not in hidden.info_command()
