"""A journal: a file to which one line of JSON is added for each event, so that a kill loses none."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from pacenote.errors import PacenoteError, StoreError
from pacenote.store.atomic_files import (
    append_line,
    open_in_place,
    store_error,
    unreadable_path,
    write_atomically,
)
from pacenote.store.json_file import parse_stored
from pacenote.system.regular_files import MAX_FILE_BYTES, read_stored_file
from pacenote.units import format_bytes

Entry = TypeVar("Entry")
"""The type of the events of a journal."""


class Journal(Struct, Generic[Entry], frozen=True):
    """The events of a file, which only the process that has locked its folder changes, after `repair`."""

    path: Path
    """The file."""

    decode: Callable[[object], Entry]
    """Returns the event of a JSON document. May raise ValueError and PacenoteError."""

    def read(self) -> tuple[Entry, ...]:
        """Returns the events so far; a last line that was cut off by a kill or a full disk is left out.

        Raises StoreError, also for another line that cannot be read: what it says would be repeated or lost.
        """
        try:
            *lines, rest = read_stored_file(self.path).split(b"\n")
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise store_error("read", self.path, error) from error
        entries = [self._entry(line, number) for number, line in enumerate(lines, 1) if line]
        if rest:
            with contextlib.suppress(StoreError):
                entries.append(self._entry(rest, len(lines) + 1))
        return tuple(entries)

    def append(self, document: Mapping[str, object]) -> None:
        """Adds an event, which is on disk when the function returns. Raises StoreError, also if the file
        would then be longer than one that is read.
        """
        line = json.dumps(document, ensure_ascii=False).encode()
        try:
            size = self.path.lstat().st_size
        except FileNotFoundError:
            size = 0
        except OSError as error:
            raise store_error("read", self.path, error) from error
        if size + len(line) + 1 > MAX_FILE_BYTES:
            limit = format_bytes(MAX_FILE_BYTES)
            raise StoreError(f"{self.path} would be longer than {limit}, and could not be read")
        append_line(self.path, line)

    def repair(self) -> None:
        """Removes the end of a line that a kill has cut off, and keeps it in a file of its own. Raises
        StoreError, also for a file with other names: what is changed, or appended later, would change under
        them, too.
        """
        try:
            data = read_stored_file(self.path)
            end = data.rfind(b"\n") + 1
            # The path may have become a link.
            with os.fdopen(open_in_place(self.path, os.O_RDWR), "rb+") as file:
                if end == len(data):
                    return
                # A line without its end was written completely if it can be read.
                complete = self._is_entry(data[end:])
                if not complete:
                    write_atomically(unreadable_path(self.path), data[end:])
                file.seek(0, os.SEEK_END)
                file.write(b"\n") if complete else file.truncate(end)
                file.flush()
                os.fsync(file.fileno())
        except FileNotFoundError:
            return
        except OSError as error:
            raise store_error("write", self.path, error) from error

    def _is_entry(self, line: bytes) -> bool:
        with contextlib.suppress(StoreError):
            self._entry(line, 0)
            return True
        return False

    def _entry(self, line: bytes, number: int) -> Entry:
        try:
            return self.decode(parse_stored(line))
        except (ValueError, RecursionError, PacenoteError) as error:
            raise StoreError(
                f"line {number} of {self.path} cannot be read: {error}",
                hint="if a newer version of Pacenote wrote it, use that version",
            ) from error
