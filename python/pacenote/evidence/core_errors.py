"""Errors while evidence is read: whatever goes wrong is one kind of error, which callers show as one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pacenote import _core
from pacenote.errors import EvidenceError, PacenoteError
from pacenote.system.paths import is_of_the_kernel, leads_through_proc


@contextmanager
def as_evidence_errors(files: Sequence[Path]) -> Iterator[None]:
    """Raises EvidenceError for whatever the block raises while it reads `files` or computes their figures.

    Another user may have written them, so that a file must not end a race or a page, not even by a defect
    of what reads it. PacenoteError is raised as it is, and so are Ctrl-C and the end of the process.
    """
    for file in files:
        # The core would follow the link.
        if not is_of_the_kernel(file) and leads_through_proc(file):
            raise EvidenceError(
                f"{file} leads through a link in /proc, or through too many links",
                hint="name the file itself",
            )
    try:
        yield
    except PacenoteError:
        raise
    except _core.CoreError as error:
        raise _evidence_error(error) from error
    except MemoryError as error:
        hint = "free some memory, or leave the file out"
        raise EvidenceError(f"{_named(files)}: there is too little memory to read it", hint=hint) from error
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_REASON]
        hint = "this is a defect of Pacenote: report it with the file"
        raise EvidenceError(f"{_named(files)} cannot be read: {reason}", hint=hint) from error


_LONGEST_REASON = 300
"""Characters of the reason of a defect that are shown."""


def _named(files: Sequence[Path]) -> str:
    return str(files[0]) if files else "the evidence"


def _evidence_error(error: _core.CoreError) -> EvidenceError:
    """Returns the error with the part after the last semicolon as its hint, as the core writes messages."""
    message, _, hint = str(error).rpartition("; ")
    return EvidenceError(message, hint=hint) if message else EvidenceError(hint)
