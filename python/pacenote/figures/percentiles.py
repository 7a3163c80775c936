"""Which percentiles are selected where there is no room for all of them."""

from __future__ import annotations

LINE_PERCENTILES = (50.0, 99.0)
"""Those of displays with one line for each task or probe."""

TABLE_PERCENTILES = (50.0, 90.0, 99.0, 99.9)
"""Those of tables of tasks, on the last screen and on pages."""

PRIMARY_PERCENTILES = (50.0, 90.0, 99.0)
"""Those that a trend shows of tasks that do not index, and a comparison of one race each."""

DECIDING_PERCENTILES = (90.0, 50.0)
"""The percentile of a task with a target rate that decides: the first of these that its samples carry."""
