"""Groups of races to compare, some of which may only be in the metrics store.

A race that is only there has the figures of Rally's document, not the samples and totals of a race folder.
If a group has such a race, all races are compared by these figures, so that like is compared with like.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.errors import PacenoteError, StoreError
from pacenote.importers.documents import races_in_document
from pacenote.importers.records import ImportedFile, race_records
from pacenote.metrics_store.client import StoreClient
from pacenote.metrics_store.race_documents import race_document
from pacenote.metrics_store.store import MetricsStore
from pacenote.model.comparison import ComparedRace, RaceKey
from pacenote.model.race_record import RaceRecord
from pacenote.store.race_groups import FoundGroup, find_group
from pacenote.store.race_store import AmbiguousRace, RaceStore, is_race_id


def find_groups(
    sides: Sequence[Sequence[str]], store: RaceStore, client: StoreClient, console: Console
) -> list[FoundGroup]:
    """Returns the groups that references name, among the races of this machine and of the metrics store.

    What is on this machine is used, if a race is in both. Raises StoreError.
    """
    finder = _Finder(store, client)
    try:
        side_groups = [[finder.find(reference) for reference in side] for side in sides]
    finally:
        client.close()
    groups = [_merged(parts) for parts in side_groups]
    if not finder.fetched:
        return groups
    console.progress(
        f"only in the metrics store: {', '.join(finder.fetched)}; all races are compared by the results that "
        "Rally's documents have, without samples"
    )
    return [_by_documents(group, client.settings.url) for group in groups]


class _Finder:
    """Finds races by references."""

    def __init__(self, store: RaceStore, client: StoreClient) -> None:
        self.fetched: list[str] = []
        self._store = store
        self._client = client

    def find(self, reference: str) -> FoundGroup:
        """Returns the races of one reference. Raises StoreError."""
        try:
            return find_group(self._store, (reference,))
        except AmbiguousRace:
            raise
        except StoreError as error:
            document = MetricsStore(self._client).race(reference) if is_race_id(reference) else None
            if document is None:
                raise StoreError(error.message, hint=error.hint) from None
        record = _record(document, self._client.settings.url)
        self.fetched.append(record.race_id)
        race = ComparedRace(record, None, "complete", {})
        # A path below the folder that the race would have, which does not exist.
        path = self._store.races / record.race_id / "metrics-store"
        return FoundGroup((race,), {race.key: path})


def _merged(parts: Sequence[FoundGroup]) -> FoundGroup:
    races: dict[RaceKey, ComparedRace] = {}
    folders: dict[RaceKey, Path] = {}
    for part in parts:
        races |= {race.key: race for race in part.races}
        folders |= part.folders
    return FoundGroup(
        tuple(races.values()),
        folders,
        left_out=tuple(text for part in parts for text in part.left_out),
        renamed=tuple(text for part in parts for text in part.renamed),
    )


def _by_documents(group: FoundGroup, url: str) -> FoundGroup:
    """Returns a group whose races have only what their documents in a metrics store have."""
    races = [_as_stored(race, url) for race in group.races]
    paths = (group.folders[race.key] for race in group.races)
    return replace(
        group,
        races=tuple(races),
        folders={race.key: path for race, path in zip(races, paths, strict=True)},
    )


def _as_stored(race: ComparedRace, url: str) -> ComparedRace:
    if race.record.imported is not None:
        return race
    return replace(race, record=_record(race_document(race.record), url), snapshot=None, plan={})


def _record(document: Mapping[str, Any], url: str) -> RaceRecord:
    """Returns the record of a race with the figures of its document. Raises StoreError."""
    race_id = document["race-id"]
    text = json.dumps(document, sort_keys=True, default=str)
    file = ImportedFile(f"{url}/{race_id}", hashlib.sha256(text.encode()).hexdigest(), datetime.now(UTC))
    try:
        races, _ = races_in_document(document)
    except PacenoteError as error:
        raise StoreError(f"race {race_id} of the metrics store: {error.message}", hint=error.hint) from None
    return race_records(races[:1], file, {}, is_race_id)[0].record
