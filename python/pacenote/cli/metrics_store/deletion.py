"""Deletes races and annotations from a metrics store and from this machine."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.errors import StoreError
from pacenote.metrics_store.client import StoreClient, StoreUnavailable
from pacenote.metrics_store.race_documents import race_timestamp
from pacenote.metrics_store.store import MetricsStore
from pacenote.metrics_store.store_annotations import StoreAnnotations
from pacenote.store.annotations import AnnotationStore
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import AmbiguousRace, RaceStore, is_race_id

_HERE_ONLY = "`--no-metrics-store` deletes only what is on this machine"


class _FoundRace(Struct, frozen=True):
    """A race to delete."""

    race_id: str
    """Its id."""

    folder: RaceFolder | None
    """Its folder, or None if it is only in the metrics store."""

    in_store: bool
    """Whether the metrics store has it."""

    timestamp: str = ""
    """When it began, as Rally writes times; empty if all races of the store with its id are to be deleted."""

    may_be_left: bool = False
    """Whether the store has a race with its id that may be this one: the folder does not state its time."""

    @property
    def places(self) -> str:
        """Where it is, as messages say it."""
        if self.folder is None:
            return "in the metrics store"
        return "here and in the metrics store" if self.in_store else "here"


class StoreDeletion:
    """Deletes from the metrics store and from this machine. Deletes nothing if an id does not exist, if the
    store does not answer, or if a race is running.
    """

    def __init__(self, client: StoreClient, console: Console, *, dry_run: bool) -> None:
        self._client = client
        self._console = console
        self._dry_run = dry_run

    def races(self, ids: Sequence[str], store: RaceStore) -> None:
        """Deletes races, by id or unique prefix. Raises StoreError."""
        stored = MetricsStore(self._client)
        try:
            races = {race.race_id: race for race in (_find(one, store, stored) for one in ids)}
            folders = [race.folder for race in races.values() if race.folder is not None]
            if not self._dry_run:
                store.check_ended(folders)
                # If the store fails, the races are still here, and can be deleted again.
                for race in races.values():
                    if race.in_store:
                        stored.delete(race.race_id, race.timestamp)
                store.delete(*folders)
        except StoreUnavailable as error:
            raise _with_hint(error) from None
        finally:
            self._client.close()
        for race in races.values():
            self._console.result(f"{self._verb} race {race.race_id} ({race.places})\n")
            if race.may_be_left:
                self._console.warning(
                    f"the metrics store still has a race {race.race_id}: the folder could not be read, so "
                    "whether it is the same race is unknown"
                )

    def annotations(self, ids: Sequence[str], store: AnnotationStore) -> None:
        """Deletes annotations. Raises StoreError."""
        stored = StoreAnnotations(self._client)
        try:
            own = store.ids()
            known = {one.annotation_id for one in stored.list()}
            if missing := [one for one in ids if one not in own | known]:
                raise StoreError(
                    f"there is no annotation '{missing[0]}' here or in the metrics store",
                    hint="`pacenote list annotations` shows the ids",
                )
            for annotation_id in dict.fromkeys(ids):
                if not self._dry_run:
                    if annotation_id in known:
                        stored.delete(annotation_id)
                    if annotation_id in own:
                        store.delete(annotation_id)
                self._console.result(f"{self._verb} annotation {annotation_id}\n")
        except StoreUnavailable as error:
            raise _with_hint(error) from None
        finally:
            self._client.close()

    @property
    def _verb(self) -> str:
        return "would delete" if self._dry_run else "deleted"


def _find(reference: str, store: RaceStore, stored: MetricsStore) -> _FoundRace:
    """Returns the race with an id, or the only one whose id begins with the reference. Raises StoreError."""
    try:
        folder = store.folder(reference)
    except AmbiguousRace:
        raise
    except StoreError as error:
        if not is_race_id(reference):
            raise
        if stored.count(reference):
            return _FoundRace(reference, None, in_store=True)
        document = stored.race(reference)
        if document is not None:
            return _FoundRace(document["race-id"], None, in_store=True)
        raise StoreError(f"{error.message}, nor in the metrics store", hint=error.hint) from None
    race_id = folder.path.name
    try:
        record = folder.read()
    except StoreError:
        # The store may have the race of another machine with this id: what is not known is not deleted.
        return _FoundRace(race_id, folder, in_store=False, may_be_left=stored.count(race_id) > 0)
    # The folder names the race: a copy may have another name than its record.
    stored.check_same(replace(record, race_id=race_id))
    timestamp = race_timestamp(record)
    return _FoundRace(race_id, folder, stored.count(race_id, timestamp) > 0, timestamp)


def _with_hint(error: StoreUnavailable) -> StoreUnavailable:
    hint = f"{error.hint}; {_HERE_ONLY}" if error.hint else _HERE_ONLY
    return StoreUnavailable(error.message, hint=hint)
