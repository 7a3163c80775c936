"""The version of Pacenote, for `pacenote --version` and the race record."""

from __future__ import annotations

import contextlib
from importlib import metadata


def pacenote_version() -> str | None:
    """Returns the version of the installed package, or None if Pacenote runs from its sources."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version("pacenote")
    return None
