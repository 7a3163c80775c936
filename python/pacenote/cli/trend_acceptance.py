"""`pacenote trend accept`: accepts the regressions of a trend, with a reason."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pacenote.cli.metrics_store.annotations import add_to_store
from pacenote.cli.options.metrics_store import store_client
from pacenote.errors import UsageError
from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.model.race_time import TIMESTAMP_FORMAT
from pacenote.store.annotations import Annotation, AnnotationStore

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pacenote.cli.console import Console
    from pacenote.model.trend import Trend

ACCEPT = "accept"
"""The first argument of `pacenote trend` that accepts."""


def accepted_regressions(home: Path, leave_out: Callable[[str], None]) -> tuple[AcceptedRegression, ...]:
    """Returns which regressions were accepted; calls `leave_out` for annotations that cannot be read."""
    notes = AnnotationStore(home).list(leave_out)
    return tuple(note.accepted for note in notes if note.accepted is not None)


def accepted_with_store(
    home: Path, options: argparse.Namespace, console: Console
) -> tuple[AcceptedRegression, ...]:
    """Returns which regressions were accepted on this machine, or in the metrics store, if there is one. That
    it does not answer is a warning. Raises UsageError for invalid settings of the store, and StoreError.
    """
    from pacenote.cli.metrics_store.listing import merged_annotations

    own = AnnotationStore(home).list(console.warning)
    notes = merged_annotations(own, options, console, "only what was accepted on this machine is known")
    return tuple(note.accepted for note, _ in notes if note.accepted is not None)


def accept(trend: Trend, options: argparse.Namespace, home: Path, console: Console) -> int:
    """Stores an annotation for each regression, here and in the metrics store, if there is one, and prints
    what was accepted. Raises UsageError if there is none, and StoreError.
    """
    reason = options.reason
    regressions = list(_found(trend, reason))
    if not regressions:
        raise UsageError(
            "there is no regression to accept",
            hint="`pacenote trend` with the same options shows what there is",
        )
    client = store_client(options)
    store = AnnotationStore(home)
    notes = []
    earlier = trend.earlier.races if trend.earlier is not None else ()
    races = {race.race_id: race for race in (*earlier, *trend.races)}
    for accepted, text in regressions:
        began = races[accepted.race_id].timestamp
        note = Annotation(
            annotation_id=str(uuid.uuid4()),
            race_timestamp=began.replace(hour=0, minute=0, second=0).strftime(TIMESTAMP_FORMAT),
            message=f"accepted: {text}: {reason}",
            environment=options.configured_environment,
            track=trend.track,
            accepted=accepted,
        )
        store.add(note)
        notes.append(note)
        console.result(f"accepted {text} (annotation {note.annotation_id})\n")
    add_to_store(notes, client, console)
    return 0


def _found(trend: Trend, reason: str) -> Iterator[tuple[AcceptedRegression, str]]:
    """Yields what can be accepted, and what it is in words."""
    from pacenote.report.comparison_rows import change_text
    from pacenote.report.trend import race_text
    from pacenote.units import format_change

    if trend.earlier is not None:
        yield from _found(trend.earlier, reason)
    for metric, change in trend.regressions:
        accepted = change.total or change.change
        entry = AcceptedRegression(
            trend.races[change.after].race_id, metric.metric.label, accepted.value, reason, "step"
        )
        yield entry, f"{metric.metric.label} {change_text(accepted)} since {race_text(trend, change.after)}"
    newest = trend.races[-1].race_id
    for metric in trend.metrics:
        label = metric.metric.label
        if metric.drift is not None and metric.drift.is_regression:
            entry = AcceptedRegression(newest, label, metric.drift.total, reason, "drift")
            yield entry, f"{label} drift of {format_change(metric.drift.total)}"
        if metric.is_missing:
            text = f"{label} does not count in the newest race"
            yield AcceptedRegression(newest, label, None, reason, "missing"), text
