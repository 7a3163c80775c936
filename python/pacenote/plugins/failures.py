"""Descriptions of errors in plug-ins: one line with the file and the line number."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from pacenote.model.messages import DEFECT

_MAX_LENGTH = 400


def describe(error: BaseException, root: Path) -> str:
    """Describes an error as `track.py:12: ValueError: text`.

    The line is the innermost one of code below the parent folder of the track, otherwise the one that raised
    the error.
    """
    location = _location(error, root)
    return f"{location}: {reason(error)}" if location else reason(error)


def describe_defect(error: BaseException, root: Path) -> str:
    """Describes an error in Pacenote's own code that runs the code of plug-ins."""
    return f"{DEFECT} ended the track's Python code: {describe(error, root)}"


def thread_location(thread_id: int | None, root: Path) -> str:
    """Returns where a thread executes code of the track, such as `track.py:12`; empty if it does not."""
    frame = sys._current_frames().get(thread_id or 0)
    places: list[tuple[str, int]] = []
    while frame is not None:
        places.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return _own_location(places[::-1], root)


def coroutine_location(coroutine: object, root: Path) -> str:
    """Returns where a suspended coroutine waits in code of the track; empty if it does not."""
    places: list[tuple[str, int]] = []
    waiting: Any = coroutine
    while isinstance(frame := getattr(waiting, "cr_frame", None), FrameType):
        places.append((frame.f_code.co_filename, frame.f_lineno))
        waiting = getattr(waiting, "cr_await", None)
    return _own_location(places, root)


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
    if own_location := _own_location(frames, root):
        return own_location
    if not frames:
        return ""
    name, line = frames[-1]
    return f"{_shown(name, root)}:{line}"


def _own_location(places: list[tuple[str, int]], root: Path) -> str:
    """Returns the innermost place, which is the last, below the parent folder of the track."""
    home = os.path.join(root.parent, "")  # noqa: PTH118  # A text prefix, not a path.
    places_of_track = [(name, line) for name, line in places if name.startswith(home)]
    return f"{_shown(places_of_track[-1][0], root)}:{places_of_track[-1][1]}" if places_of_track else ""


def _shown(name: str, root: Path) -> str:
    return os.path.relpath(name, root) if Path(name).is_relative_to(root.parent) else name
