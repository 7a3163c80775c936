"""`--trust`: one command uses all settings of the folder's `pacenote.toml`, and so do the races it starts."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from pacenote.errors import UsageError

FLAG = "--trust"
"""The option that trusts the file of the working folder for one command."""

VARIABLE = "PACENOTE_TRUST"
"""The variable of the environment that does the same."""

_VALUES = {"1": True, "true": True, "": False, "0": False, "false": False}


def is_trusted_for_command() -> bool:
    """Returns whether this command trusts the file, whatever it contains. Raises UsageError for an unclear
    value of the variable.
    """
    value = os.environ.get(VARIABLE, "")
    if value.lower() not in _VALUES:
        raise UsageError(f"{VARIABLE} must be 1 or 0, not '{value}'")
    return _VALUES[value.lower()]


@contextmanager
def trusted_for_command(arguments: Sequence[str]) -> Generator[None, None, None]:
    """Sets the variable within the block if the arguments contain the flag, so that processes which the
    command starts inherit it.
    """
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if FLAG not in options:
        yield
        return
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
