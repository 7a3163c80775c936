"""Data folders: files cannot be written outside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import CorpusError
from pacenote.race.data_folder import path_inside


def test_names_that_lead_out_of_the_data_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="would be written outside"):
        path_inside(tmp_path, "a/../../b", "notes")
    assert path_inside(tmp_path, "elastic/logs", "notes") == tmp_path / "elastic" / "logs"
