"""Measures the time between two tasks during which no request is sent."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator

from machine import temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target
from recorded_race import Exchange, RecordedRace, record_race, write_track

_LIMIT_MS = 20.0
_TASKS = 20
_CLIENTS = (1, 8)


def measure(options: Options) -> Outcome:
    """Races twenty tasks with one request per client, first with one client and then with several."""
    figures: list[Figure] = []
    targets: list[Target] = []
    for clients in _CLIENTS:
        races = _gaps(options.choose(20, 2), clients)
        label = "1 client" if clients == 1 else f"{clients} clients"
        count = f"{_TASKS - 1} gaps of a race, {label}"
        # The gaps of a race are not independent.
        longest = Figure(f"longest of {count}", "ms", tuple(map(max, races)))
        figures += [Figure(f"median of {count}", "ms", tuple(map(statistics.median, races))), longest]
        targets.append(Target(longest, _LIMIT_MS, at_most=True))
    notes = ("the server runs on one core, pacenote with all its threads on the other",)
    return Outcome(figures=tuple(figures), targets=tuple(targets), notes=notes)


def _gaps(races: int, clients: int) -> list[tuple[float, ...]]:
    """Returns the gaps of each race in milliseconds."""
    with temporary_folder() as folder:
        track = write_track(folder / "track", _TASKS, clients)
        recorded = (record_race(track, folder / "home") for _ in range(races))
        return [tuple(_gaps_of(race, clients)) for race in recorded]


def _gaps_of(race: RecordedRace, clients: int) -> Iterator[float]:
    """Yields the milliseconds from the last reply of each task to the first request of the next."""
    grouped: dict[int, list[Exchange]] = {}
    for exchange in race.planned:
        grouped.setdefault(exchange.task, []).append(exchange)
    if [len(grouped.get(task, ())) for task in range(_TASKS)] != [clients] * _TASKS:
        raise BenchmarkError(f"the server did not receive {clients} requests from each of {_TASKS} tasks")
    for task, following in itertools.pairwise(range(_TASKS)):
        ended = max(exchange.replied_ns for exchange in grouped[task])
        yield (min(exchange.arrived_ns for exchange in grouped[following]) - ended) / 1e6
