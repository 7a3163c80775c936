"""Data files that parameter sources open."""

import gc
import warnings
from pathlib import Path

from pacenote.plugins.rally_api.files import MmapSource


def test_a_file_that_a_source_abandons_gives_no_warning(tmp_path: Path) -> None:
    data = tmp_path / "d.json"
    data.write_text("{}\n{}\n")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        abandoned = MmapSource(str(data), "rt").open()
        assert abandoned.readlines(1) == [b"{}\n"]
        abandoned.itself = abandoned  # type: ignore[attr-defined]  # Freed by the collector, as sources of tracks are.
        del abandoned
        gc.collect()
    assert not [each for each in seen if str(data) in str(each.message)]
