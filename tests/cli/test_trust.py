"""`pacenote trust`."""

import pytest


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "a folder"
    path.mkdir()
    (path / "pacenote.toml").write_text("seed = 1\n")
    return path


def test_trust_is_listed_and_revoked(run, folder):
    file = folder / "pacenote.toml"
    assert run("trust", folder) == (0, f"{file} is trusted until it changes\n", "")
    assert run("trust", file)[0] == 0
    assert run("trust", "--list") == (0, f"{file}\n", "")
    file.write_text("seed = 2\n")
    assert run("trust", "--list") == (0, f"{file} (changed since, not trusted)\n", "")
    file.unlink()
    assert run("trust", "--list") == (0, f"{file} (removed)\n", "")
    file.mkdir()
    assert run("trust", "--list") == (0, f"{file} (cannot be read)\n", "")
    assert run("trust", "--revoke", folder) == (0, f"{file} is no longer trusted\n", "")
    assert run("trust", "--list") == (0, "", "")
    code, _, err = run("trust", "--revoke", folder)
    assert (code, err) == (2, f"error: {file} is not trusted\nhint: see `pacenote trust --list`\n")


def test_a_folder_without_a_file_is_an_error(run, tmp_path):
    assert run("trust", tmp_path) == (2, "", f"error: there is no {tmp_path / 'pacenote.toml'}\n")
    assert run("trust", tmp_path / "nowhere")[0] == 2
