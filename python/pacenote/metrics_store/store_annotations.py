"""The annotations in a metrics store, with Rally's keys, and `accepted` if a note accepts a regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from pacenote.errors import PacenoteError, UsageError
from pacenote.metrics_store.client import StoreClient
from pacenote.metrics_store.templates import ANNOTATIONS, annotations_template
from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.model.codec import as_text, decode, encode
from pacenote.model.shell_command import shell_command
from pacenote.store.annotations import ACCEPTED, Annotation

_KEYS = {
    "environment": "environment",
    "race-timestamp": "race_timestamp",
    "track": "track",
    "chart": "chart_type",
    "chart-name": "chart_name",
    "message": "message",
}
"""Rally's keys, and the fields of an annotation that they contain."""

_MOST = 10_000
_MISSING = 404
_BAD_REQUEST = 400

_NOT_IN_PATHS = (".", "..")
"""Ids that a document can have, but not a path: HTTP clients remove them."""

_ONLY_BY_QUERY = "no path can have this id; `_delete_by_query` with `ids` deletes it from the store"


class StoreAnnotations:
    """The index of annotations."""

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    def add(self, annotation: Annotation) -> None:
        """Writes an annotation, with its id. Raises StoreUnavailable."""
        self._create_index()
        document = {key: getattr(annotation, name) for key, name in _KEYS.items()}
        if annotation.accepted is not None:
            document[ACCEPTED] = encode(annotation.accepted)
        path = _path(annotation.annotation_id)
        self._client.request("PUT", path, document, {"refresh": True})

    def list(self, leave_out: Callable[[str], None] | None = None) -> list[Annotation]:
        """Returns all annotations, newest first. Calls `leave_out` with a message for each accepted
        regression that cannot be read: its note accepts nothing. Raises StoreUnavailable.
        """
        body = {
            "size": _MOST,
            "sort": [{"race-timestamp": {"order": "desc", "unmapped_type": "date"}}],
        }
        path = f"/{ANNOTATIONS}/_search"
        response = self._client.exchange("POST", path, body)
        if response.status == _MISSING:
            return []
        if not response.ok:
            raise self._client.refusal(f"POST {path}", response)
        with self._client.expected_form(f"POST {path}"):
            hits = response.body.get("hits", {}).get("hits", []) if isinstance(response.body, dict) else []
            return [
                _annotation(hit["_id"], hit["_source"], leave_out)
                for hit in hits
                if isinstance(hit, dict)
                and isinstance(hit.get("_id"), str)
                and isinstance(hit.get("_source"), dict)
            ]

    def delete(self, annotation_id: str) -> bool:
        """Deletes an annotation. Returns whether the store had it.

        Raises StoreUnavailable, and UsageError for an id that cannot be part of a path: without it, the
        request would delete the index.
        """
        if annotation_id in _NOT_IN_PATHS:
            raise UsageError(f"--id={annotation_id}: {_ONLY_BY_QUERY}")
        path = _path(annotation_id)
        response = self._client.exchange("DELETE", path, None, {"refresh": True})
        if not response.ok and response.status != _MISSING:
            raise self._client.refusal(f"DELETE {path}", response)
        return response.ok

    def _create_index(self) -> None:
        if self._client.exchange("GET", f"/{ANNOTATIONS}").ok:
            return
        self._client.request("PUT", f"/_index_template/{ANNOTATIONS}", annotations_template())
        response = self._client.exchange("PUT", f"/{ANNOTATIONS}")
        # Another process may have created it meanwhile.
        if not response.ok and response.status != _BAD_REQUEST:
            raise self._client.refusal(f"PUT /{ANNOTATIONS}", response)


def _path(annotation_id: str) -> str:
    # Other programs write annotations, too, with any ids.
    return f"/{ANNOTATIONS}/_doc/{quote(annotation_id, safe='')}"


def _advice(annotation_id: str) -> str:
    if annotation_id in _NOT_IN_PATHS:
        return _ONLY_BY_QUERY
    command = shell_command("pacenote", "delete", "annotation", f"--id={annotation_id}")
    return f"`{command}` deletes it"


def _annotation(
    annotation_id: str, document: Mapping[str, Any], leave_out: Callable[[str], None] | None
) -> Annotation:
    fields = {name: document.get(key) for key, name in _KEYS.items()}
    texts: dict[str, Any] = {
        name: as_text(value) for name, value in fields.items() if isinstance(value, str | int | float)
    }
    texts.setdefault("race_timestamp", "")
    texts.setdefault("message", "")
    accepted = None
    if document.get(ACCEPTED) is not None:
        try:
            accepted = decode(AcceptedRegression, document[ACCEPTED], ACCEPTED)
        except PacenoteError as error:
            if leave_out is not None:
                leave_out(
                    f"annotation {annotation_id} of the metrics store accepts nothing: {error.message}; "
                    + _advice(annotation_id)
                )
    return Annotation(annotation_id=annotation_id, accepted=accepted, **texts)
