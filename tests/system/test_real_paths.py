"""Where paths lead, also if their links lead nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.host.data_devices import data_devices
from pacenote.system.real_paths import real_path


def test_a_path_leads_through_all_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    assert real_path(tmp_path / "link" / ".." / "link") == tmp_path / "a"


def test_links_that_lead_to_each_other_stay(tmp_path: Path) -> None:
    """`Path.resolve` raises a RuntimeError for them, which is no OSError."""
    (tmp_path / "loop").symlink_to("loop")
    assert real_path(tmp_path / "loop" / "x").is_relative_to(tmp_path)
    with pytest.raises(OSError, match="loop"):
        real_path(tmp_path / "loop", strict=True)


def test_a_data_path_that_leads_nowhere_has_a_device(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    [device] = data_devices({"node": (tmp_path / "loop",)})
    assert device.path == str(tmp_path / "loop")
