"""Files cannot be written outside a data folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import CorpusError
from pacenote.race.data_folder import path_inside


def test_paths_outside_the_data_folder_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="would be written outside"):
        path_inside(tmp_path, "a/../../b", "notes")
    assert path_inside(tmp_path, "elastic/logs", "notes") == tmp_path / "elastic" / "logs"
