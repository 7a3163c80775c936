"""Where paths lead, through all links."""

from __future__ import annotations

import os
from pathlib import Path


def real_path(path: Path, *, strict: bool = False) -> Path:
    """Returns the absolute path without links. Links that lead to each other stay, unlike with
    `Path.resolve`, which raises RuntimeError for them. Raises OSError for these, and for a path that does not
    exist, if `strict`.
    """
    return Path(os.path.realpath(path, strict=strict))
