"""Writes a race to the metrics store: at its end, and with `pacenote export --to-store`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.errors import PacenoteError, StoreError
from pacenote.model.messages import DEFECT
from pacenote.model.shell_command import shell_command
from pacenote.store.race_folder import RaceFolder
from pacenote.system.paths import is_file
from pacenote.units import format_count

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.metrics_store.bulk import Written
    from pacenote.metrics_store.samples import StoredSample
    from pacenote.metrics_store.settings import StoreSettings
    from pacenote.model.race_record import RaceRecord
    from pacenote.model.race_state import RaceState
    from pacenote.model.race_timeline import RaceTimeline
    from pacenote.model.telemetry_sample import TelemetrySample
    from pacenote.store.race_groups import ReferencedRace


def add_to_store(folder: Path, settings: StoreSettings, console: Console) -> None:
    """Writes a race that has just ended to the metrics store; a failure is a warning."""
    race = RaceFolder(folder)
    if not is_file(race.race_json):
        return
    try:
        written = race_to_store(race, settings, console)
    except PacenoteError as error:
        hint = f" ({error.hint})" if error.hint else ""
        problem = f"{error.message}{hint}"
    except KeyboardInterrupt:
        problem = "it was interrupted"
    except Exception as error:  # The race has been measured: a store does not make it fail.
        problem = f"{DEFECT}: {type(error).__name__}: {error}"
    else:
        problem = _refused(written)
        if not problem:
            return
    later = f"{shell_command('pacenote', 'export', race.path.name)} --to-store"
    console.warning(f"the race is not completely in the metrics store: {problem}; later: `{later}`")


def export_to_store(races: Iterable[ReferencedRace], settings: StoreSettings, console: Console) -> int:
    """Writes races to the metrics store, and the annotations that it lacks. Returns the exit code: 64 if
    it refused documents, or has another race with the id and time of one.

    Races that it cannot have are warnings. Raises StoreError if the store does not answer, or if no race can
    be written.
    """
    from pacenote.metrics_store.same_race import OtherRaceStored

    written, code = 0, 0
    for race in races:
        problem = _unsuitable(race.record, race.state)
        if problem:
            console.warning(f"not exported: race {race.record.race_id} {problem}")
            continue
        try:
            refused = _refused(race_to_store(race.folder, settings, console))
        except OtherRaceStored as error:
            console.warning(f"not exported: {error.message}; {error.hint}")
            code = error.exit_code
            continue
        if refused:
            console.warning(f"race {race.record.race_id} is not completely in the metrics store: {refused}")
            code = StoreError.exit_code
        written += 1
    if not written:
        raise StoreError("no race was written to the metrics store")
    added = _add_missing_annotations(settings, console)
    if added:
        console.progress(f"metrics store {settings.url}: {format_count(added, 'annotation')} added")
    return code


def race_to_store(race: RaceFolder, settings: StoreSettings, console: Console) -> Written:
    """Writes a race to the metrics store, and says how much. Raises PacenoteError."""
    from pacenote.metrics_store.client import StoreClient
    from pacenote.metrics_store.metrics_documents import MetricSources
    from pacenote.metrics_store.store import MetricsStore

    record = race.read()
    client = StoreClient(settings)
    problems: list[str] = []
    sources = MetricSources(_samples(race, problems), _timeline(race, problems), _telemetry(race, problems))
    began = time.monotonic()
    try:
        written = MetricsStore(client).write(record, sources)
    finally:
        client.close()
    for problem in problems:
        console.warning(f"not in the metrics store: {problem}")
    seconds = time.monotonic() - began
    console.progress(
        f"metrics store {settings.url}: {format_count(written.documents, 'document')} in {seconds:.1f} s"
    )
    return written


def _refused(written: Written) -> str:
    """Returns which documents the store refused, with the most frequent reason; empty if none."""
    if not written.refused:
        return ""
    from pacenote.metrics_store.bulk import OTHER_REASONS

    reasons = (reason for reason, _ in written.refused.most_common() if reason != OTHER_REASONS)
    reason = next(reasons, OTHER_REASONS)
    total = written.refused.total()
    others = total - written.refused[reason]
    more = f", and {others:,} for other reasons" if others else ""
    return f"it refused {format_count(total, 'document')}: {reason}{more}"


def _unsuitable(record: RaceRecord, state: RaceState) -> str:
    """Returns why a race has no documents, as the predicate of a sentence; empty if it has some."""
    if record.imported is not None:
        return "was imported: its samples and totals are not known"
    if record.saturation is not None:
        return "is a search of `pacenote saturate`, which has no results"
    if state == "running":
        return "is running: export it when it has ended"
    return "" if record.tasks else "has measured nothing"


def _add_missing_annotations(settings: StoreSettings, console: Console) -> int:
    """Writes the annotations of this machine that the store lacks, and returns their number."""
    from pacenote.metrics_store.client import StoreClient
    from pacenote.metrics_store.store_annotations import StoreAnnotations
    from pacenote.store.annotations import AnnotationStore
    from pacenote.store.home import default_home

    own = AnnotationStore(default_home()).list(console.warning)
    if not own:
        return 0
    client = StoreClient(settings)
    try:
        stored = StoreAnnotations(client)
        known = {one.annotation_id for one in stored.list()}
        added = 0
        for annotation in own:
            if annotation.annotation_id in known:
                continue
            if not annotation.day:  # The store would refuse it, and get none of the others.
                console.warning(
                    f"annotation {annotation.annotation_id} is not in the metrics store: it has no valid time"
                )
                continue
            stored.add(annotation)
            added += 1
    finally:
        client.close()
    return added


def _samples(race: RaceFolder, problems: list[str]) -> Iterator[StoredSample]:
    if not is_file(race.samples):
        return
    from pacenote.metrics_store.samples import SampleFile

    try:
        yield from SampleFile(race.samples)
    except StoreError as error:
        hint = f" ({error.hint})" if error.hint else ""
        problems.append(f"samples: {error.message}{hint}")


def _timeline(race: RaceFolder, problems: list[str]) -> RaceTimeline | None:
    if not is_file(race.series):
        return None
    from pacenote.evidence.driver_files import race_timeline

    try:
        return race_timeline(race.series)
    except PacenoteError as error:
        problems.append(f"throughput over time: {error.message}")
        return None


def _telemetry(race: RaceFolder, problems: list[str]) -> Iterator[TelemetrySample]:
    if not is_file(race.telemetry):
        return
    from pacenote.evidence.telemetry_values import device_readings
    from pacenote.metrics_store.metrics_documents import DEVICES

    try:
        for device in DEVICES:
            yield from device_readings(race.telemetry, device)
    except PacenoteError as error:
        problems.append(f"telemetry: {error.message}")
