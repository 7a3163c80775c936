"""What the errors of telemetry devices say: a reply of an unexpected form is not a defect of Pacenote."""

from __future__ import annotations

import traceback
from pathlib import Path

from pacenote.errors import PacenoteError
from pacenote.model.messages import DEFECT
from pacenote.model.printable import shortened
from pacenote.net.reply import FORM_ERRORS

MAX_PROBLEM = 1000
"""Characters of a problem that are kept."""


def error_text(error: Exception, *, has_read: bool) -> str:
    """Returns the text of an error in one line; `has_read` is whether the device has read a reply, so that
    the error may be due to its form.
    """
    text = brief_text(error)
    if isinstance(error, PacenoteError):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    line = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    if has_read and isinstance(error, FORM_ERRORS):
        return f"the engine's response has an unexpected form ({type(error).__name__}{line})"
    return f"{DEFECT}{line}: {text}"


def brief_text(error: Exception) -> str:
    """Returns the message of an error in one line of limited length, without the place."""
    # The text of an error such as KeyError has no meaning without its type.
    text = error.message if isinstance(error, PacenoteError) else f"{type(error).__name__}: {error}"
    return shortened(" ".join(text.split()), MAX_PROBLEM)
