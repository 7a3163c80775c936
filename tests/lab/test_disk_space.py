"""The check of the free space before a race."""

from pacenote.lab import disk_space
from pacenote.lab.disk_space import missing_space


def test_a_disk_with_too_little_room_is_named(tmp_path, monkeypatch):
    folders = [tmp_path / "not" / "created", tmp_path]
    assert missing_space(folders) == ""
    monkeypatch.setattr(disk_space, "MIN_FREE_BYTES", 1 << 62)
    assert missing_space(folders).startswith(f"the disk of {tmp_path} has only ")
    assert missing_space([]) == ""
