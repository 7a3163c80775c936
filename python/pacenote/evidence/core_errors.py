"""Errors of the Rust core that become errors of evidence."""

from __future__ import annotations

from pacenote import _core
from pacenote.errors import EvidenceError


def evidence_error(error: _core.CoreError) -> EvidenceError:
    """Returns the error with the part after the last semicolon as its hint, as the core writes messages."""
    message, _, hint = str(error).rpartition("; ")
    return EvidenceError(message, hint=hint) if message else EvidenceError(hint)
