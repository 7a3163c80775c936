"""Downloads."""

from __future__ import annotations

import os
from collections.abc import Callable

from pacenote.plugins.tools import current_tools

Progress = Callable[[int, int | None], object]


def download_http(
    url: str,
    local_path: str,
    expected_size_in_bytes: int | None = None,
    progress_indicator: Progress | None = None,
) -> int | None:
    """Downloads a file over HTTP, and returns its size in bytes."""
    current_tools().download(url, local_path, expected_size_in_bytes)
    size = os.path.getsize(local_path)  # noqa: PTH202
    if progress_indicator is not None:
        progress_indicator(size, size)
    return size


download = download_http
"""Downloads a file from any kind of URL that a corpus may use."""
