"""What the errors of telemetry devices say.

An error of code that reads a reply may be due to the form of the reply, or to a defect of Pacenote. The text
names both, with the place in the code.
"""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

import pacenote
from pacenote.errors import PacenoteError
from pacenote.model.messages import DEFECT
from pacenote.model.printable import shortened
from pacenote.net.reply import FORM_ERRORS

_PACKAGE = Path(pacenote.__file__).parent

_LIBRARIES = frozenset(
    Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
"""Folders of the modules of Python and of installed packages."""

MAX_PROBLEM = 1000
"""Characters of a problem that are kept."""


def error_text(error: Exception, *, has_read: bool) -> str:
    """Returns the text of an error in one line; `has_read` is whether the device has read a reply, so that
    the error may be due to its form. Unless it is a PacenoteError, the text says where it was raised.
    """
    text = brief_text(error)
    if isinstance(error, PacenoteError):
        return text
    place = _place(error)
    if has_read and isinstance(error, FORM_ERRORS):
        return f"the engine's response has an unexpected form, or this is {DEFECT}{place}: {text}"
    return f"{DEFECT}{place}: {text}"


def _place(error: Exception) -> str:
    """Returns where an error was raised, or which line called the library that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own_frames = [frame for frame in frames if not _is_of_library(frame.filename)] or frames
    return f" at {Path(own_frames[-1].filename).name}:{own_frames[-1].lineno}" if own_frames else ""


def _is_of_library(file: str) -> bool:
    """Returns whether a file belongs to Python or a package; Pacenote itself may be installed, too."""
    path = Path(file)
    return not path.is_relative_to(_PACKAGE) and (
        file.startswith("<") or any(path.is_relative_to(folder) for folder in _LIBRARIES)
    )


def brief_text(error: Exception) -> str:
    """Returns the message of an error in one line of limited length, without the place."""
    # The text of an error such as KeyError has no meaning without its type.
    text = error.message if isinstance(error, PacenoteError) else f"{type(error).__name__}: {error}"
    return shortened(" ".join(text.split()), MAX_PROBLEM)
