"""Races as a Parquet file, one figure per row."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from pacenote import _core
from pacenote.errors import StoreError
from pacenote.export.document import ExportedRace
from pacenote.export.table import COLUMNS, FILE_COLUMNS, table_columns
from pacenote.model.printable import encodable

_COLUMNS = (*COLUMNS, *FILE_COLUMNS)

_ERROR_NUMBER = r" \(os error \d+\)$"

_GROUP_ROWS = 1 << 16
"""Rows that are kept in memory before they become a row group."""


class ParquetFormat:
    """Writes the columns of CSV with their types, and where the Parquet files of each race are."""

    def __init__(self, path: Path, target: Path, group_rows: int = _GROUP_ROWS) -> None:
        """Creates the file, or truncates the existing one; errors call it `target`. Raises StoreError."""
        self._path = path
        self._target = target
        self._group_rows = group_rows
        self._rows: list[list[object]] = [[] for _ in _COLUMNS]
        try:
            self._file = _core.TableFile(path, [(column.name, column.kind) for column in _COLUMNS])
        except _core.CoreError as error:
            raise self._error(error) from error

    def race(self, race: ExportedRace) -> None:
        """Adds the figures of a race. Raises StoreError."""
        for kept, column, values in zip(self._rows, _COLUMNS, table_columns(race, _COLUMNS), strict=True):
            kept += map(_milliseconds if column.kind == "time" else _value, values)
        if len(self._rows[0]) >= self._group_rows:
            self._write()

    def end(self) -> None:
        """Completes the file. Raises StoreError."""
        if self._rows[0]:
            self._write()
        try:
            self._file.close()
        except _core.CoreError as error:
            raise self._error(error) from error

    def _write(self) -> None:
        try:
            self._file.write(self._rows)
        except _core.CoreError as error:
            raise self._error(error) from error
        self._rows = [[] for _ in _COLUMNS]

    def _error(self, error: Exception) -> StoreError:
        reason = str(error).removeprefix(f"cannot record to {self._path}: ")
        return StoreError(f"cannot write the export to {self._target}: {re.sub(_ERROR_NUMBER, '', reason)}")


def _milliseconds(value: object) -> int:
    return round(datetime.fromisoformat(str(value)).timestamp() * 1000)


def _value(value: object) -> object:
    return encodable(value) if isinstance(value, str) else value
