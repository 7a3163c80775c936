"""Files of an engine that every user can read."""

from __future__ import annotations

from pathlib import Path

from pacenote.provision.public_files import copy_file


def test_a_copy_does_not_run_as_its_owner(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("x")
    program.chmod(0o6754)
    copy_file(program, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "x"
    assert (tmp_path / "copy").stat().st_mode & 0o7777 == 0o754
