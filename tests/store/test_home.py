"""The location of the home folder."""

from pacenote.store.home import default_home


def test_an_environment_variable_sets_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path))
    assert default_home() == tmp_path
    monkeypatch.delenv("PACENOTE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    assert default_home() == tmp_path / "user" / ".pacenote"
