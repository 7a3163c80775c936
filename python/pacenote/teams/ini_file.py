"""Reads the `.ini` files of a team repository as Rally does: `${…}` is replaced, and keys keep their case."""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.system.paths import exists, is_dir, is_file
from pacenote.system.regular_files import read_regular_file

MAX_TEXT_BYTES = 1 << 20
"""Size of the largest file of a team repository that is read as text."""

Sections = Mapping[str, Mapping[str, str]]
"""Keys and values by section."""


def read_ini(file: Path) -> Sections:
    """Returns the values of a file. Raises EngineError if it cannot be read."""
    parser = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
    # By default, keys are converted to lower case.
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    if exists(file) and not (is_file(file) or is_dir(file)):
        raise EngineError(f"{file} cannot be read: it is a pipe, a device or a socket")
    try:
        parser.read_string(read_regular_file(file, MAX_TEXT_BYTES).decode("utf-8"), file.name)
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except OSError as error:
        raise EngineError(f"{file} cannot be read: {error.strerror}") from error
    except (configparser.Error, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise EngineError(
            f"{file} is not a valid .ini file: {reason}", hint="correct it in the team repository"
        ) from error


def comma_list(text: str) -> tuple[str, ...]:
    """Returns the items of a comma-separated value, without those that are empty."""
    return tuple(item.strip() for item in text.split(",") if item.strip())
