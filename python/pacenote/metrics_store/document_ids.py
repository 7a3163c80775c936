"""Ids of documents, which follow from the race and from what a document is about.

Writing a document again replaces it, whatever else is written and in which order.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter

from pacenote.metrics_store.race_documents import race_timestamp
from pacenote.model.race_record import RaceRecord


def race_key(record: RaceRecord) -> str:
    """Returns the beginning of the ids of all documents of a race: 16 characters.

    The time is part of it, because machines that share a store may use the same id, such as `nightly`.
    """
    return _digest(f"{record.race_id}\n{race_timestamp(record)}", 12)


class DocumentIds:
    """Makes the ids of the documents of one race."""

    def __init__(self, record: RaceRecord) -> None:
        self._key = race_key(record)
        self._seen = Counter[str]()

    def of(self, kind: str, *about: object) -> str:
        """Returns the id of a document: `kind` is one letter, and `about` is JSON that says what it is about.
        Documents about the same thing are numbered.
        """
        own = f"{self._key}{kind}{_digest(json.dumps(about, sort_keys=True), 9)}"
        self._seen[own] += 1
        return own if self._seen[own] == 1 else f"{own}-{self._seen[own]}"


def _digest(text: str, size: int) -> str:
    """Returns a hash of a text of `size` bytes, a multiple of 3, with 4 characters for each 3 bytes."""
    return base64.urlsafe_b64encode(hashlib.blake2b(text.encode(), digest_size=size).digest()).decode()
