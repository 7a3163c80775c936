"""Merges the per-second histograms of races."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pacenote.model.merged_series import MergedSeries, UnreadSeries


def merged_series(files: Sequence[Path]) -> MergedSeries:
    """Returns the merged times of `series.parquet` files, and which of the files cannot be read."""
    if not any(file.exists() for file in files):
        missing = (UnreadSeries(index, "does not exist") for index in range(len(files)))
        return MergedSeries(unread=tuple(missing))
    from pacenote import _core  # Not needed for races without series, such as imported ones.

    return MergedSeries.from_document(json.loads(_core.merged_percentiles([*files])))
