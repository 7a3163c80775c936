"""The lines of a report about the state in which the first task started."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.race_record import RaceRecord
from pacenote.units import format_bytes, format_seconds


def starting_state_lines(record: RaceRecord) -> Iterator[tuple[str, str]]:
    """Yields labels and texts; none for an engine that started without data, and without conditions."""
    state, options = record.starting_state, record.options
    if state is None:
        return
    if state.data_set is not None:
        yield "Data", f"began as data set '{state.data_set}', stored by race {state.stored_by}"
    if state.data_bytes is not None and state.cached_bytes is not None:
        cached = f"{format_bytes(state.cached_bytes)} of {format_bytes(state.data_bytes)} of the data cached"
        yield "Page cache", f"{options.caches or 'as it was'}: {cached}"
    if options.cooldown_s:
        yield "Cooldown", f"{format_seconds(options.cooldown_s)} before the first task"
