"""Descriptions of errors in plug-ins: one line with the file and the line number."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

_MAX_LENGTH = 400


def describe(error: BaseException, root: Path) -> str:
    """Describes an error as `track.py:12: ValueError: text`.

    The line is the innermost one of code below the parent folder of the track, otherwise the one that raised
    the error.
    """
    location = _location(error, root)
    return f"{location}: {reason(error)}" if location else reason(error)


def reason(error: BaseException) -> str:
    """Returns the type and the text of an error, in one line of limited length."""
    text = " ".join(_text(error).split())
    if len(text) > _MAX_LENGTH:
        text = text[: _MAX_LENGTH - 1] + "…"
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _text(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg
    try:
        return str(error)
    except Exception:  # An error in `__str__` of a plug-in's exception is not the failure to report.
        return ""


def _location(error: BaseException, root: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename, root)}:{error.lineno}"
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    home = os.path.join(root.parent, "")  # noqa: PTH118  # A text prefix, not a path.
    own = [(name, line) for name, line in frames if name.startswith(home)]
    if not (own or frames):
        return ""
    name, line = (own or frames)[-1]
    return f"{_shown(name, root)}:{line}"


def _shown(name: str, root: Path) -> str:
    return os.path.relpath(name, root) if Path(name).is_relative_to(root.parent) else name
