"""What code of a plug-in raised, in one line that names its file and line."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

_LONGEST = 400


def describe(error: BaseException, root: Path) -> str:
    """`track.py:12: ValueError: text`: where code below the parent folder of a track raised, and what.

    The innermost line of the track's own code is named; without one, the line that raised.
    """
    place = _place(error, root)
    return f"{place}: {reason(error)}" if place else reason(error)


def reason(error: BaseException) -> str:
    """The kind of an error and its text, in one line of a length that can be read."""
    text = " ".join(_text(error).split())
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _text(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg
    try:
        return str(error)
    except Exception:  # What `__str__` of a plug-in's own exception raises says nothing about the failure.
        return ""


def _place(error: BaseException, root: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename, root)}:{error.lineno}"
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    home = os.path.join(root.parent, "")  # noqa: PTH118  # A prefix of text, not a path.
    own = [(name, line) for name, line in frames if name.startswith(home)]
    if not (own or frames):
        return ""
    name, line = (own or frames)[-1]
    return f"{_shown(name, root)}:{line}"


def _shown(name: str, root: Path) -> str:
    return os.path.relpath(name, root) if Path(name).is_relative_to(root.parent) else name
