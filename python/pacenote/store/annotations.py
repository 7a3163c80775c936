"""Annotations: notes about the results of a day, which are shown beside them.

PACENOTE_HOME/annotations/<id>.json, with the keys of Rally's documents, and `accepted` if the note accepts a
regression of a trend.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from pacenote.errors import PacenoteError, StoreError
from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.model.codec import decode, encode
from pacenote.model.printable import encodable, whole_line
from pacenote.model.race_time import valid_timestamp
from pacenote.store.atomic_files import PRIVATE_FOLDER, store_error, write_atomically
from pacenote.store.json_file import read_json

_KEYS = {
    "environment": "environment",
    "race-timestamp": "race_timestamp",
    "track": "track",
    "chart-type": "chart_type",
    "chart-name": "chart_name",
    "message": "message",
}
"""The keys of a document, and the fields that they contain."""

ACCEPTED = "accepted"
"""The key of the regression that a note accepts, which Rally does not have."""


class Annotation(Struct, frozen=True, kw_only=True):
    """A note about the results of a day."""

    annotation_id: str
    """The id, which is the name of the file."""

    race_timestamp: str
    """The day, as the timestamp of its midnight in UTC: `20260301T000000Z`."""

    message: str
    """The text."""

    environment: str = "local"
    """The name of the environment that it is about."""

    track: str | None = None
    """The name of the track that it is about, or None for all tracks."""

    chart_type: str | None = None
    """The type of the charts that it is about, or None for all types."""

    chart_name: str | None = None
    """The name of the chart that it is about, or None for all charts."""

    accepted: AcceptedRegression | None = None
    """The regression of a trend that it accepts, or None."""

    @property
    def day(self) -> str:
        """The day as `20260301`; empty if its time, which others may have written, is not valid."""
        return valid_timestamp(self.race_timestamp)[:8]

    @property
    def order(self) -> tuple[str, str]:
        """What annotations are sorted by; one without a valid time comes before all others."""
        return valid_timestamp(self.race_timestamp), self.annotation_id


class AnnotationStore:
    """The annotations below a home folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "annotations"

    def add(self, annotation: Annotation) -> None:
        """Stores a new annotation. Raises StoreError."""
        file = self._file(annotation.annotation_id)
        try:
            self._folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            raise store_error("create", self._folder, error) from error
        document = {key: getattr(annotation, name) for key, name in _KEYS.items()}
        if annotation.accepted is not None:
            document[ACCEPTED] = encode(annotation.accepted)
        text = json.dumps(document, ensure_ascii=False, indent=1)
        write_atomically(file, encodable(text).encode())

    def list(self, leave_out: Callable[[str], None]) -> list[Annotation]:
        """Returns all annotations, newest first. Calls `leave_out` with a message for each that cannot be
        read: it does not hide the others. Raises StoreError if the folder cannot be read.
        """
        readable = []
        for file in self._files():
            if not _is_id(file.stem):
                leave_out(
                    f"{whole_line(str(file))} is left out: its name cannot be an id: rename or delete it"
                )
                continue
            try:
                readable.append(_read(file))
            except StoreError as error:
                leave_out(f"{error.message}: {error.hint}" if error.hint else error.message)
        return sorted(readable, key=lambda annotation: annotation.order, reverse=True)

    def ids(self) -> frozenset[str]:
        """Returns the ids of all annotations, also of those that cannot be read. Raises StoreError."""
        return frozenset(file.stem for file in self._files() if _is_id(file.stem))

    def check(self, ids: Sequence[str]) -> None:
        """Raises StoreError if one of these annotations does not exist."""
        known = self.ids()
        if missing := [annotation_id for annotation_id in ids if annotation_id not in known]:
            raise StoreError(
                f"there is no annotation '{missing[0]}' in {self._folder}",
                hint="`pacenote list annotations` shows the ids",
            )

    def delete(self, annotation_id: str) -> None:
        """Deletes an annotation. Raises StoreError."""
        self.check((annotation_id,))
        file = self._file(annotation_id)
        try:
            file.unlink()
        except OSError as error:
            raise store_error("delete", file, error) from error

    def _file(self, annotation_id: str) -> Path:
        return self._folder / f"{annotation_id}.json"

    def _files(self) -> Sequence[Path]:
        try:
            return [file for file in self._folder.iterdir() if file.suffix == ".json" and file.stem]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise store_error("read", self._folder, error) from error


def _is_id(text: str) -> bool:
    """Returns whether the name of a file, which others may have written, can be printed and part of a URL."""
    return text.isprintable() and text not in (".", "..")


def _read(file: Path) -> Annotation:
    try:
        document = read_json(file)
        fields = {name: document.get(key) for key, name in _KEYS.items()}
        texts = {name: str(value) for name, value in fields.items() if value is not None}
        accepted = document.get(ACCEPTED)
        if accepted is not None:
            accepted = decode(AcceptedRegression, accepted, ACCEPTED)
        return Annotation(annotation_id=file.stem, accepted=accepted, **texts)
    except OSError as error:
        raise store_error("read", file, error) from error
    except (ValueError, TypeError, AttributeError, RecursionError, PacenoteError) as error:
        raise StoreError(f"{file} is not an annotation", hint="delete the file, or repair it") from error
