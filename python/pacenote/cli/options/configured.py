"""Values from configuration files, and reading these files."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from pacenote.errors import UsageError
from pacenote.system.regular_files import read_regular_file


class ConfiguredOption(Struct, frozen=True):
    """A configured value of an option."""

    value: object
    """Value in TOML or `rally.ini`."""

    origin: str
    """File and key, for messages."""

    file: Path = Path()
    """The file that sets it."""

    strict: bool = False
    """Whether it is an error if the command does not have the option."""


def read_configuration_file(file: Path) -> bytes | None:
    """Returns the content of a file, or None if it does not exist. Raises UsageError if it cannot be read."""
    try:
        return read_regular_file(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise file_cannot_be_read(file, error) from error


def file_cannot_be_read(file: Path, error: OSError) -> UsageError:
    """Returns the error for a configuration file that cannot be read."""
    return UsageError(f"{file} cannot be read: {error.strerror}")
